import { errorAnswer, isSuccess, REPLAYED_HEADER, type Answer } from "./answer.ts";
import type { ResolvedBehaviour } from "./behaviour.ts";

/** One use of an idempotency key. Keys of different accounts never meet. */
export interface KeyUse {
  readonly account: string | null;
  readonly key: string;
  /** Operation and body; the same key with another fingerprint is a mismatch. */
  readonly fingerprint: string;
}

/** What the provider knows of a key once a request under it has run. */
export interface SavedKey extends KeyUse {
  readonly firstArrivedAtMs: number;
  /** `kept`: `answer` is replayed. `burnt`: refused for ever. `freed`: as if never seen. */
  readonly verdict: "kept" | "burnt" | "freed";
  readonly answer: Answer | null;
}

/** A key in the table: executing until it has a verdict. */
export interface KeyRecord extends KeyUse {
  readonly firstArrivedAtMs: number;
  verdict: "executing" | "kept" | "burnt";
  answer: Answer | null;
}

/** What the table says of a request: run it under this record, or answer this. */
export type Admission =
  | { readonly kind: "run"; readonly record: KeyRecord }
  | { readonly kind: "answer"; readonly answer: Answer };

/** The provider's memory of idempotency keys. Knows no clock: the time is always passed in. */
export class KeyTable {
  readonly #records = new Map<string, KeyRecord>();

  /** Decides what becomes of a request that carries a key. */
  admit(use: KeyUse, behaviour: ResolvedBehaviour, nowMs: number): Admission {
    const known = this.#lookUp(use, behaviour.retentionMs, nowMs);
    if (known !== undefined) return { kind: "answer", answer: answerFrom(known, use) };
    const record: KeyRecord = {
      ...use,
      firstArrivedAtMs: nowMs,
      verdict: "executing",
      answer: null,
    };
    // A non-atomic provider leaves the gap on purpose: nobody sees this key before it is saved.
    if (behaviour.atomicKeys) this.#records.set(nameOf(use), record);
    return { kind: "run", record };
  }

  /**
   * Ends an execution: keeps the answer, burns the key or frees it. `saved` overrides what the
   * behaviour would do. Answers the verdict, for a journal; `null` if the table did not take it,
   * because the key was forgotten meanwhile, or never reserved, and another request has it now.
   */
  finish(
    record: KeyRecord,
    answer: Answer,
    behaviour: ResolvedBehaviour,
    saved: boolean | undefined,
  ): SavedKey | null {
    const current = this.#records.get(nameOf(record));
    if (current !== undefined && current !== record) return null;
    const verdict = verdictOf(answer, behaviour, saved);
    const kept = verdict === "kept" ? answer : null;
    if (verdict === "freed") {
      this.#records.delete(nameOf(record));
    } else {
      record.verdict = verdict;
      record.answer = kept;
      this.#records.set(nameOf(record), record);
    }
    const { account, key, fingerprint, firstArrivedAtMs } = record;
    return { account, key, fingerprint, firstArrivedAtMs, verdict, answer: kept };
  }

  /** Takes a verdict back from a journal; the last one of a key wins. */
  restore(saved: SavedKey): void {
    if (saved.verdict === "freed") this.#records.delete(nameOf(saved));
    else this.#records.set(nameOf(saved), { ...saved, verdict: saved.verdict });
  }

  #lookUp(use: KeyUse, retentionMs: number | null, nowMs: number): KeyRecord | undefined {
    const record = this.#records.get(nameOf(use));
    if (record === undefined || record.verdict === "burnt" || retentionMs === null) return record;
    if (nowMs < record.firstArrivedAtMs + retentionMs) return record;
    this.#records.delete(nameOf(use));
    return undefined;
  }
}

function answerFrom(known: KeyRecord, use: KeyUse): Answer {
  if (known.verdict === "burnt") {
    return errorAnswer(409, "key_burnt", "An earlier request with this key failed.");
  }
  if (known.fingerprint !== use.fingerprint) {
    return errorAnswer(400, "idempotency_mismatch", "This key was used with another request.");
  }
  if (known.answer === null) {
    return errorAnswer(409, "key_in_use", "A request with this key is still being executed.");
  }
  const headers = { ...known.answer.headers, [REPLAYED_HEADER]: "true" };
  return { ...known.answer, headers };
}

function verdictOf(
  answer: Answer,
  behaviour: ResolvedBehaviour,
  saved: boolean | undefined,
): SavedKey["verdict"] {
  if (saved !== undefined) return saved ? "kept" : "freed";
  if (isSuccess(answer)) return "kept";
  switch (behaviour.saves) {
    case "all":
      return "kept";
    case "success-only":
      return "freed";
    case "no-declines":
      return answer.status === 402 ? "freed" : "kept";
    case "burns":
      return "burnt";
  }
}

// JSON of the pair, not a joined string: ("a", "b:c") and ("a:b", "c") must stay apart.
function nameOf(use: KeyUse): string {
  return JSON.stringify([use.account, use.key]);
}
