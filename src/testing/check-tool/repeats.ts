/**
 * Fault checks in which the same business operation is asked for again: by the broker, by another
 * agent, by another run, in other words, with another payload.
 *
 * @module
 */
import type { Bench } from "./bench.ts";
import { gate } from "./gate.ts";
import { differingNames, sameIntent, samePayload } from "./identity.ts";
import { type Requirement, exactlyOne, judge, notCheckable } from "./judge.ts";
import type { Example } from "./options.ts";
import type { Finding } from "./report.ts";
import { dropReply } from "./sends.ts";

/** The trigger comes again after the first run is done. */
export async function redelivered(bench: Bench): Promise<Finding> {
  const example = await bench.nextExample();
  const again = bench.options.rerun(example);
  const [one, other] = [await bench.prepare(example), await bench.prepare(again)];
  return callTwice(bench, example, again, [sameIntent(one, other, "the second delivery")]);
}

/** A second run does the same while the first one is in doubt. */
export async function twoRuns(bench: Bench): Promise<Finding> {
  const example = await bench.nextExample();
  const again = bench.options.rerun(example);
  const intent = sameIntent(
    await bench.prepare(example),
    await bench.prepare(again),
    "the second run",
  );
  const first = await bench.worker(0, { plan: [dropReply(bench.options.faults)] });
  const second = await bench.worker(1);
  const told = [await first.run(example)];
  const countBoth = await counterOf(bench, example, again);
  told.push(...(await bench.untilSettled(second, again)));
  return judge(bench.parts, {
    effects: await countBoth(),
    expected: exactlyOne,
    told,
    sends: first.sends() + second.sends(),
    also: [intent],
  });
}

/** Two agents call at once: the second calls while the first one's request is about to leave. */
export async function twoAgents(bench: Bench): Promise<Finding> {
  const example = await bench.nextExample();
  const [entered, released] = [gate(), gate()];
  const beforeSend = async (): Promise<void> => {
    entered.open();
    await released.opened;
  };
  const [first, second] = [await bench.worker(0, { beforeSend }), await bench.worker(1)];
  const running = first.run(example);
  await Promise.race([entered.opened, running]);
  const toldSecond = await second.run(example);
  released.open();
  const told = [await running, toldSecond, ...(await bench.untilSettled(second, example))];
  return judge(bench.parts, {
    effects: await bench.count(example),
    expected: exactlyOne,
    told,
    sends: first.sends() + second.sends(),
  });
}

/** The same decision in other words. */
export async function reworded(bench: Bench): Promise<Finding> {
  const { reword } = bench.options;
  if (reword === undefined) return notCheckable("give `reword`: the same call in other words");
  const example = await bench.nextExample();
  const again = { ...example, args: reword(example.args) };
  if (differingNames(example.args, again.args).length === 0)
    return notCheckable("`reword` changed nothing");
  const [one, other] = [await bench.prepare(example), await bench.prepare(again)];
  return callTwice(bench, example, again, [
    sameIntent(one, other, "the reworded call"),
    samePayload(one, other),
  ]);
}

/** A business argument changes under the same intent. */
export async function payloadModified(bench: Bench): Promise<Finding> {
  const { modify } = bench.options;
  if (modify === undefined)
    return notCheckable("give `modify`: the same call with a business argument changed");
  const example = await bench.nextExample();
  const again = { ...example, args: modify(example.args) };
  const names = differingNames(example.args, again.args);
  if (names.length === 0) return notCheckable("`modify` changed nothing");
  const [one, other] = [await bench.prepare(example), await bench.prepare(again)];
  const changed = names.join(", ");
  return callTwice(bench, example, again, [
    {
      holds: one.key === other.key,
      found: `with another ${changed} the call is another intent, so it runs as well`,
      advice: `take ${changed} out of \`intent\`; it belongs into \`businessArguments\` alone`,
    },
    {
      holds: one.fingerprint !== other.fingerprint,
      found: `nobody notices that ${changed} changed: the caller gets the outcome of another payload`,
      advice: `add ${changed} to \`businessArguments\``,
    },
    toldLast("PAYLOAD_MISMATCH"),
  ]);
}

/** A requirement that can only be judged after the calls. */
type Later = Requirement | ((lastTold: string) => Requirement);

function toldLast(code: string): Later {
  return (lastTold) => ({
    holds: lastTold === code,
    found: `the second call was told ${lastTold} and not ${code}`,
    advice: "see the documentation of that code",
  });
}

async function callTwice(
  bench: Bench,
  example: Example,
  again: Example,
  also: readonly Later[],
): Promise<Finding> {
  const [first, second] = [await bench.worker(0), await bench.worker(1)];
  const told = [await first.run(example)];
  const countBoth = await counterOf(bench, example, again);
  const last = await second.run(again);
  told.push(last);
  return judge(bench.parts, {
    effects: await countBoth(),
    expected: exactlyOne,
    told,
    sends: first.sends() + second.sends(),
    also: also.map((one) => (typeof one === "function" ? one(last.told) : one)),
  });
}

/**
 * Counts the effects of two variants of a call, whether or not the probe takes them for one: those of
 * the first, or those that the second added to them.
 */
async function counterOf(
  bench: Bench,
  first: Example,
  second: Example,
): Promise<() => Promise<number>> {
  const before = await bench.count(first);
  const beforeSecond = await bench.count(second);
  return async () => {
    const added = (await bench.count(second)) - beforeSecond;
    return Math.max(await bench.count(first), before + added);
  };
}
