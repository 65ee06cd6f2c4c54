/**
 * Wrong stores made by rule: for each write a condition left out, a value not written, the version
 * not raised, the look and the write in two turns, the tenant ignored.
 */
import type { ClaimParams, OperationId } from "../../src/ledger/store.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import { MemoryStore } from "./memory-store.ts";
import type { Conditions, QueryName, Row, Write, WriteName } from "./memory-table.ts";

/** A store with one fault. */
export interface WrongStore {
  readonly fault: string;
  readonly Kind: typeof MemoryStore;
}

/** Every condition of the store in memory. */
export const conditionNames = {
  takeOver: ["token", "open", "leaseOver"],
  arm: ["token", "inProgress", "attempts", "window", "windowDeclared", "lookedUp", "quiet"],
  // Not its status: the lease of what isn't in progress is over, so leaving it out shows nowhere.
  renew: ["token", "leaseAlive"],
  release: ["token", "inProgress", "attempts", "armed"],
  complete: ["notDone", "notFailed"],
  fail: ["token", "inProgress", "onlyAttempt", "quiet"],
  markUnknown: ["token", "inProgress"],
  escalate: ["token", "inProgress"],
  resolve: ["version", "asked", "doneStays", "failedIsFinal", "final", "quiet"],
  recordIntent: ["settled", "undisputed", "free"],
  findLookAlikes: ["tenant", "operation", "mark", "other", "window", "notFailed"],
  list: ["tenant", "status", "operation", "review", "page"],
  findDue: ["open", "sent", "due", "undisputed", "tool"],
  purge: ["settled", "notPurged", "undisputed", "old"],
  readJournal: ["tenant", "key", "page"],
} as const satisfies Partial<Record<WriteName | QueryName, readonly string[]>>;

/**
 * Every value that a write of the store in memory sets, but the wire key that `resolve` repairs: a
 * row without one can't be had through the port.
 */
export const fieldNames = {
  takeOver: ["token", "acquisitionId", "status", "leaseUntilMs", "dueAtMs", "sweeps"],
  arm: [
    "attempts",
    "generation",
    "attemptsInGeneration",
    "firstArmedAtMs",
    "lastArmedAtMs",
    "quietUntilMs",
    "wireKey",
    "leaseUntilMs",
    "dueAtMs",
  ],
  renew: ["leaseUntilMs", "dueAtMs"],
  release: [
    "attempts",
    "attemptsInGeneration",
    "firstArmedAtMs",
    "status",
    "leaseUntilMs",
    "dueAtMs",
    "error",
  ],
  complete: [
    "status",
    "resultKind",
    "result",
    "providerId",
    "reviewReason",
    "error",
    "leaseUntilMs",
    "settledAtMs",
  ],
  fail: ["status", "error", "leaseUntilMs", "settledAtMs"],
  markUnknown: ["status", "error", "leaseUntilMs", "dueAtMs"],
  escalate: ["status", "reviewReason", "leaseUntilMs"],
  resolve: [
    "status",
    "resultKind",
    "result",
    "providerId",
    "error",
    "generation",
    "attemptsInGeneration",
    "firstArmedAtMs",
    "arguments",
    "reviewReason",
    "incident",
    "settledAtMs",
    "dueAtMs",
    "sweeps",
  ],
  recordIncident: ["incident"],
  recordIntent: ["supersededBy"],
  purge: ["arguments", "resultKind", "result", "error", "lookAlike", "purgedAtMs"],
} as const satisfies Record<WriteName, readonly (keyof Row)[]>;

const claimedFields = [
  "keyAlgorithm",
  "operation",
  "tool",
  "intent",
  "fingerprint",
  "arguments",
  "acquisitionId",
  "wireKey",
  "retentionMs",
  "supersedes",
  "lookAlike",
] as const satisfies readonly (keyof ClaimParams & keyof Row)[];

const writeNames = Object.keys(fieldNames) as WriteName[];

function withoutCondition(name: string, condition: string): typeof MemoryStore {
  return class extends MemoryStore {
    protected override holds(asked: WriteName | QueryName, conditions: Conditions): boolean {
      return super.holds(asked, asked === name ? { ...conditions, [condition]: true } : conditions);
    }
  };
}

function withoutField(name: string, field: string): typeof MemoryStore {
  return class extends MemoryStore {
    protected override apply(asked: WriteName, row: Row, write: Write): OperationRecord {
      const set: Write["set"] = (before, nowMs) =>
        Object.fromEntries(
          Object.entries(write.set(before, nowMs)).filter(([written]) => written !== field),
        );
      return super.apply(asked, row, asked === name ? { ...write, set } : write);
    }
  };
}

function withoutVersion(name: WriteName): typeof MemoryStore {
  return class extends MemoryStore {
    protected override apply(asked: WriteName, row: Row, write: Write): OperationRecord {
      const before = asked === name ? { ...row, version: row.version - 1 } : row;
      return super.apply(asked, before, write);
    }
  };
}

function withoutLine(name: WriteName): typeof MemoryStore {
  return class extends MemoryStore {
    protected override apply(asked: WriteName, row: Row, write: Write): OperationRecord {
      const applied = super.apply(asked, row, write);
      if (asked === name) this.database.lines.pop();
      return applied;
    }
  };
}

function inTwoTurns(name: WriteName): typeof MemoryStore {
  return class extends MemoryStore {
    protected override async write(
      asked: WriteName,
      id: OperationId,
      write: Write,
    ): Promise<OperationRecord | undefined> {
      if (asked !== name) return super.write(asked, id, write);
      const row = this.find(id);
      if (row === undefined || !this.holds(asked, write.when(row, this.now("check"))))
        return undefined;
      await this.turn();
      return this.apply(asked, this.find(id) ?? row, write);
    }
  };
}

function forAnyTenant(name: WriteName): typeof MemoryStore {
  return class extends MemoryStore {
    protected override write(
      asked: WriteName,
      id: OperationId,
      write: Write,
    ): Promise<OperationRecord | undefined> {
      const ofKey = [...this.database.rows.values()].find((row) => row.key === id.key);
      return super.write(asked, asked === name ? (ofKey ?? id) : id, write);
    }
  };
}

function withoutClaimed(field: (typeof claimedFields)[number]): typeof MemoryStore {
  return class extends MemoryStore {
    protected override newRow(params: ClaimParams): Row {
      return { ...super.newRow(params), [field]: field === "retentionMs" ? 0 : "" };
    }
  };
}

const onRows = writeNames.filter((name) => name !== "purge");
/** Writes that two callers may make of one row, where only one may win. */
const contested = ["takeOver", "complete", "fail", "resolve", "recordIntent"] as const;

/** One store for each part left out. */
export const wrongParts: readonly WrongStore[] = [
  ...Object.entries(conditionNames).flatMap(([name, conditions]) =>
    conditions.map((condition) => ({
      fault: `${name} doesn't check ${condition}`,
      Kind: withoutCondition(name, condition),
    })),
  ),
  ...Object.entries(fieldNames).flatMap(([name, fields]) =>
    fields.map((field) => ({
      fault: `${name} doesn't write ${field}`,
      Kind: withoutField(name, field),
    })),
  ),
  ...claimedFields.map((field) => ({
    fault: `claim doesn't write ${field}`,
    Kind: withoutClaimed(field),
  })),
  ...writeNames.map((name) => ({
    fault: `${name} doesn't raise the version`,
    Kind: withoutVersion(name),
  })),
  ...writeNames.map((name) => ({
    fault: `${name} writes no journal line`,
    Kind: withoutLine(name),
  })),
  ...contested.map((name) => ({
    fault: `${name} looks and writes in two statements`,
    Kind: inTwoTurns(name),
  })),
  ...onRows.map((name) => ({
    fault: `${name} ignores the tenant`,
    Kind: forAnyTenant(name),
  })),
];
