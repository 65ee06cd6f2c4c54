/**
 * Measures the contract's look-up: does it find what is there, how soon, and nothing else?
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { canonicalJson } from "../../base/canonical-json.ts";
import { formatSpan } from "../../base/duration.ts";
import { errorText } from "../../base/errors.ts";
import type { FoundEffect, LookUpAnswer, LookUpContract } from "../../guard/contract.ts";
import type { PreparedCall } from "../../guard/prepare.ts";
import type { Bench } from "./bench.ts";
import { type Requirement, judgeClaim, notCheckable } from "./judge.ts";
import type { Finding } from "./report.ts";

type LookUp = LookUpContract<unknown, unknown>;
const noLookUp = "the contract declares no `lookUp`";

/** How the wait for an effect ended. Times count from the end of the request. */
interface Waited {
  readonly found: readonly FoundEffect<unknown>[] | null;
  /** When the look-up that found it began; how long was waited where none did. */
  readonly afterMs: number;
  /** When the last look-up began that said "absent". */
  readonly lastAbsentMs: number | null;
  /** It said that the request can never take effect, though it had. */
  readonly saidFinal: boolean;
  readonly lastAnswer: string;
}

/** Polls until the effect is found. With the provider's clock in hand time is moved on, else waited for. */
async function waitUntilFound(bench: Bench, lookUp: LookUp, call: PreparedCall): Promise<Waited> {
  const { advance } = bench.options.faults;
  const declaredMs = lookUp.lagMs ?? 0;
  const limitMs =
    advance === undefined
      ? Math.min(Math.max(2 * declaredMs, 10_000), bench.options.timeoutMs / 2)
      : Math.max(4 * declaredMs, 600_000);
  const startedAtMs = performance.now();
  let advancedMs = 0;
  let lastAbsentMs: number | null = null;
  let saidFinal = false;
  for (let stepMs = 20; ; stepMs = Math.min(stepMs * 2, Math.max(declaredMs / 4, 500))) {
    const afterMs = Math.round(performance.now() - startedAtMs + advancedMs);
    const answer = await ask(bench, lookUp, call);
    const waited = { afterMs, lastAbsentMs, saidFinal, lastAnswer: textOf(answer) };
    if (answer.answer === "found") return { ...waited, found: answer.effects };
    if (answer.answer === "absent") {
      lastAbsentMs = afterMs;
      saidFinal ||= answer.final === true;
    }
    if (afterMs > limitMs) return { ...waited, lastAbsentMs, saidFinal, found: null };
    if (advance === undefined) {
      await delay(stepMs);
    } else {
      await bench.ask("faults.advance", () => advance(stepMs));
      advancedMs += stepMs;
    }
  }
}

/** Asks once, as the guard would: whatever goes wrong is `unsure`. */
async function ask(
  bench: Bench,
  lookUp: LookUp,
  call: PreparedCall,
): Promise<LookUpAnswer<unknown>> {
  const controller = new AbortController();
  const { terms } = bench.parts;
  const { lookUpTimeoutMs } = terms;
  const timer = setTimeout(() => controller.abort(new Error("time-out")), lookUpTimeoutMs);
  const tooSlow = new Promise<LookUpAnswer<unknown>>((resolve) => {
    controller.signal.addEventListener("abort", () =>
      resolve({ answer: "unsure", reason: `no answer within ${formatSpan(lookUpTimeoutMs)}` }),
    );
  });
  const asking = async (): Promise<LookUpAnswer<unknown>> => {
    try {
      return await lookUp.find({
        tenant: call.tenant,
        key: call.key,
        wireKeys: [terms.wireKeyOf(call.key, 0)],
        arguments: call.arguments.value,
        signal: controller.signal,
      });
    } catch (error) {
      return { answer: "unsure", reason: errorText(error) };
    }
  };
  try {
    return await Promise.race([asking(), tooSlow]);
  } finally {
    clearTimeout(timer);
  }
}

function textOf(answer: LookUpAnswer<unknown>): string {
  if (answer.answer !== "unsure") return answer.answer;
  return `unsure (${answer.reason ?? "no reason given"})`;
}

/** The look-up finds an effect, soon enough, and describes it truly. */
export async function lookUpFinds(bench: Bench): Promise<Finding> {
  const { lookUp } = bench.parts.contract;
  if (lookUp === undefined) return notCheckable(noLookUp);
  const example = await bench.nextExample();
  const call = await bench.prepare(example);
  const answer = await bench.raw(call);
  if (!answer.ok) return notCheckable(`the request failed: ${errorText(answer.error)}`);
  const waited = await waitUntilFound(bench, lookUp, call);
  const effects = await bench.count(example);
  const broken = [
    ...timeRequirements(lookUp, waited),
    ...truthRequirements(bench, call, waited.found ?? [], answer.value),
  ].find(({ holds }) => !holds);
  return judgeClaim({
    claimed: broken !== undefined || lookUp.lagMs !== undefined,
    holds: broken === undefined,
    effects,
    seen: broken?.found ?? `found ${formatSpan(waited.afterMs)} after the request`,
    correction: broken?.advice ?? "",
    declaration:
      "declare `contract.lookUp.lagMs`, as the provider documents it: without it an absence never proves anything",
  });
}

function timeRequirements(lookUp: LookUp, waited: Waited): Requirement[] {
  const { found, afterMs, lastAbsentMs, saidFinal, lastAnswer } = waited;
  const lagMs = lookUp.lagMs ?? Number.POSITIVE_INFINITY;
  return [
    {
      holds: !saidFinal,
      found: "the look-up said that the request can never take effect (`final`), but it had",
      advice: "answer `final: true` only when the provider has closed the request for good",
    },
    {
      holds: found !== null,
      found: `the effect was not found within ${formatSpan(afterMs)}; the last answer was ${lastAnswer}`,
      advice:
        "let `lookUp.find` search by what `execute` sends: the tag made of `call.key`, or `call.wireKey`",
    },
    {
      holds: lastAbsentMs === null || lastAbsentMs < lagMs,
      found: `the look-up still said absent ${formatSpan(lastAbsentMs ?? 0)} after the request, and found the effect after ${formatSpan(afterMs)}`,
      advice: `raise \`contract.lookUp.lagMs\` above ${afterMs}, to what the provider documents; until then an "absent" can double an effect`,
    },
  ];
}

function truthRequirements(
  bench: Bench,
  call: PreparedCall,
  found: readonly FoundEffect<unknown>[],
  result: unknown,
): Requirement[] {
  const [effect] = found;
  if (effect === undefined) return [];
  const ours = call.arguments.value;
  const differing = Object.entries(effect.arguments ?? {}).find(
    ([name, value]) =>
      Object.hasOwn(ours, name) && canonicalJson(ours[name]) !== canonicalJson(value),
  );
  const providerId = bench.parts.contract.providerId?.(result);
  return [
    {
      holds: found.length === 1,
      found: `one effect was found ${found.length} times`,
      advice: "let `lookUp.find` return the effects of this key alone, each once",
    },
    {
      holds: effect.status !== "failed",
      found: 'an effect that exists is reported with the status "failed"',
      advice: "map the provider's statuses to succeeded and pending truly",
    },
    {
      holds: differing === undefined,
      found: `the found effect's arguments differ from ours in ${differing?.[0]}, so a person would be asked each time`,
      advice: "bring `arguments` in `lookUp.find` to the shape of the business arguments",
    },
    {
      holds:
        providerId === undefined ||
        effect.providerId === undefined ||
        providerId === effect.providerId,
      found: `\`providerId\` names the effect ${String(providerId)}, the look-up ${String(effect.providerId)}: one effect would look like two`,
      advice: "let both give the provider's own id of the effect",
    },
  ];
}

/** The look-up does not find what was never sent. */
export async function lookUpAbsent(bench: Bench): Promise<Finding> {
  const { lookUp } = bench.parts.contract;
  if (lookUp === undefined) return notCheckable(noLookUp);
  const call = await bench.prepare(await bench.nextExample());
  const answer = await ask(bench, lookUp, call);
  if (answer.answer !== "unsure") {
    return judgeClaim({
      claimed: true,
      holds: answer.answer === "absent",
      seen: `for what was never sent the look-up said ${answer.answer}`,
      correction: "search by this intent's `key` or `wireKeys`, so that no other effect is found",
      declaration: null,
    });
  }
  return {
    ...notCheckable(`for what was never sent the look-up said ${textOf(answer)}`),
    verdict: "advice",
    advice:
      'answer "absent" when the provider shows nothing: unsure for good ends with a person being asked',
  };
}

/** Another tenant's look-up, with the same arguments, does not find the effect. */
export async function lookUpTenants(bench: Bench): Promise<Finding> {
  const { lookUp } = bench.parts.contract;
  if (lookUp === undefined) return notCheckable(noLookUp);
  const example = await bench.nextExample();
  const call = await bench.prepare(example);
  const sent = await bench.raw(call);
  if (!sent.ok) return notCheckable(`the request failed: ${errorText(sent.error)}`);
  const { found } = await waitUntilFound(bench, lookUp, call);
  if (found === null) return notCheckable("the look-up does not even find its own tenant's effect");
  const stranger = { ...example.context, tenant: `${example.context.tenant}-other` };
  const answer = await ask(bench, lookUp, await bench.prepare({ ...example, context: stranger }));
  return judgeClaim({
    claimed: true,
    holds: answer.answer !== "found",
    seen: `asked as another tenant the look-up said ${textOf(answer)}`,
    correction:
      "search by `key` or `wireKeys`, which differ between tenants, and not by arguments alone",
    declaration: null,
  });
}
