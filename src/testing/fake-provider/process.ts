/**
 * The fake provider as a process of its own:
 *
 *     node process.js [--port N] [--ledger FILE] [--behaviour JSON] [--exit-with-stdin]
 *
 * Prints one line of JSON, `{"url": …}`, when it listens. With `--ledger` it can be killed at any
 * point and started again. `--exit-with-stdin` ends it when its standard input closes, which
 * happens however the parent process dies.
 */
import { parseArgs } from "node:util";

import { checkBehaviour } from "./behaviour.ts";
import { startFakeProvider } from "./server.ts";

const { values } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    ledger: { type: "string" },
    behaviour: { type: "string", default: "{}" },
    "exit-with-stdin": { type: "boolean", default: false },
  },
});

const provider = await startFakeProvider({
  port: Number(values.port),
  behaviour: checkBehaviour(JSON.parse(values.behaviour)),
  ...(values.ledger === undefined ? {} : { ledgerFile: values.ledger }),
});

if (values["exit-with-stdin"]) {
  process.stdin.on("close", () => process.exit(0));
  process.stdin.resume();
}
process.on("SIGTERM", () => process.exit(0));
process.stdout.write(`${JSON.stringify({ url: provider.url })}\n`);
