/**
 * Measures `classify`: an error that proves nothing must not settle anything.
 *
 * @module
 */
import { errorText } from "../../base/errors.ts";
import type { ErrorClass } from "../../guard/contract.ts";
import type { Bench, RawAnswer, RawOptions } from "./bench.ts";
import { judgeClaim } from "./judge.ts";
import type { Finding } from "./report.ts";
import { statusError, timeoutError } from "./sends.ts";

/** An error after which the effect may or may not exist. */
interface Doubt {
  readonly name: string;
  readonly error: unknown;
}

const unansweredStatuses = [500, 502, 503, 504];

/** Time-outs, resets, aborts and 5xx are `unknown` to `classify`. */
export async function timeOutsUnknown(bench: Bench): Promise<Finding> {
  const { contract } = bench.parts;
  const doubts =
    contract.classify === undefined ? [] : [...standIns(bench), ...(await realDoubts(bench))];
  const settled = doubts.flatMap((doubt) => {
    const said = classOf(() => contract.classify?.(doubt.error));
    return said === "unknown" ? [] : [`${doubt.name} (${errorText(doubt.error)}): ${said}`];
  });
  return judgeClaim({
    claimed: true,
    holds: settled.length === 0,
    seen:
      contract.classify === undefined
        ? "there is no `classify`, so every error is unknown"
        : settled.length === 0
          ? `${doubts.length} errors that prove nothing are all unknown`
          : settled.join("; "),
    correction:
      'let `contract.classify` return "definitive" only for refusals that it knows by their code, and "unknown" for everything else',
    declaration: null,
  });
}

/** As the guard takes it: a classifier that throws has proved nothing. */
function classOf(classify: () => ErrorClass | undefined): ErrorClass {
  try {
    return classify() ?? "unknown";
  } catch {
    return "unknown";
  }
}

function standIns({ options: { faults } }: Bench): Doubt[] {
  const reset = Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
  return [
    { name: "a time-out", error: timeoutError(faults) },
    { name: "a reset", error: reset },
    { name: "an abort", error: new DOMException("This operation was aborted", "AbortError") },
    { name: "a failed fetch", error: new TypeError("fetch failed", { cause: reset }) },
    { name: "nothing at all", error: null },
    ...unansweredStatuses.map((status) => ({
      name: `a ${status}`,
      error: statusError(faults, status),
    })),
  ];
}

/** The same as the tool's own client throws it, where it can be made to. */
async function realDoubts(bench: Bench): Promise<Doubt[]> {
  const { dropReply, answer } = bench.options.faults;
  const doubts: (Doubt | undefined)[] = [];
  if (dropReply !== undefined)
    doubts.push(await doubtFrom(bench, "a lost reply", {}, () => dropReply()));
  if (answer !== undefined) {
    for (const status of [500, 503]) {
      const arrange = (): unknown => answer(status, { effect: true });
      doubts.push(await doubtFrom(bench, `a real ${status}`, {}, arrange));
    }
  }
  // The last: what is aborted may still arrive, and would meet the fault that is meant for another.
  doubts.push(await doubtFrom(bench, "an aborted call", abortSoon(), undefined));
  return doubts.filter((doubt) => doubt !== undefined);
}

async function doubtFrom(
  bench: Bench,
  name: string,
  options: RawOptions,
  arrange: (() => unknown) | undefined,
): Promise<Doubt | undefined> {
  const call = await bench.prepare(await bench.nextExample());
  await bench.ask("faults", () => arrange?.());
  const answer: RawAnswer = await bench.raw(call, options);
  await bench.clear();
  return answer.ok || answer.notSent ? undefined : { name, error: answer.error };
}

/** A signal that aborts when the request is likely to be on its way. */
function abortSoon(): RawOptions {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error("aborted by the check")), 1);
  return { signal: controller.signal };
}
