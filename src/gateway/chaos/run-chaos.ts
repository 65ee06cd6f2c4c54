/**
 * Chaos: calls a tool once for each fault and counts the effects in the server's own books. It makes
 * real effects, so it belongs to a test server, or to a gateway in front of one.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { errorText } from "../../base/errors.ts";
import type { Json, JsonObject } from "../../base/plain-json.ts";
import { metaNames } from "../../edges/mcp/names.ts";
import { textOf } from "../../edges/mcp/upstream-errors.ts";
import type { UpstreamSpec } from "../config/gateway-config.ts";
import { type ChaosServer, openChaosServer } from "./chaos-server.ts";
import { type CountSource, countEffects } from "./count-effects.ts";
import { type Fault, type FaultName, type FaultScene, faults } from "./faults.ts";

type Members = Readonly<Record<string, unknown>>;

/** What to call, and how to count. */
export interface ChaosPlan {
  readonly spec: UpstreamSpec;
  readonly version: string;
  readonly tool: string;
  /** `{run}` in a text is filled with a name of its own for each fault, which makes an intent of its own. */
  readonly arguments: JsonObject;
  /** `_meta` of the call; `{run}` as above. */
  readonly meta: JsonObject;
  readonly count: CountSource;
  readonly settleMs: number;
  readonly faults: readonly FaultName[];
}

/**
 * `once`: one effect. `doubled`: more. `lost`: none, though the call was meant. `skipped`: the fault
 * can't be played against this server.
 */
export type ChaosVerdict = "once" | "doubled" | "lost" | "skipped";

/** One fault, played. */
export interface ChaosResult {
  readonly fault: FaultName;
  readonly story: string;
  readonly effects: number | null;
  readonly verdict: ChaosVerdict;
  /** What the client was told in the end: a status or code of ours, `ok`, or `error: …`. */
  readonly told: readonly string[];
}

/** What a gateway that says "not yet" is given, before the last word is taken. */
const patience = { calls: 8, pauseMs: 250 };

/** Plays the faults one after another, each with an intent of its own. */
export async function runChaos(plan: ChaosPlan): Promise<readonly ChaosResult[]> {
  const results: ChaosResult[] = [];
  for (const fault of faults) {
    if (plan.faults.includes(fault.name)) results.push(await playFault(plan, fault));
  }
  return results;
}

async function playFault(plan: ChaosPlan, fault: Fault): Promise<ChaosResult> {
  const { name, story } = fault;
  if (fault.kills === true && plan.spec.kind === "url")
    return { fault: name, story, effects: null, verdict: "skipped", told: [] };
  let server = await openChaosServer(plan.spec, plan.version);
  const params = filled(
    { name: plan.tool, arguments: plan.arguments, ...metaOf(plan) },
    `${name}-${randomUUID()}`,
  ) as JsonObject;
  try {
    const count = (of: ChaosServer): Promise<number> =>
      countEffects(plan.count, of.connection, plan.settleMs);
    const before = await count(server);
    const scene: FaultScene = {
      server: () => server,
      reconnect: async () => {
        await server.close();
        server = await openChaosServer(plan.spec, plan.version);
      },
      send: (cancel) => server.connection.request("tools/call", params, { cancel }).catch(asResult),
    };
    const told = await Promise.all(
      (await fault.play(scene)).map(async (answer) => toldBy(await lastWord(scene, answer))),
    );
    const effects = (await count(server)) - before;
    return { fault: name, story, effects, verdict: verdictOn(effects), told };
  } finally {
    await server.close();
  }
}

/** The same call again while the answer itself says that this is safe, as a patient agent does. */
async function lastWord(scene: FaultScene, answer: Members): Promise<Members> {
  let last = answer;
  for (let call = 0; call < patience.calls && mayRepeat(last); call += 1) {
    await pause(patience.pauseMs);
    last = await scene.send();
  }
  return last;
}

/** An error of the protocol, too, is only what a client was told; the count judges. */
function asResult(error: unknown): Members {
  return { isError: true, content: [{ type: "text", text: errorText(error) }] };
}

function operationIn(answer: Members): Members | undefined {
  const meta = answer["_meta"] as Members | undefined;
  return meta?.[metaNames.operation] as Members | undefined;
}

function mayRepeat(answer: Members): boolean {
  return answer["isError"] === true && operationIn(answer)?.["sameCall"] === "safe";
}

function toldBy(answer: Members): string {
  const operation = operationIn(answer);
  if (operation === undefined)
    return answer["isError"] === true ? `error: ${textOf(answer).slice(0, 100)}` : "ok";
  if (operation["replayed"] === true) return "REPLAYED";
  return String(operation["code"] ?? operation["status"]);
}

function verdictOn(effects: number): ChaosVerdict {
  if (effects === 1) return "once";
  return effects > 1 ? "doubled" : "lost";
}

function metaOf({ meta }: ChaosPlan): JsonObject {
  return Object.keys(meta).length === 0 ? {} : { _meta: meta };
}

function filled(value: Json, run: string): Json {
  if (typeof value === "string") return value.replaceAll("{run}", run);
  if (Array.isArray(value)) return (value as readonly Json[]).map((each) => filled(each, run));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([name, each]) => [name, filled(each, run)]),
  );
}

/** True when some text of the call makes each fault an intent of its own. */
export function namesRun(...values: readonly Json[]): boolean {
  return values.some((value) => JSON.stringify(value).includes("{run}"));
}
