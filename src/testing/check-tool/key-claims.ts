/**
 * Measures what the contract says about the provider's keys, by requests that pass the guard by.
 *
 * @module
 */
import { formatSpan } from "../../base/duration.ts";
import { errorText } from "../../base/errors.ts";
import type { AfterError } from "../../guard/contract.ts";
import type { PreparedCall } from "../../guard/prepare.ts";
import type { Bench, NumberedExample, RawAnswer } from "./bench.ts";
import { judgeClaim, notCheckable } from "./judge.ts";
import type { Finding } from "./report.ts";

const noKey = "the contract declares no `key`";

/** Two requests under one wire key, the second after the first is done. */
export async function keyHonoured(bench: Bench): Promise<Finding> {
  const { example, call } = await fresh(bench);
  const first = await bench.raw(call);
  if (!first.ok) return notCheckable(`the request failed: ${errorText(first.error)}`);
  await bench.raw(call);
  const effects = await bench.count(example);
  return judgeClaim({
    claimed: bench.parts.contract.key !== undefined,
    holds: effects === 1,
    effects,
    seen: `two requests under one wire key made ${effects} effect(s)`,
    correction:
      "send `call.wireKey` as the provider's idempotency key on every attempt, and make no key inside `execute`; if the provider takes none, take `contract.key` out and choose another `mode`",
    declaration: "if the provider documents that it honours keys, declare `contract.key`",
  });
}

/** How often two requests are sent at once: a race is not lost every time. */
const rounds = 3;

/** Two requests in flight under one wire key. */
export async function keyAtomic(bench: Bench): Promise<Finding> {
  const { key } = bench.parts.contract;
  if (key === undefined) return notCheckable(noKey);
  let worst = 1;
  let round = 0;
  while (round < rounds && worst === 1) {
    round += 1;
    const { example, call } = await fresh(bench);
    const answers = await Promise.all([bench.raw(call), bench.raw(call)]);
    const effects = await bench.count(example);
    if (effects === 0) return notCheckable(`both requests failed: ${firstError(answers)}`);
    worst = Math.max(worst, effects);
  }
  return judgeClaim({
    claimed: key.atomic === true,
    holds: worst === 1,
    effects: worst,
    seen: `two requests at once made ${worst} effect(s), in round ${round} of ${rounds}`,
    correction:
      'take `contract.key.atomic` back; then nothing can be sent again safely, so choose mode "strict", or "proved-absence" with an authoritative look-up',
    declaration: "if the provider documents it, declare `contract.key.atomic: true`",
  });
}

/** Another payload under a used key. */
export async function keyPayload(bench: Bench): Promise<Finding> {
  const { modify } = bench.options;
  if (bench.parts.contract.key === undefined) return notCheckable(noKey);
  if (modify === undefined)
    return notCheckable("give `modify`: the same call with a business argument changed");
  const { example, call } = await fresh(bench);
  const changed = { ...example, args: modify(example.args) };
  const other = await bench.prepare(changed);
  if (other.arguments.text === call.arguments.text)
    return notCheckable("`modify` changes no business argument");
  const first = await bench.raw(call);
  if (!first.ok) return notCheckable(`the request failed: ${errorText(first.error)}`);
  const [before, beforeChanged] = [await bench.count(example), await bench.count(changed)];
  const answer = await bench.raw(call, { arguments: other.arguments });
  const added = Math.max(
    (await bench.count(example)) - before,
    (await bench.count(changed)) - beforeChanged,
  );
  const seen = answer.ok
    ? `the provider answered another payload under a used key, with ${added} more effect(s)`
    : `the provider refused another payload under a used key (${errorText(answer.error)})`;
  return {
    verdict: added === 0 ? "pass" : "advice",
    effects: before + added,
    expectedEffects: null,
    told: [],
    found: seen,
    advice:
      added === 0
        ? null
        : "nothing has to change: the guard tells PAYLOAD_MISMATCH before anything is sent; but never send such requests past it",
  };
}

/** What the provider does with a key whose first request ended in a 500. */
export async function keyAfterError(bench: Bench): Promise<Finding> {
  const { key } = bench.parts.contract;
  const { answer } = bench.options.faults;
  if (key === undefined) return notCheckable(noKey);
  if (answer === undefined) return notCheckable("give `faults.answer`");
  const late = await resendAfterError(bench, true);
  const early = await resendAfterError(bench, false);
  if (late === null || early === null)
    return notCheckable("`faults.answer(500)` did not make the request fail");
  const measured = late.effects > 1 ? "not-saved" : afterErrorOf(early.answers);
  const claimed = key.afterError ?? "unknown";
  return judgeClaim({
    claimed: claimed !== "unknown",
    holds: claimed === "unknown" || isAsClaimed(claimed, measured),
    effects: late.effects,
    seen: describe[measured],
    correction: `declare \`contract.key.afterError: "${measured}"\``,
    declaration:
      measured === "not-saved" && late.effects > 1
        ? null
        : `if the provider documents it, declare \`contract.key.afterError: "${measured}"\``,
  });
}

interface Resent {
  readonly effects: number;
  readonly answers: readonly [first: RawAnswer, second: RawAnswer];
}

async function resendAfterError(bench: Bench, effect: boolean): Promise<Resent | null> {
  const { example, call } = await fresh(bench);
  await bench.ask("faults.answer", () => bench.options.faults.answer?.(500, { effect }));
  const first = await bench.raw(call);
  if (first.ok) return null;
  await bench.clear();
  const second = await bench.raw(call);
  return { effects: await bench.count(example), answers: [first, second] };
}

type KnownAfterError = Exclude<AfterError, "unknown">;

/** By the answers around a 500 that had no effect. */
function afterErrorOf([first, second]: Resent["answers"]): KnownAfterError {
  if (second.ok || first.ok) return "re-executes";
  return textOf(first.error) === textOf(second.error) ? "replays" : "burnt";
}

/** A stored error and a burnt key both end the key: the guard treats them alike. */
function isAsClaimed(claimed: AfterError, measured: KnownAfterError): boolean {
  const ends = (what: AfterError): boolean => what === "replays" || what === "burnt";
  return claimed === measured || (ends(claimed) && ends(measured));
}

const describe: Record<KnownAfterError, string> = {
  replays: "a resend after a 500 was answered with the stored 500",
  "re-executes": "a resend after a 500 ran, and made no second effect",
  burnt: "a resend after a 500 was refused: the key is burnt",
  "not-saved": "a resend after a 500 that had taken effect made a second effect",
};

function textOf(error: unknown): string {
  const { status, code } = (error ?? {}) as { status?: unknown; code?: unknown };
  return `${String(status)} ${String(code)} ${errorText(error)}`;
}

/** A refused key answers a resend with the same refusal. */
export async function keyDeclines(bench: Bench): Promise<Finding> {
  const { key } = bench.parts.contract;
  const { refuse } = bench.options.faults;
  if (key === undefined) return notCheckable(noKey);
  if (refuse === undefined) return notCheckable("give `faults.refuse`");
  const { example, call } = await fresh(bench);
  await bench.ask("faults.refuse", () => refuse());
  const first = await bench.raw(call);
  if (first.ok) return notCheckable("`faults.refuse` did not make the request fail");
  await bench.clear();
  const second = await bench.raw(call);
  const effects = await bench.count(example);
  return judgeClaim({
    claimed: key.replaysDeclines === true,
    holds: !second.ok && effects === 0,
    effects,
    least: 0,
    most: 0,
    seen: second.ok
      ? `a resend after a refusal ran, with ${effects} effect(s)`
      : "a resend after a refusal was refused again",
    correction: "take `contract.key.replaysDeclines` back",
    declaration: "if the provider documents it, declare `contract.key.replaysDeclines: true`",
  });
}

/** A resend as late as the contract lets one arrive. */
export async function keyRetention(bench: Bench): Promise<Finding> {
  const { key } = bench.parts.contract;
  const { advance } = bench.options.faults;
  if (key === undefined) return notCheckable(noKey);
  if (key.retentionMs === undefined)
    return notCheckable("the contract states no `key.retentionMs`; it is taken as unknown");
  if (advance === undefined) return notCheckable("give `faults.advance`");
  const { example, call } = await fresh(bench);
  const first = await bench.raw(call);
  if (!first.ok) return notCheckable(`the request failed: ${errorText(first.error)}`);
  const laterMs = Math.max(0, key.retentionMs - bench.parts.terms.bounds.marginMs);
  await bench.ask("faults.advance", () => advance(laterMs));
  await bench.raw(call);
  const effects = await bench.count(example);
  return judgeClaim({
    claimed: true,
    holds: effects === 1,
    effects,
    seen: `a resend after ${formatSpan(laterMs)} made ${effects === 1 ? "no second effect" : `${effects} effects`}`,
    correction: `the provider forgets keys before ${formatSpan(key.retentionMs)}: state in \`contract.key.retentionMs\` what its documentation promises, or leave it out`,
    declaration: null,
  });
}

async function fresh(bench: Bench): Promise<{ example: NumberedExample; call: PreparedCall }> {
  const example = await bench.nextExample();
  return { example, call: await bench.prepare(example) };
}

function firstError(answers: readonly RawAnswer[]): string {
  const failed = answers.find((answer) => !answer.ok);
  return failed === undefined ? "no error was thrown" : errorText(failed.error);
}
