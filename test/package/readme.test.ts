/**
 * The code in the README runs as it stands, and does what the README says.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { programFolder } from "../support/program-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("the guarded tool of the README refunds once, whatever the words", async () => {
  const readme = readFileSync(join(root, "README.md"), "utf8");
  const code = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? "";
  expect(code.trim().split("\n").length).toBeLessThanOrEqual(32);
  const folder = programFolder("readme");
  try {
    const again = `
const second = await guard.run(refund, { ...args, reason: "in other words" }, { tenant: "acme", trusted: { ticketId: "5521" } });
export { calls, value, replayed, second };`;
    const payments = `
const calls: unknown[] = [];
const payments = { refund: async (args: object, options: object) => (calls.push([args, options]), { id: "re_1", ...args }) };
`;
    const runnable = (code + payments + again)
      .replace('"nevertwice/sqlite"', JSON.stringify(join(root, "src/stores/sqlite/index.ts")))
      .replace('"nevertwice"', JSON.stringify(join(root, "src/index.ts")))
      .replace('"nevertwice.sqlite"', JSON.stringify(join(folder, "readme.sqlite")));
    // `payments` is used by the tool only when it is called, so it may stand below.
    const hoisted = payments + runnable.replace(payments, "");
    writeFileSync(join(folder, "main.ts"), hoisted);
    const ran = (await import(pathToFileURL(join(folder, "main.ts")).href)) as {
      calls: [object, { idempotencyKey: string }][];
      value: unknown;
      replayed: boolean;
      second: { value: unknown; replayed: boolean };
    };
    expect(ran.calls).toHaveLength(1);
    expect(ran.calls[0]?.[0]).toEqual({ orderId: "8812", amountMinor: 48_000 });
    expect([ran.replayed, ran.second.replayed]).toEqual([false, true]);
    expect(ran.second.value).toEqual(ran.value);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
