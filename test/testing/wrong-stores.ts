/**
 * Wrong stores, one fault each, as somebody might build them; and those that are made by rule.
 */
import type * as port from "../../src/ledger/store.ts";
import { MemoryStore } from "./memory-store.ts";
import {
  ChainForks,
  ClaimAgainTakesAnotherTurn,
  ClaimInTwoStatements,
  ClaimsMixedUp,
  CompleteMakesRows,
  CompletionsMixedUp,
  IncidentMakesRows,
  JournalAsWritten,
  JournalPagesByKey,
  JournalPagesRepeat,
  JournalUnlimited,
  ListPagesByTime,
  MigrationNotRepeatable,
  MigrationWipes,
  OwnClaimUnknown,
  PurgeDeletes,
  PurgeInTwoStatements,
  PurgeNewestFirst,
  PurgeOneMsEarly,
  PurgeUnlimited,
  PurgeableMiscounted,
  PurgesTwice,
  ReadIgnoresTenant,
  ReadMakesRows,
  RetentionFromTheClaim,
  SchemaMisreported,
  TokenPerConnection,
  TokenPerKey,
  TombstoneIsFree,
  claiming,
  overwriting,
} from "./wrong-kinds.ts";
import {
  alsoSetting,
  comparing,
  journalling,
  offByOne,
  onWorkersClock,
  refusing,
  rehashed,
  saving,
  selecting,
  unlimited,
  writing,
} from "./wrong-makers.ts";
import { type WrongStore, wrongParts } from "./wrong-parts.ts";

/** How a text may be spoilt on its way. */
const spoiling: Readonly<Record<string, (text: string) => string>> = {
  trimmed: (text) => text.trim(),
  normalised: (text) => text.normalize("NFC"),
  "limited to the basic plane": (text) => text.replaceAll(/[\u{10000}-\u{10ffff}]/gu, "?"),
  "cut off at 64 KiB": (text) => text.slice(0, 65_536),
  "freed of line ends": (text) => text.replaceAll(/\r\n/g, "\n"),
};

const texts = ["fingerprint", "result", "arguments", "providerId", "operation", "wireKey"] as const;

function spoiled(spoil: (text: string) => string): typeof MemoryStore {
  return saving((row) => {
    const changed = { ...row };
    const values = texts.map((name) => [name, row[name]] as const);
    const text = values.map(([name, value]) => [name, value === null ? null : spoil(value)]);
    return Object.assign(changed, Object.fromEntries(text));
  });
}

const isFalsy = (result: string | null): boolean => result !== null && !JSON.parse(result);

const byHand: Readonly<Record<string, typeof MemoryStore>> = {
  "claim looks and writes in two statements": ClaimInTwoStatements,
  "claim does not recognise its own": OwnClaimUnknown,
  "claim made again is another": ClaimAgainTakesAnotherTurn,
  "claims of a batch get each other's rows": ClaimsMixedUp,
  "completions of a batch get each other's rows": CompletionsMixedUp,
  "a duplicate claim overwrites the payload": overwriting(({ fingerprint }) => ({ fingerprint })),
  "a duplicate claim prolongs the lease": overwriting(({ leaseMs }) => ({
    leaseUntilMs: 1_780_000_000_000 + leaseMs,
  })),
  "a duplicate claim leaves no line": journalling((line) =>
    line.event === "operation.repeated" ? undefined : line,
  ),
  "claim always arms": claiming(() => ({ arm: true })),
  "claim never arms": claiming(() => ({ arm: false })),
  "tokens are counted per connection": TokenPerConnection,
  "tokens are counted per key": TokenPerKey,
  "letter case is ignored": comparing((text) => text.toLowerCase()),
  "accents are folded": comparing((text) => text.normalize("NFC")),
  "outer space is ignored": comparing((text) => text.trim()),
  "tenants share their keys": class extends MemoryStore {
    protected override idOf({ key }: port.OperationId): string {
      return super.idOf({ tenant: "", key });
    }
  },
  "read ignores the tenant": ReadIgnoresTenant,
  "read answers with any row": ReadMakesRows,
  "complete makes the row that it does not find": CompleteMakesRows,
  "recordIncident makes the row that it does not find": IncidentMakesRows,
  "claims go by the worker's clock": onWorkersClock("claim"),
  "conditions go by the worker's clock": onWorkersClock("check"),
  "writes go by the worker's clock": onWorkersClock("write"),
  "the journal goes by the worker's clock": onWorkersClock("journal"),
  "the time of reading is the worker's": onWorkersClock("read"),
  "take-over one millisecond early": offByOne("takeOver", 1),
  "take-over one millisecond late": offByOne("takeOver", -1),
  "the window closes one millisecond late": offByOne("arm", -1),
  "the window closes one millisecond early": offByOne("arm", 1),
  "a no is taken one millisecond early": offByOne("resolve", 1),
  "take-over refuses what was never armed": refusing("takeOver", (row) => row.attempts === 0),
  "take-over forgets the attempts": alsoSetting("takeOver", () => ({ attempts: 0 })),
  "take-over keeps the lower token": alsoSetting("takeOver", (row) => ({ token: row.token - 1 })),
  "arm shortens the quiet time": alsoSetting("arm", (_, nowMs) => ({ quietUntilMs: nowMs + 1 })),
  "arm refuses the first send without a window": refusing(
    "arm",
    (row, nowMs) => row.firstArmedAtMs === null && nowMs > row.createdAtMs,
  ),
  "a new generation keeps the old window": alsoSetting("arm", (row, nowMs) => ({
    firstArmedAtMs: row.firstArmedAtMs ?? nowMs,
  })),
  "success is refused by its token": refusing("complete", (row) => row.sweeps > 0),
  "success is refused in review": refusing("complete", (row) => row.status === "NEEDS_REVIEW"),
  "success is refused in doubt": refusing("complete", (row) => row.status === "UNKNOWN"),
  "success is refused where an incident was flagged": refusing(
    "complete",
    (row) => row.incident !== null,
  ),
  "an incident opens a review": alsoSetting("recordIncident", () => ({ status: "NEEDS_REVIEW" })),
  "markUnknown takes the attempt back": alsoSetting("markUnknown", () => ({ attempts: 0 })),
  "markUnknown always tells of unknown": writing("markUnknown", () => ({
    event: "operation.unknown",
  })),
  "complete always tells of completed": writing("complete", () => ({
    event: "operation.completed",
  })),
  "fail takes the replayed decline for nothing": refusing(
    "fail",
    (row) => row.attemptsInGeneration > 1,
  ),
  "release needs a single attempt": refusing("release", (row) => row.attempts > 1),
  "release frees what was sent before": alsoSetting("release", () => ({ status: "IN_PROGRESS" })),
  "a review overwrites the stored result": writing("resolve", (write) => ({
    set: (row, nowMs) => ({
      ...write.set({ ...row, status: "NEEDS_REVIEW", providerId: null }, nowMs),
      ...(row.status === "DONE" ? { result: "{}" } : {}),
    }),
  })),
  "look again forgets the attempt": alsoSetting("resolve", (row) =>
    row.status === "NEEDS_REVIEW" ? { attemptsInGeneration: 0 } : {},
  ),
  "a changed mind is refused when it is said twice": refusing(
    "recordIntent",
    (row) => row.supersededBy !== null,
  ),
  "a falsy result is lost": saving((row) => (isFalsy(row.result) ? { ...row, result: null } : row)),
  "undefined becomes null": saving((row) =>
    row.resultKind === "undefined" ? { ...row, resultKind: "json", result: "null" } : row,
  ),
  ...Object.fromEntries(
    Object.entries(spoiling).map(([how, spoil]) => [`texts are ${how}`, spoiled(spoil)]),
  ),
  "there is no journal": journalling(() => undefined),
  "lines lose their detail": journalling((line, all) => rehashed({ ...line, detail: "{}" }, all)),
  "lines are not chained": journalling((line) => rehashed(line, [])),
  "the first two lines are not chained": journalling((line) =>
    line.seq === 2 ? rehashed(line, []) : line,
  ),
  "lines tell the token before": journalling((line, all) =>
    rehashed({ ...line, token: all.at(-1)?.token ?? line.token }, all),
  ),
  "lines tell the status before": journalling((line, all) =>
    rehashed({ ...line, status: all.at(-1)?.status ?? line.status }, all),
  ),
  "lines tell the attempts before": journalling((line, all) =>
    rehashed({ ...line, attempts: all.at(-1)?.attempts ?? line.attempts }, all),
  ),
  "the chain forks under two writers": ChainForks,
  "journal pages repeat a line": JournalPagesRepeat,
  "journal pages skip the rest of a key": JournalPagesByKey,
  "journal pages have no limit": JournalUnlimited,
  "the journal is read as it was written": JournalAsWritten,
  "purge deletes the row": PurgeDeletes,
  "purge deletes the row and puts a tombstone there later": PurgeInTwoStatements,
  "purge counts what another purge did": PurgesTwice,
  "purge knows no limit": PurgeUnlimited,
  "purge begins with the newest": PurgeNewestFirst,
  "purge is one millisecond early": PurgeOneMsEarly,
  "the retention counts from the claim": RetentionFromTheClaim,
  "countPurgeable counts nothing": PurgeableMiscounted,
  "a tombstone is a free key": TombstoneIsFree,
  "list begins with the oldest": selecting("list", (rows) => rows.toReversed()),
  "list knows no limit": unlimited("list"),
  "list pages by time alone": ListPagesByTime,
  "findDue begins with the last": selecting("findDue", (rows) => rows.toReversed()),
  "findDue knows no limit": unlimited("findDue"),
  "findLookAlikes begins with the oldest": selecting("findLookAlikes", (rows) => rows.toReversed()),
  "migrate applies everything again": MigrationNotRepeatable,
  "migrate wipes the rows": MigrationWipes,
  "inspect tells an older schema": SchemaMisreported,
};

/** Every wrong store. */
export const wrongStores: readonly WrongStore[] = [
  ...Object.entries(byHand).map(([fault, Kind]) => ({ fault, Kind })),
  ...wrongParts,
];
