/**
 * Chaos: plays each fault on one call, between the official client as an agent that repeats, and the
 * server, and counts the effects in the server's own books. It makes real effects, so it belongs to a
 * test server, or to a gateway in front of one.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { errorText } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/plain-json.ts";
import { textOf } from "../../edges/mcp/upstream-errors.ts";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { type CountSource, countEffects, watchEffects } from "./count-effects.ts";
import { firstCallPlan, shuffled } from "./fault-plan.ts";
import { type FaultName, faultNames, faultStories, playableFaults } from "./faults.ts";
import { openChaosProxy } from "./open-proxy.ts";
import { type AgentAnswer, RetryingAgent, operationIn } from "./retrying-agent.ts";

/** What to call, and how to count. */
export interface ChaosPlan {
  readonly spec: UpstreamSpec;
  readonly version: string;
  readonly tool: string;
  /** `{run}` in a text is filled with a name of its own for each call, which makes an intent of its own. */
  readonly arguments: JsonObject;
  /** `_meta` of the call; `{run}` as above. */
  readonly meta: JsonObject;
  readonly count: CountSource;
  readonly settleMs: number;
  readonly faults: readonly FaultName[];
  /** How often each fault is played. */
  readonly rounds: number;
  /** Decides the order; undefined: the order of {@link faultNames}. */
  readonly seed: number | undefined;
  /** How long the agent waits for a reply that is lost or late. */
  readonly timeoutMs: number;
  /** How long the agent repeats one call. */
  readonly patienceMs: number;
}

/**
 * `once`: one effect. `doubled`: more. `held`: none, and a person is asked. `lost`: none, though the
 * call was meant. `skipped`: the fault can't be played against this server.
 */
export type ChaosVerdict = "once" | "doubled" | "held" | "lost" | "skipped";

/** One fault, played once. */
export interface ChaosResult {
  readonly fault: FaultName;
  readonly story: string;
  readonly effects: number | null;
  /** Calls that were held for review. */
  readonly held: number;
  readonly verdict: ChaosVerdict;
  /** How often the agent sent the call. */
  readonly sent: number;
  /** What the agent was told in the end: a status or code of ours, `ok`, `error: …`, or `nothing`. */
  readonly told: string;
}

/** A reply that nothing keeps back may take as long as this on a busy machine. */
const replyWithinMs = 30_000;

/** Plays the faults one after another, each with an intent of its own. */
export async function runChaos(plan: ChaosPlan): Promise<readonly ChaosResult[]> {
  const { faults, rounds, seed } = plan;
  const wanted = faultNames.filter((name) => faults.includes(name));
  const plays = Array.from({ length: rounds }, () => wanted).flat();
  const results: ChaosResult[] = [];
  for (const fault of seed === undefined ? plays : shuffled(plays, seed))
    results.push(await playFault(plan, fault));
  return results;
}

async function playFault(plan: ChaosPlan, fault: FaultName): Promise<ChaosResult> {
  const { spec, tool, timeoutMs } = plan;
  const shape = { front: spec.kind === "command" ? "stdio" : "http", back: spec.kind } as const;
  const story = faultStories[fault];
  if (!playableFaults(shape).includes(fault))
    return { fault, story, effects: null, held: 0, verdict: "skipped", sent: 0, told: "" };
  let before = 0;
  const over = new AbortController();
  const proxy = await openChaosProxy({
    spec,
    plan: firstCallPlan(tool, fault),
    holdMs: timeoutMs * 2,
    // A look while the call is under way tells that the effect has happened before its reply is there.
    effectSeen: (stop) =>
      watchEffects(plan.count, agent, before, AbortSignal.any([stop, over.signal])),
  });
  const mute = fault === "timed-out" || (fault === "reply-lost" && shape.front === "stdio");
  const agent = await RetryingAgent.connect({
    open: proxy.open,
    protocol: spec.protocol === "modern" ? { pin: "2026-07-28" } : spec.protocol,
    version: plan.version,
    timeoutMs: mute ? timeoutMs : replyWithinMs,
    repeatTimeoutMs: replyWithinMs,
    patienceMs: plan.patienceMs,
  }).catch(async (error: unknown) => {
    await proxy.close();
    throw new Error([errorText(error), proxy.said()].filter(Boolean).join(": "), { cause: error });
  });
  try {
    before = await countEffects(plan.count, agent, plan.settleMs);
    const run = `${fault}-${randomUUID()}`;
    const [args, meta] = [filled(plan.arguments, run), filled(plan.meta, run)] as JsonObject[];
    const answered = await agent.call(tool, args ?? {}, meta ?? {});
    const effects = (await countEffects(plan.count, agent, plan.settleMs)) - before;
    return { fault, story, effects, ...judged(effects, answered) };
  } finally {
    over.abort();
    await agent.close();
    await proxy.close();
  }
}

function judged(
  effects: number,
  { answer, sent }: AgentAnswer,
): Pick<ChaosResult, "held" | "verdict" | "sent" | "told"> {
  const told = toldBy(answer);
  const held = told === "NEEDS_REVIEW" ? 1 : 0;
  return { held, verdict: verdictOn(effects, held), sent, told };
}

function verdictOn(effects: number, held: number): ChaosVerdict {
  if (effects === 1) return "once";
  if (effects > 1) return "doubled";
  return held > 0 ? "held" : "lost";
}

function toldBy(answer: AgentAnswer["answer"]): string {
  if (answer === undefined) return "nothing";
  const operation = operationIn(answer);
  if (operation === undefined)
    return answer["isError"] === true ? `error: ${textOf(answer).slice(0, 100)}` : "ok";
  if (operation["replayed"] === true) return "REPLAYED";
  return String(operation["code"] ?? operation["status"]);
}

function filled(value: Json, run: string): Json {
  if (typeof value === "string") return value.replaceAll("{run}", run);
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => filled(each, run));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, each]) => [name, filled(each, run)]),
  );
}

/** True when some text of the call makes each play an intent of its own. */
export function namesRun(...values: readonly Json[]): boolean {
  return values.some((value) => JSON.stringify(value).includes("{run}"));
}
