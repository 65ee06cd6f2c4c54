/**
 * Look up: ask the downstream what happened, before doing anything again (R18).
 *
 * @module
 */
import { canonicalJson } from "../base/canonical-json.ts";
import { errorText } from "../base/errors.ts";
import type { JsonObject } from "../base/plain-json.ts";
import { startTimer } from "../base/runtime.ts";
import type { Finding } from "../ledger/decide.ts";
import type { FoundEffect, LookUpAnswer, LookUpContract } from "./contract.ts";
import type { GuardEnvironment } from "./environment.ts";
import { type Turn, pointOf } from "./turn.ts";

/** What a look-up came to. `effect` is there when exactly one was found. */
export interface LookedUp {
  readonly finding: Finding;
  readonly effect: FoundEffect<unknown> | undefined;
  /** All that was named, also where that is a contradiction. */
  readonly named: readonly FoundEffect<unknown>[];
}

/** For an operation of which nothing was sent. */
export const nothingToFind: LookedUp = {
  finding: { kind: "unsure", reason: "nothing was sent" },
  effect: undefined,
  named: [],
};

/** Asks once, within the contract's time. Whatever goes wrong is `unsure`. */
export async function lookUp(env: GuardEnvironment, turn: Turn): Promise<LookedUp> {
  const { lookUp: contract } = turn.parts.contract;
  if (contract === undefined) return unsure("the provider has no look-up");
  await env.reach(pointOf(turn, "before-look-up"));
  const answer = await ask(env, turn, contract);
  await env.reach(pointOf(turn, "after-look-up"));
  try {
    return interpret(turn, answer);
  } catch (error) {
    // An answer that can't be read is none.
    return unsure(`the look-up's answer can't be read: ${errorText(error)}`);
  }
}

async function ask(
  env: GuardEnvironment,
  turn: Turn,
  contract: LookUpContract<unknown, unknown>,
): Promise<LookUpAnswer<unknown>> {
  const { lookUpTimeoutMs } = turn.parts.terms;
  const controller = new AbortController();
  const timer = startTimer(env.runtime, lookUpTimeoutMs);
  const tooSlow = timer.rung.then((): LookUpAnswer<unknown> => {
    controller.abort();
    return { answer: "unsure", reason: `no answer within ${lookUpTimeoutMs} ms` };
  });
  const asking = (async () => contract.find(questionOf(turn, controller.signal)))().catch(
    (error: unknown): LookUpAnswer<unknown> => ({ answer: "unsure", reason: errorText(error) }),
  );
  try {
    return await Promise.race([asking, tooSlow]);
  } finally {
    timer.stop();
  }
}

function questionOf(
  turn: Turn,
  signal: AbortSignal,
): Parameters<LookUpContract<unknown, unknown>["find"]>[0] {
  const { tenant, key, generation, wireKey } = turn.record;
  const { terms } = turn.parts;
  const derived = Array.from({ length: generation + 1 }, (_, index) =>
    terms.wireKeyOf(key, generation - index),
  );
  // The one captured at the last arm comes first, should the tool derive another one by now.
  const wireKeys = [...new Set([...(wireKey === null ? [] : [wireKey]), ...derived])];
  return { tenant, key, wireKeys, arguments: turn.arguments.value, signal };
}

function interpret(turn: Turn, answer: LookUpAnswer<unknown>): LookedUp {
  switch (answer?.answer) {
    case "found":
      return interpretFound(turn, answer.effects);
    case "absent":
      return {
        finding: { kind: "absent", final: answer.final === true },
        effect: undefined,
        named: [],
      };
    case "unsure":
      return unsure(answer.reason ?? "no reason given");
    default:
      // A look-up that forgets to answer has not said "absent".
      return unsure("the look-up gave none of its three answers");
  }
}

function interpretFound(
  turn: Turn,
  effects: readonly FoundEffect<unknown>[] | undefined,
): LookedUp {
  const named = [...(effects ?? [])];
  const [effect, ...others] = named;
  if (effect === undefined) return unsure("the look-up says found, but names no effect");
  if (others.length > 0) {
    const ids = [effect, ...others].map((found) => found.providerId ?? "one without an id");
    return contradiction(
      `the provider shows ${ids.length} effects for this intent: ${ids.join(", ")}`,
      named,
    );
  }
  const differing = effect.differsIn ?? contradictingField(effect.arguments, turn.arguments.value);
  if (differing !== undefined)
    return contradiction(`the effect that was found differs in ${differing}`, named);
  if (!["succeeded", "pending", "failed"].includes(effect.status)) {
    return unsure(`the look-up reports the status ${String(effect.status)}`);
  }
  return { finding: { kind: effect.status }, effect, named };
}

function contradictingField(found: JsonObject | undefined, ours: JsonObject): string | undefined {
  return Object.entries(found ?? {}).find(
    ([name, value]) =>
      Object.hasOwn(ours, name) && canonicalJson(ours[name]) !== canonicalJson(value),
  )?.[0];
}

function unsure(reason: string): LookedUp {
  return { finding: { kind: "unsure", reason }, effect: undefined, named: [] };
}

function contradiction(reason: string, named: LookedUp["named"]): LookedUp {
  return { finding: { kind: "contradiction", reason }, effect: undefined, named };
}
