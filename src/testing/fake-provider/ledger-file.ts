import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from "node:fs";

import type { SavedKey } from "./key-table.ts";
import type { ProviderJournal } from "./provider-rules.ts";
import type { LedgerRow } from "./records.ts";

/** A ledger on disk: what it held when it was opened, and where to write on. */
export interface LedgerFile {
  readonly ledger: readonly LedgerRow[];
  readonly savedKeys: readonly SavedKey[];
  /** Appends one JSON line per effect and per verdict; on disk (fsync) when the call returns. */
  readonly journal: ProviderJournal;
  /** Empties both files. */
  clear(): void;
  close(): void;
}

/**
 * Opens or creates `path`, one ledger row per line, and beside it `path.keys`, one verdict on a key
 * per line. A line that a crash cut short at the end of a file is dropped: nobody was told of it.
 */
export function openLedgerFile(path: string): LedgerFile {
  const effects = openLines<LedgerRow>(path);
  const keys = openLines<SavedKey>(`${path}.keys`);
  return {
    ledger: effects.lines,
    savedKeys: keys.lines,
    journal: { effect: (row) => effects.append(row), key: (saved) => keys.append(saved) },
    clear: () => {
      effects.clear();
      keys.clear();
    },
    close: () => {
      effects.close();
      keys.close();
    },
  };
}

interface LineFile<Line> {
  readonly lines: readonly Line[];
  append(line: Line): void;
  clear(): void;
  close(): void;
}

function openLines<Line>(path: string): LineFile<Line> {
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  const whole = bytes.subarray(0, bytes.lastIndexOf("\n") + 1);
  const file = openSync(path, "a");
  if (whole.length < bytes.length) ftruncateSync(file, whole.length);
  const texts = whole.toString("utf8").split("\n").slice(0, -1);
  return {
    lines: texts.map((text) => JSON.parse(text) as Line),
    append: (line) => {
      writeSync(file, `${JSON.stringify(line)}\n`);
      fsyncSync(file);
    },
    clear: () => ftruncateSync(file, 0),
    close: () => closeSync(file),
  };
}
