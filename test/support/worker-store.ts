/** A worker that talks to a store and to no provider. Started by `startWorker("worker-store.ts")`. */
import Database from "better-sqlite3";
import type { Store } from "../../src/ledger/store.ts";
import { obey } from "./worker-commands.ts";
import { claimParams, completeParams } from "./worker-params.ts";
import { type Place, openPlace } from "./worker-place.ts";

/** Claims to make: each key `copies` times, `together` keys at once, in the order given. */
export interface ClaimOrder {
  readonly keys: readonly string[];
  readonly copies: number;
  readonly together: number;
}

/** What came of them. */
export interface ClaimReport {
  /** Keys whose row was made by one of these claims; a key that is there twice had two winners. */
  readonly created: readonly string[];
  readonly answers: number;
  /** Codes and messages of whatever escaped. */
  readonly failures: readonly string[];
}

let store: Store | undefined;
let lock: Database.Database | undefined;

const commands = {
  open: ({ place, poolSize }: { place: Place; poolSize?: number }): void => {
    store = openPlace(place, poolSize);
  },
  migrate: async (): Promise<readonly string[]> => (await opened().migrate()).applied,
  claim: async ({ keys, copies, together }: ClaimOrder): Promise<ClaimReport> => {
    const created: string[] = [];
    const failures: string[] = [];
    let answers = 0;
    const claimOnce = async (key: string): Promise<void> => {
      const params = claimParams(key);
      try {
        const record = await opened().claim(params);
        answers += 1;
        if (record.acquisitionId === params.acquisitionId) created.push(key);
      } catch (error) {
        failures.push(String(error));
      }
    };
    for (let start = 0; start < keys.length; start += together) {
      const some = keys.slice(start, start + together);
      await Promise.all(
        some.flatMap((key) => Array.from({ length: copies }, () => claimOnce(key))),
      );
    }
    return { created, answers, failures };
  },
  complete: async ({ keys }: { keys: readonly string[] }): Promise<number> => {
    const rows = await Promise.all(keys.map((key) => opened().complete(completeParams(key))));
    return rows.filter((row) => row !== undefined).length;
  },
  /** Takes the write lock of a SQLite file, as any foreign program may. */
  lockFile: ({ location }: { location: string }): void => {
    lock = new Database(location);
    lock.exec("begin immediate");
  },
  unlockFile: (): void => {
    lock?.exec("rollback");
  },
};

/** The commands, for the parent's types. */
export type StoreCommands = typeof commands;

function opened(): Store {
  if (store === undefined) throw new Error("no store is open");
  return store;
}

obey(commands);
