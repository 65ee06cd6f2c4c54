/**
 * How wrong stores are made of the right one.
 */
import { chainStart, lineHash } from "../../src/ledger/journal.ts";
import type { JournalEvent, JournalLine } from "../../src/ledger/journal.ts";
import type { OperationRecord } from "../../src/ledger/record.ts";
import type * as port from "../../src/ledger/store.ts";
import { MemoryStore } from "./memory-store.ts";
import type { ClockUse, QueryName, Row, Write, WriteName } from "./memory-table.ts";

/** Far from the database's clock, and the same whenever the tests run. */
const workersClockMs = 2_500_000_000_000;

/** A worker's clock in place of the database's, for one use. */
export function onWorkersClock(use: ClockUse): typeof MemoryStore {
  return class extends MemoryStore {
    protected override now(asked: ClockUse): number {
      return asked === use ? workersClockMs : super.now(asked);
    }
  };
}

/** A row that is changed on its way into the table. */
export function saving(change: (row: Row, event: JournalEvent) => Row): typeof MemoryStore {
  return class extends MemoryStore {
    protected override save(row: Row, event: JournalEvent, detail: string): OperationRecord {
      return super.save(change(row, event), event, detail);
    }
  };
}

/** A journal line that is changed before it is hashed, or after. */
export function journalling(
  change: (line: JournalLine, all: readonly JournalLine[]) => JournalLine | undefined,
): typeof MemoryStore {
  return class extends MemoryStore {
    protected override save(row: Row, event: JournalEvent, detail: string): OperationRecord {
      const saved = super.save(row, event, detail);
      const { lines } = this.database;
      const line = lines.pop();
      const changed = line === undefined ? undefined : change(line, lines);
      if (changed !== undefined) lines.push(changed);
      return saved;
    }
  };
}

/** The right hash for a changed line. */
export function rehashed(line: JournalLine, all: readonly JournalLine[]): JournalLine {
  const previous = all.findLast(({ tenant, key }) => tenant === line.tenant && key === line.key);
  const start = previous?.hash ?? chainStart(line.tenant, line.key);
  return { ...line, hash: lineHash(start, line) };
}

/** Ids that are compared less exactly. */
export function comparing(normalise: (text: string) => string): typeof MemoryStore {
  return class extends MemoryStore {
    protected override idOf({ tenant, key }: port.OperationId): string {
      return super.idOf({ tenant: normalise(tenant), key: normalise(key) });
    }
  };
}

/** Writes with other conditions or values. */
export function writing(
  name: WriteName,
  change: (write: Write) => Partial<Write>,
): typeof MemoryStore {
  return class extends MemoryStore {
    protected override write(
      asked: WriteName,
      id: port.OperationId,
      write: Write,
    ): Promise<OperationRecord | undefined> {
      return super.write(asked, id, asked === name ? { ...write, ...change(write) } : write);
    }
  };
}

/** A condition more than the port has. */
export function refusing(
  name: WriteName,
  when: (row: Row, nowMs: number) => boolean,
): typeof MemoryStore {
  return writing(name, (write) => ({
    when: (row, nowMs) => ({ ...write.when(row, nowMs), more: !when(row, nowMs) }),
  }));
}

/** Conditions that are asked one millisecond off. */
export function offByOne(name: WriteName, offMs: 1 | -1): typeof MemoryStore {
  return writing(name, (write) => ({ when: (row, nowMs) => write.when(row, nowMs + offMs) }));
}

/** Values more than the port has. */
export function alsoSetting(
  name: WriteName,
  set: (row: Row, nowMs: number) => Partial<Row>,
): typeof MemoryStore {
  return writing(name, (write) => ({
    set: (row, nowMs) => ({ ...write.set(row, nowMs), ...set(row, nowMs) }),
  }));
}

/** What a query found, told otherwise. */
export function selecting(
  name: QueryName,
  change: (rows: OperationRecord[]) => OperationRecord[],
): typeof MemoryStore {
  return class extends MemoryStore {
    protected override select(
      ...[asked, order, limit, conditions]: Parameters<MemoryStore["select"]>
    ): OperationRecord[] {
      if (asked !== name) return super.select(asked, order, limit, conditions);
      return change(super.select(asked, order, 10_000, conditions)).slice(0, limit);
    }
  };
}

/** A query that asks for more than it was asked for. */
export function unlimited(name: QueryName): typeof MemoryStore {
  return class extends MemoryStore {
    protected override select(
      ...[asked, order, limit, conditions]: Parameters<MemoryStore["select"]>
    ): OperationRecord[] {
      return super.select(asked, order, asked === name ? 10_000 : limit, conditions);
    }
  };
}
