/**
 * The baseline: one call, one effect. Without it nothing else means anything.
 *
 * @module
 */
import { errorText } from "../../base/errors.ts";
import type { Bench, Told } from "./bench.ts";
import { exactlyOne } from "./judge.ts";
import type { Finding } from "./report.ts";

/** Runs one example with nothing going wrong, and finds out what probe and store can be relied on for. */
export async function baseline(bench: Bench): Promise<Finding> {
  const example = await bench.nextExample();
  const call = await bench.prepare(example);
  const isStable = (await bench.prepare(example)).key === call.key;
  const before = await bench.count(example);
  const told = await (await bench.worker(0)).run(example);
  const effects = await bench.count(example);
  const other = await bench.nextExample();
  const otherKey = (await bench.prepare(other)).key;
  const others = await bench.count(other);
  if (told.told === "EXECUTED") await bench.learnClock(call);
  const isFresh = otherKey !== call.key;
  const wrong = wrongWith({ before, effects, others, told, isStable, isFresh });
  return {
    verdict: wrong === null ? "pass" : "fail",
    effects,
    expectedEffects: exactlyOne,
    told: [told.told],
    found: wrong?.found ?? "as it should be",
    advice: wrong?.advice ?? null,
  };
}

interface Ran {
  readonly before: number;
  readonly effects: number;
  /** Effects that the probe finds for an example that was never sent. */
  readonly others: number;
  readonly told: Told;
  /** The same call makes the same intent again. */
  readonly isStable: boolean;
  /** Another example makes another intent. */
  readonly isFresh: boolean;
}

function wrongWith(ran: Ran): { found: string; advice: string } | null {
  const { before, effects, others, told, isStable, isFresh } = ran;
  if (!isStable) {
    return {
      found: "the same call makes another intent each time, so nothing can be recognised",
      advice: "make `intent` of trusted ids: no clock, no counter, no chance",
    };
  }
  if (before > 0) {
    return {
      found: `the books hold ${before} effects of the example before it was called`,
      advice:
        "build the `id` that `example` is given into the ids it makes, or let `countEffects` count this example's effects alone",
    };
  }
  if (told.told !== "EXECUTED") {
    return {
      found: `the call itself did not work: ${told.error === undefined ? told.told : errorText(told.error)}`,
      advice: "make `example` a call that works against the sandbox when nothing goes wrong",
    };
  }
  if (effects === 0) {
    return {
      found: "the tool reports success, but `countEffects` finds nothing",
      advice:
        "`countEffects` looks in the wrong place or too early (it may poll; see `settleMs`), or `execute` reports a success that isn't one",
    };
  }
  if (!isFresh) {
    return {
      found: "`example` makes the same intent for another `n` and `id`",
      advice: "let the ids that the intent is made of contain `id`",
    };
  }
  if (others > 0) {
    return {
      found: `\`countEffects\` finds ${others} effects of an example that was never sent`,
      advice: "let `countEffects` count the effects of the example that it is given, and no others",
    };
  }
  if (effects === 1) return null;
  return {
    found: `one call made ${effects} effects`,
    advice: "switch off retries inside `execute` (the SDK's or the HTTP client's)",
  };
}
