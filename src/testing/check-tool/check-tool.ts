/**
 * Checks a tool against everything that goes wrong between an agent and a provider.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { formatSpan } from "../../base/duration.ts";
import { NeverTwiceError, errorText } from "../../base/errors.ts";
import type { Tool } from "../../guard/tool.ts";
import { baseline } from "./baseline.ts";
import { Bench } from "./bench.ts";
import {
  answersConflict,
  answersWith,
  keyExpired,
  refused,
  replyDropped,
  workerDies,
  workerKilled,
} from "./breakdowns.ts";
import { type CheckName, checkNames, entryOf } from "./catalogue.ts";
import { timeOutsUnknown } from "./classify-claim.ts";
import { exactlyOne, notCheckable } from "./judge.ts";
import {
  keyAfterError,
  keyAtomic,
  keyDeclines,
  keyHonoured,
  keyPayload,
  keyRetention,
} from "./key-claims.ts";
import { lookUpAbsent, lookUpFinds, lookUpTenants } from "./look-up-claims.ts";
import { type CheckOptions, type CheckedOptions, checkOptions } from "./options.ts";
import { payloadModified, redelivered, reworded, twoAgents, twoRuns } from "./repeats.ts";
import type { CheckReport, CheckResult, Finding } from "./report.ts";
import { checkStraightThrough } from "./straight-through.ts";
import { temporaryStore } from "./temporary-store.ts";

const checks: Record<CheckName, (bench: Bench) => Promise<Finding>> = {
  baseline,
  redelivered,
  "two-agents": twoAgents,
  "two-runs": twoRuns,
  "reply-dropped": replyDropped,
  "worker-dies": workerDies("after-execute", exactlyOne),
  "worker-dies-early": workerDies("before-write", [0, 1]),
  "worker-killed": workerKilled,
  reworded,
  "payload-modified": payloadModified,
  "key-expired": keyExpired,
  "answers-409": answersConflict,
  "answers-429": answersWith(429, false),
  "answers-500": answersWith(500, false),
  "answers-500-late": answersWith(500, true),
  "answers-503": answersWith(503, false),
  "answers-503-late": answersWith(503, true),
  refused,
  "key-honoured": keyHonoured,
  "key-atomic": keyAtomic,
  "key-payload": keyPayload,
  "key-after-error": keyAfterError,
  "key-declines": keyDeclines,
  "key-retention": keyRetention,
  "look-up-finds": lookUpFinds,
  "look-up-absent": lookUpAbsent,
  "look-up-tenants": lookUpTenants,
  "time-outs-unknown": timeOutsUnknown,
};

/**
 * Runs the faults that agents, workers, networks and providers are known for against a tool and a
 * store, and counts effects in the provider's own books. Then measures what the tool's contract claims.
 * It makes real effects at whatever the tool talks to: never point it at production.
 *
 * A tool that goes straight through has the `baseline` alone: called twice, it must be harmless.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID when the check itself is set up wrongly: the example
 * is not a valid call, the probe throws, a name is not known. What is wrong with the tool is in the report.
 *
 * @example
 * const report = await checkTool(issueRefund, {
 *   example: (n, id) => ({ args: { orderId: `order-${id}`, amountMinor: 100 + n }, context: { tenant: "acme" } }),
 *   countEffects: async ({ args }) => (await sandbox.listRefunds({ order: args.orderId })).length,
 *   modify: (args) => ({ ...args, amountMinor: 999 }),
 * });
 * expectTool(report);
 */
export async function checkTool(tool: Tool, options: CheckOptions): Promise<CheckReport> {
  const checked = checkOptions(tool, options);
  const temporary = temporaryStore();
  const open = checked.store ?? temporary.open;
  try {
    if (tool.guarded === null) {
      const found = await checkStraightThrough(tool, checked, await open(Date.now));
      return reportOf(tool, [resultOf("baseline", found)]);
    }
    const bench = new Bench(tool, tool.guarded, checked, open);
    return reportOf(tool, await runAll(bench, namesToRun(checked)));
  } finally {
    temporary.remove();
  }
}

function namesToRun({ only, skip = [] }: CheckedOptions): CheckName[] {
  return checkNames.filter(
    (name) =>
      name === "baseline" || ((only === undefined || only.includes(name)) && !skip.includes(name)),
  );
}

async function runAll(bench: Bench, names: readonly CheckName[]): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const [index, name] of names.entries()) {
    bench.options.onProgress?.({ name, position: index + 1, total: names.length });
    const stopped = results[0]?.verdict === "fail";
    const found = stopped
      ? notCheckable("the baseline failed, so nothing that is counted would mean anything")
      : await withinLimit(bench, name);
    results.push(resultOf(name, found));
  }
  return results;
}

/** A check that breaks off has failed; only the baseline tells of a check that is set up wrongly. */
async function withinLimit(bench: Bench, name: CheckName): Promise<Finding> {
  const { timeoutMs } = bench.options;
  const controller = new AbortController();
  const tooSlow = delay(timeoutMs, undefined, { signal: controller.signal, ref: true }).then(() =>
    brokenOff(
      `the check did not end within ${formatSpan(timeoutMs)}`,
      "raise `timeoutMs`, or see which request never ends: `execute` must heed `call.signal`",
    ),
  );
  tooSlow.catch(() => {});
  bench.begin();
  try {
    const found = await Promise.race([checks[name](bench), tooSlow]);
    await bench.clear();
    return found;
  } catch (error) {
    if (name === "baseline" && error instanceof NeverTwiceError) throw error;
    // What broke off may have left a fault arranged; the next check must not meet it.
    await bench.clear().catch(() => {});
    return brokenOff(`the check broke off: ${errorText(error)}`, null);
  } finally {
    controller.abort();
  }
}

function brokenOff(found: string, advice: string | null): Finding {
  return { ...notCheckable(found), verdict: "fail", advice };
}

function resultOf(name: CheckName, finding: Finding): CheckResult {
  const { part, about } = entryOf(name);
  return { name, part, fault: about, ...finding };
}

function reportOf(tool: Tool, results: readonly CheckResult[]): CheckReport {
  return {
    tool: tool.name,
    ok: results.every(({ verdict }) => verdict !== "fail"),
    checks: results,
  };
}
