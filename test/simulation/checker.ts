/**
 * The invariants S1–S8 of the protocol, judged by the provider's ledger and by what callers were told.
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
import type { ProviderRules } from "../../src/testing/fake-provider/index.ts";

export class Checker {
  readonly violations: string[] = [];
  /** What callers were told, in order: `DONE` or an error's code. */
  readonly answers: string[] = [];
  readonly #store: Store;
  readonly #tenant: string;
  readonly #key: string;
  readonly #rules: ProviderRules;
  readonly #values = new Set<string>();
  #row: OperationRecord | undefined;
  #toldRecorded = false;

  constructor(store: Store, tenant: string, rules: ProviderRules) {
    this.#store = store;
    this.#tenant = tenant;
    const identity = {
      operation: "issue_refund",
      scope: "business",
      intent: "refund:8812",
    } as const;
    this.#key = deriveKey({ v: 1, tenant, ...identity }).key;
    this.#rules = rules;
  }

  get inReview(): OperationRecord | undefined {
    return this.#row?.status === "NEEDS_REVIEW" ? this.#row : undefined;
  }

  violate(text: string): void {
    this.violations.push(text);
  }

  /** After every step. */
  async observe(): Promise<void> {
    const effects = this.#rules.ledger().length;
    if (effects > 1) this.violate(`S1: ${effects} effects of one intent`);
    const before = this.#row;
    const row = await this.#store.read({ tenant: this.#tenant, key: this.#key });
    this.#row = row;
    if (before === undefined) return;
    if (row === undefined) return this.violate("S5: the row vanished");
    if (
      isTerminal(before.status) &&
      (row.status !== before.status || row.result !== before.result)
    ) {
      this.violate(`S5: ${before.status} became ${row.status}`);
    }
    if (row.token < before.token) this.violate("S5: the token fell");
    const told =
      this.answers.includes("OPERATION_FAILED") ||
      (row.status === "FAILED" && row.incident === null);
    if (told && effects > 0) this.violate("S2: FAILED, and there is an effect");
  }

  toldDone(outcome: Outcome<unknown>, amountMinor: number): void {
    this.answers.push("DONE");
    const value = outcome.value as { id?: string; amountMinor?: number } | undefined;
    const real = this.#rules.ledger().some((effect) => effect.effectId === value?.id);
    if (!real) this.violate(`S3: told ${JSON.stringify(value)}, which is in no ledger`);
    if (value?.amountMinor !== amountMinor) this.violate("S3: told the result of another payload");
    this.#values.add(JSON.stringify(value, Object.keys(value ?? {}).toSorted()));
    if (this.#values.size > 1)
      this.violate(`S4: different results told: ${[...this.#values].join(" / ")}`);
    if (outcome.recorded) this.#toldRecorded = true;
  }

  toldError(code: ErrorCode, sent: number): void {
    this.answers.push(code);
    if (code === "NOT_SENT" && sent > 0) this.violate("S7: told NOT_SENT, but it was sent");
    if (["UNSUPPORTED_ARGUMENT", "ARGUMENTS_INVALID", "INTENT_INVALID"].includes(code))
      this.violate(code);
  }

  /** At the end of a run. */
  async finish(end: string): Promise<void> {
    if (this.violations.length > 0) return;
    await this.observe();
    const row = this.#row;
    if (this.#toldRecorded && row?.status !== "DONE")
      this.violate(`S6: a caller was told DONE, the row says ${row?.status}`);
    if (!["DONE", "OPERATION_FAILED", "NEEDS_REVIEW", "PAYLOAD_MISMATCH"].includes(end)) {
      this.violate(`L1: without faults a caller is still told ${end}`);
    }
    if (end === "OPERATION_FAILED" && this.#rules.ledger().length > 0)
      this.violate("S2: FAILED at the end, with an effect");
    if (row !== undefined) await this.#checkJournal(row);
    this.#checkRequests();
  }

  async #checkJournal(row: OperationRecord): Promise<void> {
    const { tenant, key } = row;
    const lines = await this.#store.readJournal({ tenant, key, after: null, limit: 10_000 });
    const fault = findChainFault(lines);
    if (fault !== undefined) this.violate(`journal: line ${fault.seq}: ${fault.reason}`);
    if (lines.length !== row.journalSeq) this.violate("journal: a line is missing at the end");
    const armed = lines.filter(
      ({ event }) => event === "operation.armed" || event === "operation.resent",
    ).length;
    const arrived = this.#rules.arrivals().length;
    if (arrived > armed) this.violate(`S7: ${arrived} requests arrived, ${armed} were armed`);
    if (row.status === "NEEDS_REVIEW" && row.attempts === 0)
      this.violate("L2: a person is asked, and nothing was sent");
  }

  #checkRequests(): void {
    const bodies = new Map<string | null, string>();
    for (const { key, bodyText } of this.#rules.arrivals()) {
      if ((bodies.get(key) ?? bodyText) !== bodyText)
        this.violate("S8: two bodies under one wire key");
      bodies.set(key, bodyText);
    }
  }
}
