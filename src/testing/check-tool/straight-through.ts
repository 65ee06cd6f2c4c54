/**
 * The check of tools that go straight through: what they declare to be harmless must be.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { errorText } from "../../base/errors.ts";
import { createGuard } from "../../guard/create-guard.ts";
import type { Tool } from "../../guard/tool.ts";
import type { Store } from "../../ledger/store.ts";
import { toldBy } from "./bench.ts";
import { type CheckedOptions, invalid } from "./options.ts";
import type { Finding } from "./report.ts";

/** Calls the tool twice: a convergent one leaves one effect, a read-only one none. */
export async function checkStraightThrough(
  tool: Tool,
  options: CheckedOptions,
  store: Store,
): Promise<Finding> {
  const example = await asked("example", () => options.example(1, uniqueId()));
  const guard = await createGuard({ store });
  const run = () => guard.run(tool, example.args, example.context);
  const told = [await toldBy(run), await toldBy(run)];
  const effects = await asked("countEffects", () => options.countEffects(example));
  if (!Number.isSafeInteger(effects)) throw invalid("`countEffects` must return a whole number");
  const most = tool.kind === "read-only" ? 0 : 1;
  const failed = told.find((one) => one.told !== "EXECUTED");
  const holds = effects === most && failed === undefined;
  return {
    verdict: holds ? "pass" : "fail",
    effects,
    expectedEffects: [most, most],
    told: told.map((one) => one.told),
    found: holds ? "as it should be" : `two calls of a ${tool.kind} tool made ${effects} effects`,
    advice: holds
      ? null
      : 'declare it as `kind: "non-idempotent"`, with an intent and a contract; or see why the call fails',
  };
}

function uniqueId(): string {
  return randomBytes(4).toString("hex");
}

/** Runs a function of the user's; its error names it. */
async function asked<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw invalid(`\`${name}\` failed: ${errorText(error)}`, { option: name }, error);
  }
}
