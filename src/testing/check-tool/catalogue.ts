/**
 * Every check by name, in the order in which they run, and what each of them is about. The table in
 * docs/guides/check-your-tools.md is held to this list.
 *
 * @module
 */

/** What a check is about, and what may come of it. */
export interface CheckEntry {
  /** `fault`: something goes wrong, and effects are counted. `claim`: the contract is measured. */
  readonly part: "fault" | "claim";
  /** What happens, or what is measured. */
  readonly about: string;
  /** What has to be so. */
  readonly expected: string;
}

const fault = (about: string, expected: string): CheckEntry => ({ part: "fault", about, expected });
const claim = (about: string, expected: string): CheckEntry => ({ part: "claim", about, expected });

/** The checks of a non-idempotent tool. */
export const catalogue = {
  baseline: fault("nothing goes wrong", "one effect"),
  redelivered: fault("the trigger is delivered again, after the first run is done", "one effect"),
  "two-agents": fault("two agents call at the same moment", "one effect"),
  "two-runs": fault(
    "a second run does the same business operation, the first in doubt",
    "one effect",
  ),
  "reply-dropped": fault("the effect happens, the reply is lost, the caller retries", "one effect"),
  "worker-dies": fault("the worker dies after the effect, another takes over", "one effect"),
  "worker-dies-early": fault(
    "the worker dies before the effect",
    "one effect, or a person is asked",
  ),
  "worker-killed": fault("the worker's process is killed after the effect (SIGKILL)", "one effect"),
  reworded: fault("the agent decides again in other words (`reword`)", "a replay, one effect"),
  "payload-modified": fault(
    "a business argument changes under the same intent (`modify`)",
    "PAYLOAD_MISMATCH, one effect",
  ),
  "key-expired": fault(
    "the provider has forgotten the key before the retry comes",
    "one effect, nothing sent again under the key",
  ),
  "answers-409": fault("the reply is lost, and the retry is answered with 409", "one effect"),
  "answers-429": fault("the first request is answered with 429, without an effect", "one at most"),
  "answers-500": fault("the first request is answered with 500, without an effect", "one at most"),
  "answers-500-late": fault("the effect happens, and the answer is 500", "one effect"),
  "answers-503": fault("the first request is answered with 503, without an effect", "one at most"),
  "answers-503-late": fault("the effect happens, and the answer is 503", "one effect"),
  refused: fault(
    "the provider refuses for good",
    "OPERATION_FAILED, no effect, nothing sent again",
  ),
  "key-honoured": claim("a second request under the same wire key", "no second effect"),
  "key-atomic": claim("two requests in flight under one wire key", "no second effect"),
  "key-payload": claim("another payload under the same wire key (`modify`)", "no second effect"),
  "key-after-error": claim("a resend after a 500 (`faults.answer`)", "as `key.afterError` says"),
  "key-declines": claim(
    "a resend after a refusal (`faults.refuse`)",
    "as `key.replaysDeclines` says",
  ),
  "key-retention": claim(
    "a resend as late as the contract allows (`faults.advance`)",
    "no second effect",
  ),
  "look-up-finds": claim(
    "a look-up after an effect, until it is found",
    "found within `lookUp.lagMs`",
  ),
  "look-up-absent": claim("a look-up for what was never sent", "not found"),
  "look-up-tenants": claim("a look-up by another tenant", "not found"),
  "time-outs-unknown": claim("what `classify` says of time-outs, resets and 5xx", "unknown"),
} as const satisfies Record<string, CheckEntry>;

/** The name of a check. */
export type CheckName = keyof typeof catalogue;

/** All names, in the order in which they run. */
export const checkNames = Object.keys(catalogue) as readonly CheckName[];

/** What a check is about. */
export function entryOf(name: CheckName): CheckEntry {
  return catalogue[name];
}
