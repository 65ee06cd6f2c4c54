/**
 * Faults put into the guard on purpose, one at a time: each is a rule switched off. The simulation has
 * to find every one of them; how many it finds is its mutation score.
 */
export interface Mutant {
  readonly name: string;
  /** The rule that it breaks. */
  readonly rule: string;
  /** More than one where a rule is kept in two places. */
  readonly edits: readonly Edit[];
}

/** One change of a source file. */
export interface Edit {
  /** Under src/. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const sql = "stores/sqlite/sql.generated.ts";

export const mutants: readonly Mutant[] = [
  {
    name: "a claim takes a row that has an owner",
    rule: "R8",
    edits: [
      {
        file: sql,
        find: "do update set\\n  journal_seq",
        replace:
          "do update set acquisition_id = excluded.acquisition_id, token = excluded.token,\\n  journal_seq",
      },
    ],
  },
  {
    name: "a take-over doesn't look at the lease again",
    rule: "R12",
    edits: [
      {
        file: sql,
        find: "o.status = 'IN_PROGRESS' and o.lease_until_ms <= :now",
        replace: "o.status = 'IN_PROGRESS'",
      },
    ],
  },
  {
    name: "a live lease is taken over",
    rule: "R12",
    edits: [
      {
        file: "ledger/decide.ts",
        find: "leaseLeftMs > 0 ?",
        replace: "leaseLeftMs > 1e12 ?",
      },
      {
        file: sql,
        find: "o.status = 'IN_PROGRESS' and o.lease_until_ms <= :now",
        replace: "o.status = 'IN_PROGRESS'",
      },
    ],
  },
  {
    name: "arming doesn't check the window",
    rule: "R19",
    edits: [
      {
        file: sql,
        find: "< o.first_armed_at_ms + :resend_span_ms",
        replace: "is not null",
      },
    ],
  },
  {
    name: "arming doesn't check the token",
    rule: "R12",
    edits: [
      {
        file: sql,
        find: "and o.token = :token and o.status = 'IN_PROGRESS' and o.attempts = :attempts\\n  and (",
        replace: "and o.status = 'IN_PROGRESS'\\n  and (",
      },
    ],
  },
  {
    name: "the window forgets flight, send and margin",
    rule: "R19",
    edits: [
      {
        file: "ledger/window.ts",
        find: "retentionMs - flightMs - sendWithinMs - marginMs",
        replace: "retentionMs + 0 * (flightMs + sendWithinMs + marginMs)",
      },
    ],
  },
  {
    name: "an absence counts at once",
    rule: "R18",
    edits: [
      {
        file: "ledger/decide.ts",
        find: "times.startedAtMs > quietAtMs",
        replace: "times.startedAtMs > 0",
      },
      { file: sql, find: ":looked_at_ms > o.quiet_until_ms", replace: ":looked_at_ms > 0" },
    ],
  },
  {
    name: "nothing has to settle",
    rule: "R18",
    edits: [
      {
        file: "ledger/window.ts",
        find: "return bounds.sendWithinMs + bounds.flightMs + (bounds.lookUpLagMs ?? 0) + bounds.marginMs",
        replace: "return 0 * bounds.sendWithinMs",
      },
    ],
  },
  {
    name: "a doubt is sent again without a look",
    rule: "R18",
    edits: [
      {
        file: "ledger/decide.ts",
        find: "return record.attemptsInGeneration === 0",
        replace: "return record.attemptsInGeneration >= 0",
      },
    ],
  },
  {
    name: "an unkeyed provider is sent to again",
    rule: "R21",
    edits: [
      {
        file: "guard/contract.ts",
        find: "resendable: key !== undefined && isResendSafe(key)",
        replace: "resendable: true",
      },
      {
        file: "guard/contract.ts",
        find: "retentionMs: key?.retentionMs,",
        replace: "retentionMs: key?.retentionMs ?? 12_000,",
      },
      {
        file: "guard/contract.ts",
        find: "      mode,\n      bounds,",
        replace: '      mode: key === undefined ? "window" : mode,\n      bounds,',
      },
    ],
  },
  {
    name: "a key that is not saved after errors counts as safe",
    rule: "R20",
    edits: [
      {
        file: "guard/contract.ts",
        find: "resendable: key !== undefined && isResendSafe(key),",
        replace: 'resendable: key !== undefined, mode: key === undefined ? mode : "window",',
      },
    ],
  },
  {
    name: "any definitive refusal is FAILED",
    rule: "R13",
    edits: [
      {
        file: sql,
        find: "o.attempts_in_generation = 1 or :replays_declines = 1",
        replace: "1 = 1 or :replays_declines = 1",
      },
      {
        file: "ledger/decide.ts",
        find: "return record.attemptsInGeneration === 1 ||",
        replace: "return record.attemptsInGeneration >= 1 ||",
      },
    ],
  },
  {
    name: "any error is definitive",
    rule: "R13",
    edits: [
      {
        file: "guard/settle.ts",
        find: 'return turn.parts.contract.classify?.(error) ?? "unknown"',
        replace: 'return turn.record.attempts > 1e9 ? "unknown" : "definitive"',
      },
    ],
  },
  {
    name: "an unknown outcome is released as not sent",
    rule: "R13",
    edits: [
      {
        file: "guard/settle.ts",
        find: 'if (errorClass === "not-executed")',
        replace: 'if (errorClass !== "definitive")',
      },
    ],
  },
  {
    name: "FAILED is told although no row was written",
    rule: "R16",
    edits: [
      {
        file: "guard/settle.ts",
        find: "if (record === undefined) return answerStale(env, turn, provesNothing, error);\n  throw operationFailed(record);",
        replace: "throw operationFailed(record ?? turn.record);",
      },
    ],
  },
  {
    name: "a success overwrites what is settled",
    rule: "R14",
    edits: [
      {
        file: sql,
        find: "o.key = i.key and o.status not in ('DONE', 'FAILED')",
        replace: "o.key = i.key",
      },
    ],
  },
  {
    name: "a late success is dropped",
    rule: "R14",
    edits: [
      {
        file: sql,
        find: "o.key = i.key and o.status not in ('DONE', 'FAILED')",
        replace: "o.key = i.key and o.status = 'NEEDS_REVIEW'",
      },
    ],
  },
  {
    name: "a success is told and never recorded",
    rule: "R15",
    edits: [
      {
        file: "guard/settle.ts",
        find: "  const params = completeParams(turn, success);\n  let record",
        replace:
          "  const params = completeParams(turn, success);\n  if (turn.record.token > 0) return unrecordedOutcome(turn.record, success.value);\n  let record",
      },
    ],
  },
  {
    name: "the payload is not compared",
    rule: "R3",
    edits: [
      {
        file: "ledger/decide.ts",
        find: "record.fingerprint !== call.fingerprint",
        replace: "record.fingerprint === call.acquisitionId",
      },
    ],
  },
  {
    name: "each attempt gets a wire key of its own",
    rule: "R19",
    edits: [
      {
        file: "guard/arm.ts",
        find: "? record.wireKey\n      : terms.wireKeyOf(record.key, generation)",
        replace:
          "? terms.wireKeyOf(record.key, record.attempts)\n      : terms.wireKeyOf(record.key, generation)",
      },
    ],
  },
  {
    name: "the send deadline is not kept",
    rule: "R10",
    edits: [
      {
        file: "ledger/window.ts",
        find: "return nowMonotonicMs - armedAtMonotonicMs <= bounds.sendWithinMs",
        replace: "return nowMonotonicMs - armedAtMonotonicMs <= 1e12 + bounds.sendWithinMs",
      },
    ],
  },
  {
    name: "a reviewer may say no at once",
    rule: "R30",
    edits: [
      {
        file: sql,
        find: "or :now > o.quiet_until_ms)",
        replace: "or 1 = 1)",
      },
    ],
  },
  {
    name: "a look-up that breaks says absent",
    rule: "R18",
    edits: [
      {
        file: "guard/look-up.ts",
        find: '(error: unknown): LookUpAnswer<unknown> => ({ answer: "unsure", reason: errorText(error) })',
        replace:
          '(error: unknown): LookUpAnswer<unknown> => ({ answer: "absent", final: errorText(error) === "" })',
      },
    ],
  },
];
