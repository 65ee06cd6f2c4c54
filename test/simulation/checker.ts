/**
 * The invariants S1–S9 of the protocol for one tenant's operation, judged by the provider's ledger,
 * by what callers were told, and by what each write did to the row.
 */
import {
  type ErrorCode,
  type Outcome,
  type Store,
  deriveKey,
  findChainFault,
} from "../../src/index.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { isTerminal } from "../../src/ledger/status.ts";
import type { LedgerRow, ProviderRules } from "../../src/testing/fake-provider/index.ts";

/** What a caller may be told when all faults have stopped (L1). */
const finalAnswers = new Set(["DONE", "OPERATION_FAILED", "NEEDS_REVIEW", "PAYLOAD_MISMATCH"]);

export function isFinal(answer: string): boolean {
  return finalAnswers.has(answer);
}

export class Checker {
  readonly violations: string[] = [];
  /** What callers were told, in order: `DONE` or an error's code. */
  readonly answers: string[] = [];
  readonly tenant: string;
  readonly key: string;
  readonly #store: Store;
  readonly #rules: ProviderRules;
  readonly #values = new Set<string>();
  #row: OperationRecord | undefined;
  #toldRecorded = false;

  constructor(store: Store, tenant: string, rules: ProviderRules) {
    this.#store = store;
    this.tenant = tenant;
    const identity = {
      operation: "issue_refund",
      scope: "business",
      intent: "refund:8812",
    } as const;
    this.key = deriveKey({ v: 1, tenant, ...identity }).key;
    this.#rules = rules;
  }

  /** The row as last observed. */
  get row(): OperationRecord | undefined {
    return this.#row;
  }

  /** The row, when a person is asked about it. */
  get inReview(): OperationRecord | undefined {
    const row = this.#row;
    if (row === undefined || row.status === "DONE") return undefined;
    return row.status === "NEEDS_REVIEW" || row.incident !== null ? row : undefined;
  }

  /** This intent's effects. */
  effects(): readonly LedgerRow[] {
    return this.#rules.ledger().filter(({ tag }) => tag === this.key);
  }

  violate(text: string): void {
    this.violations.push(text);
  }

  read(): Promise<OperationRecord | undefined> {
    return this.#store.read({ tenant: this.tenant, key: this.key });
  }

  /** After every step. */
  async observe(): Promise<void> {
    const effects = this.effects().length;
    if (effects > 1) this.violate(`S1: ${effects} effects of one intent`);
    const before = this.#row;
    const row = await this.read();
    this.#row = row;
    if (row !== undefined) this.#checkFailed(row, effects);
    if (before === undefined) return;
    if (row === undefined) return this.violate("S5: the row vanished");
    const changed = row.status !== before.status || row.result !== before.result;
    if (isTerminal(before.status) && changed)
      this.violate(`S5: ${before.status} became ${row.status}`);
    if (row.token < before.token) this.violate("S5: the token fell");
  }

  #checkFailed(row: OperationRecord, effects: number): void {
    const told = this.answers.includes("OPERATION_FAILED");
    const failed = row.status === "FAILED" && row.incident === null;
    if ((told || failed) && effects > 0) this.violate("S2: FAILED, and there is an effect");
  }

  async toldDone(outcome: Outcome<unknown>, amountMinor: number): Promise<void> {
    this.answers.push("DONE");
    const value = outcome.value as { id?: string; amountMinor?: number } | undefined;
    const real = this.effects().some((effect) => effect.effectId === value?.id);
    if (!real) this.violate(`S3: told ${JSON.stringify(value)}, which is in no ledger`);
    if (value?.amountMinor !== amountMinor) this.violate("S3: told the result of another payload");
    this.#values.add(JSON.stringify(value, Object.keys(value ?? {}).toSorted()));
    if (this.#values.size > 1)
      this.violate(`S4: different results told: ${[...this.#values].join(" / ")}`);
    if (!outcome.recorded) return;
    this.#toldRecorded = true;
    const row = await this.read();
    if (row?.status !== "DONE") this.violate(`S6: told DONE while the row says ${row?.status}`);
  }

  async toldError(code: ErrorCode, sent: number): Promise<void> {
    this.answers.push(code);
    if (code === "NOT_SENT" && sent > 0) this.violate("S7: told NOT_SENT, but it was sent");
    if (["UNSUPPORTED_ARGUMENT", "ARGUMENTS_INVALID", "INTENT_INVALID"].includes(code))
      this.violate(code);
    if (code !== "OPERATION_FAILED") return;
    const row = await this.read();
    if (row?.status !== "FAILED") this.violate(`S2: told FAILED, the row says ${row?.status}`);
  }

  /** At the end of a run. */
  async finish(end: string): Promise<void> {
    if (this.violations.length > 0) return;
    await this.observe();
    const row = this.#row;
    if (this.#toldRecorded && row?.status !== "DONE")
      this.violate(`S6: a caller was told DONE, the row says ${row?.status}`);
    if (end === "DONE" && row?.status !== "DONE")
      this.violate(`R15: told DONE without faults, and the row says ${row?.status}`);
    if (!isFinal(end)) this.violate(`L1: without faults a caller is still told ${end}`);
    if (row !== undefined) await this.#checkJournal(row);
    this.#checkRequests();
  }

  async #checkJournal(row: OperationRecord): Promise<void> {
    const { tenant, key } = row;
    const lines = await this.#store.readJournal({ tenant, key, after: null, limit: 10_000 });
    const fault = findChainFault(lines);
    if (fault !== undefined) this.violate(`journal: line ${fault.seq}: ${fault.reason}`);
    if (lines.length !== row.journalSeq) this.violate("journal: a line is missing at the end");
    const armed = lines.filter(({ event }) => /^operation\.(armed|resent)$/.test(event)).length;
    const arrived = this.#arrivals().length;
    if (arrived > armed) this.violate(`S7: ${arrived} requests arrived, ${armed} were armed`);
    if (row.status === "NEEDS_REVIEW" && row.attempts === 0)
      this.violate("L2: a person is asked, and nothing was sent");
  }

  #arrivals(): readonly { key: string | null; bodyText: string }[] {
    return this.#rules.arrivals().filter(({ tag }) => tag === this.key);
  }

  #checkRequests(): void {
    const bodies = new Map<string | null, string>();
    for (const { key, bodyText } of this.#arrivals()) {
      if ((bodies.get(key) ?? bodyText) !== bodyText)
        this.violate("S8: two bodies under one wire key");
      bodies.set(key, bodyText);
    }
    const others = this.#rules.arrivals().filter(({ tag }) => tag !== this.key);
    if (others.some(({ key }) => key !== null && bodies.has(key)))
      this.violate("S9: one wire key for two tenants");
  }
}
