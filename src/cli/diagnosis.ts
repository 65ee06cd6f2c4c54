/**
 * What is wrong with a store, or will be: settings, doubts that nobody settles, decisions that wait.
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import { checkSchema } from "../guard/start-up.ts";
import type { OperationRecord } from "../ledger/record.ts";
import type { Store, StoreInspection } from "../ledger/store.ts";
import { type Filter, eachPage, noFilter } from "./paging.ts";
import { counted } from "./text.ts";
import { roughSpan } from "./times.ts";

/** `act`: something must be done. `note`: good to know. */
type Severity = "ok" | "note" | "act";

/** One thing found, as a sentence. */
export interface Finding {
  readonly severity: Severity;
  /** A word for machines. */
  readonly about: string;
  readonly message: string;
}

/** How many operations are in some state, and since when. */
interface Backlog {
  readonly count: number;
  /** False: there are more, and counting stopped. */
  readonly exact: boolean;
  /** Of the oldest one; null when there is none. */
  readonly oldestAgeMs: number | null;
}

/** The whole picture. */
export interface Diagnosis {
  readonly inspection: StoreInspection;
  /** Null where the schema doesn't fit, so that nothing can be counted. */
  readonly backlogs: {
    readonly unknown: Backlog;
    readonly expiredLeases: Backlog;
    readonly needsReview: Backlog;
  } | null;
  readonly purgeable: number | null;
  readonly findings: readonly Finding[];
  /** The schema's error, if it has one. */
  readonly schemaError: NeverTwiceError | null;
}

/** Counting stops here. */
const maxCounted = 100_000;
const rowsPerPage = 1000;

/**
 * Looks at everything.
 *
 * @param staleAfterMs A doubt that is older should have been settled by a sweeper.
 */
export async function diagnose(store: Store, staleAfterMs: number): Promise<Diagnosis> {
  const inspection = await store.inspect();
  const settings = settingFindings(inspection);
  const schemaError = schemaErrorOf(inspection);
  if (schemaError !== null) {
    const finding = { severity: "act", about: "schema", message: schemaError.message } as const;
    const findings = [finding, ...settings];
    return { inspection, backlogs: null, purgeable: null, findings, schemaError };
  }
  const backlogs = {
    unknown: await count(store, { status: "UNKNOWN" }, doubtfulSince),
    expiredLeases: await count(store, { status: "IN_PROGRESS" }, expiredSince),
    needsReview: await count(store, { review: true }, ({ createdAtMs }) => createdAtMs),
  };
  const purgeable = await store.countPurgeable();
  const schema = `the schema is up to date (${inspection.schemaVersion})`;
  const findings: Finding[] = [
    { severity: "ok", about: "schema", message: schema },
    ...settings,
    doubtFinding("unknown", "outcome", "UNKNOWN", backlogs.unknown, staleAfterMs),
    doubtFinding("expired-leases", "lease", "expired", backlogs.expiredLeases, staleAfterMs),
    reviewFinding(backlogs.needsReview),
    purgeFinding(purgeable),
  ];
  return { inspection, backlogs, purgeable, findings, schemaError };
}

function schemaErrorOf(inspection: StoreInspection): NeverTwiceError | null {
  try {
    checkSchema(inspection);
    return null;
  } catch (error) {
    if (error instanceof NeverTwiceError) return error;
    throw error;
  }
}

function settingFindings({ unsafe, warnings }: StoreInspection): Finding[] {
  const durable = "an acknowledged write is on disk";
  return [
    ...(unsafe.length === 0
      ? [{ severity: "ok", about: "durability", message: durable } as const]
      : unsafe.map((setting) => ({
          severity: "act" as const,
          about: "durability",
          message: `with ${setting} a claim can be lost, and its effect doubled: change the setting`,
        }))),
    ...warnings.map((message) => ({ severity: "note" as const, about: "settings", message })),
  ];
}

/** A doubt can't be settled before all is quiet, so its age begins there. */
function doubtfulSince(record: OperationRecord): number {
  return Math.max(record.quietUntilMs, record.lastArmedAtMs ?? record.createdAtMs);
}

function expiredSince(record: OperationRecord): number | null {
  const expired = record.attempts > 0 && record.leaseUntilMs <= record.readAtMs;
  return expired ? doubtfulSince(record) : null;
}

async function count(
  store: Store,
  filter: Partial<Filter>,
  since: (record: OperationRecord) => number | null,
): Promise<Backlog> {
  let found = 0;
  let read = 0;
  let oldestAgeMs: number | null = null;
  for await (const page of eachPage(store, { ...noFilter, ...filter }, rowsPerPage)) {
    for (const record of page) {
      const sinceMs = since(record);
      if (sinceMs === null) continue;
      found += 1;
      oldestAgeMs = Math.max(oldestAgeMs ?? 0, record.readAtMs - sinceMs);
    }
    read += page.length;
    if (read >= maxCounted) return { count: found, exact: false, oldestAgeMs };
  }
  return { count: found, exact: true, oldestAgeMs };
}

function doubtFinding(
  about: string,
  noun: string,
  word: string,
  backlog: Backlog,
  staleAfterMs: number,
): Finding {
  const { oldestAgeMs } = backlog;
  if (oldestAgeMs === null) {
    return { severity: "ok", about, message: `no ${noun} is ${word}` };
  }
  const many = `${amount(backlog, "operation")} with ${backlog.count === 1 ? `its ${noun}` : `their ${noun}s`} ${word}`;
  if (oldestAgeMs <= staleAfterMs) {
    const message = `${many}, the oldest for ${roughSpan(oldestAgeMs)}: a call or a sweep settles that`;
    return { severity: "note", about, message };
  }
  const message = `${many}, the oldest for ${roughSpan(oldestAgeMs)}: does a sweeper run, and can the provider be asked?`;
  return { severity: "act", about, message };
}

function reviewFinding(backlog: Backlog): Finding {
  const about = "needs-review";
  if (backlog.oldestAgeMs === null) {
    return { severity: "ok", about, message: "nothing waits for a person" };
  }
  const verb = backlog.count === 1 ? "waits" : "wait";
  const message = `${amount(backlog, "operation")} ${verb} for a person, the oldest for ${roughSpan(backlog.oldestAgeMs)}: nevertwice review list`;
  return { severity: "act", about, message };
}

function purgeFinding(purgeable: number): Finding {
  const about = "retention";
  if (purgeable === 0) return { severity: "ok", about, message: "nothing is past its retention" };
  const verb = purgeable === 1 ? "is past its" : "are past their";
  const message = `${counted(purgeable, "operation")} ${verb} retention: nevertwice purge`;
  return { severity: "note", about, message };
}

function amount({ count: found, exact }: Backlog, noun: string): string {
  return `${exact ? "" : "more than "}${counted(found, noun)}`;
}
