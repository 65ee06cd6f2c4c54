/**
 * Fault checks in which something breaks: a reply, a worker, a process, the provider.
 *
 * @module
 */
import { formatSpan } from "../../base/duration.ts";
import type { PointName } from "../../guard/environment.ts";
import type { Bench } from "./bench.ts";
import { gate } from "./gate.ts";
import { exactlyOne, judge, notCheckable } from "./judge.ts";
import type { Finding } from "./report.ts";
import { type Send, answerWith, dropReply, statusError } from "./sends.ts";

/** The effect happens, the reply is lost, and the caller tries again. */
export function replyDropped(bench: Bench): Promise<Finding> {
  return callWith(bench, [dropReply(bench.options.faults)], exactlyOne);
}

/** The first request is answered with a status. */
export function answersWith(status: number, effect: boolean): (bench: Bench) => Promise<Finding> {
  return (bench) => {
    const send = answerWith(bench.options.faults, status, effect);
    return callWith(bench, [send], effect ? exactlyOne : [0, 1]);
  };
}

/** The reply is lost; the retry, if there is one, is told that the first is still at it. */
export function answersConflict(bench: Bench): Promise<Finding> {
  const { faults } = bench.options;
  return callWith(bench, [dropReply(faults), answerWith(faults, 409, false)], exactlyOne);
}

async function callWith(
  bench: Bench,
  plan: readonly Send[],
  expected: readonly [number, number],
): Promise<Finding> {
  const example = await bench.nextExample();
  const worker = await bench.worker(0, { plan });
  const told = await bench.untilSettled(worker, example);
  const effects = await bench.count(example);
  return judge(bench.parts, { effects, expected, told, sends: worker.sends() });
}

/** A worker reaches this point and is never heard of again; another one takes over. */
export function workerDies(
  point: PointName,
  expected: readonly [number, number],
): (bench: Bench) => Promise<Finding> {
  return async (bench) => {
    const example = await bench.nextExample();
    const died = gate();
    const first = await bench.worker(0, {
      onPoint: async ({ name }) => {
        if (name !== point) return;
        died.open();
        await new Promise<never>(() => {});
      },
    });
    const answered = await Promise.race([first.run(example), died.opened]);
    const tooLong = await bench.pass(bench.parts.terms.leaseMs + 1);
    if (tooLong !== null) return notCheckable(tooLong);
    const second = await bench.worker(1);
    const told = await bench.untilSettled(second, example);
    return judge(bench.parts, {
      effects: await bench.count(example),
      expected,
      told: answered === undefined ? told : [answered, ...told],
      sends: first.sends() + second.sends(),
    });
  };
}

/** The same with a process and SIGKILL. */
export async function workerKilled(bench: Bench): Promise<Finding> {
  const { killWorker } = bench.options;
  if (killWorker === undefined)
    return notCheckable("only `nevertwice verify` starts processes that it can kill");
  const example = await bench.nextExample();
  const { n, id } = example;
  const seenByWorker = await killWorker({ n, id, clockAheadMs: bench.clockAheadMs });
  bench.noteSend();
  const row = await (await bench.store(0)).read(await bench.prepare(example));
  if (row === undefined) {
    return notCheckable(
      "the store that the checked file opens is another one in each process: give --store",
    );
  }
  if (seenByWorker > 0 && (await bench.count(example)) === 0) {
    return notCheckable(
      "the provider lives in the checked file itself, so its books died with the process: run it as a process of its own",
    );
  }
  const tooLong = await bench.pass(bench.parts.terms.leaseMs + 1);
  if (tooLong !== null) return notCheckable(tooLong);
  const second = await bench.worker(1);
  const told = await bench.untilSettled(second, example);
  return judge(bench.parts, {
    effects: await bench.count(example),
    expected: exactlyOne,
    told,
    sends: 1 + second.sends(),
  });
}

/** The retry comes when the provider has forgotten the key. */
export async function keyExpired(bench: Bench): Promise<Finding> {
  const { retentionMs } = bench.parts.terms.bounds;
  const { faults } = bench.options;
  if (retentionMs === undefined)
    return notCheckable(
      "the contract states no `key.retentionMs`, so nothing is sent again anyway",
    );
  const example = await bench.nextExample();
  const first = await bench.worker(0, { plan: [dropReply(faults)] });
  const told = [await first.run(example)];
  const tooLong = await bench.pass(retentionMs + 1);
  if (tooLong !== null) return notCheckable(tooLong);
  await bench.ask("faults.expireKeys", () => faults.expireKeys?.());
  const second = await bench.worker(1);
  told.push(...(await bench.untilSettled(second, example)));
  const renews = bench.parts.terms.policy.mode === "proved-absence";
  return judge(bench.parts, {
    effects: await bench.count(example),
    expected: exactlyOne,
    told,
    sends: first.sends() + second.sends(),
    also: [
      {
        holds: second.sends() === 0 || renews,
        found: `a request was sent again ${formatSpan(retentionMs)} after the first`,
        advice: "report this, please: a key that may be forgotten must never be sent again",
      },
    ],
  });
}

/** The provider refuses for good. */
export async function refused(bench: Bench): Promise<Finding> {
  const { faults } = bench.options;
  const { contract } = bench.parts;
  const standIn = statusError(faults, 402);
  if (faults.refuse === undefined && contract.classify?.(standIn) !== "definitive") {
    return notCheckable(
      "give `faults.refuse` or `faults.errorFor`: `classify` doesn't call our stand-in for a 402 definitive",
    );
  }
  const send: Send =
    faults.refuse === undefined
      ? { kind: "turn-away", error: standIn }
      : { kind: "arranged", arrange: () => faults.refuse?.() };
  const example = await bench.nextExample();
  const first = await bench.worker(0, { plan: [send] });
  const told = [await first.run(example)];
  const effectsAfterFirst = await bench.count(example);
  if (told[0]?.told === "OUTCOME_UNKNOWN" && effectsAfterFirst === 0) {
    return {
      ...judge(bench.parts, { effects: 0, expected: [0, 0], told, sends: 1 }),
      verdict: "advice",
      found: "a refusal is told as an unknown outcome: safe, but somebody has to look",
      advice: 'let `contract.classify` return "definitive" for this error',
    };
  }
  const second = await bench.worker(1);
  told.push(await second.run(example));
  return judge(bench.parts, {
    effects: await bench.count(example),
    expected: [0, 0],
    told,
    sends: first.sends() + second.sends(),
    also: [
      {
        holds: told.every((one) => one.told === "OPERATION_FAILED"),
        found: `a refusal was told as ${told.map((one) => one.told).join(", then ")}`,
        advice: 'let `contract.classify` return "definitive" for a refusal, and for nothing else',
      },
      {
        holds: first.sends() + second.sends() === 1,
        found: "a refused request was sent again",
        advice: 'let `contract.classify` return "definitive" for a refusal',
      },
    ],
  });
}
