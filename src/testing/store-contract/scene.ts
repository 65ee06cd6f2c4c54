/**
 * Where a case plays: a store on a fresh database, and assertions whose messages name the case.
 *
 * @module
 */
import { AssertionError } from "node:assert";
import { inspect, isDeepStrictEqual } from "node:util";
import type { JournalLine } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import type { OperationId, Store } from "../../ledger/store.ts";
import type { StoreKit } from "./kit.ts";
import { toolName, wholeList } from "./params.ts";

type Attempt = () => Promise<OperationRecord | undefined>;

/** A case's database, and what it may say about it. */
export class Scene {
  /** The first connection. */
  readonly store: Store;
  readonly #title: string;
  readonly #kit: StoreKit;

  private constructor(title: string, kit: StoreKit, store: Store) {
    this.#title = title;
    this.#kit = kit;
    this.store = store;
  }

  /** Opens the first connection and makes sure that nobody else's operations are in the way. */
  static async open(title: string, kit: StoreKit): Promise<Scene> {
    const scene = new Scene(title, kit, await kit.open());
    const found = await scene.store.list(wholeList);
    scene.is("operations in the kit's database, which must be fresh", found.length, 0);
    return scene;
  }

  /** Another connection to the same database. */
  another(): Promise<Store> {
    return this.#kit.open();
  }

  /** Moves the database's clock. */
  async advance(spanMs: number): Promise<void> {
    if (this.#kit.clock === undefined) throw new Error(`${this.#title}: needs \`kit.clock\`.`);
    await this.#kit.clock.advance(spanMs);
  }

  /** Both are deeply equal. */
  is(what: string, seen: unknown, expected: unknown): void {
    if (!isDeepStrictEqual(seen, expected)) this.#fail(what, expected, seen);
  }

  /** The condition holds. */
  holds(what: string, condition: boolean): void {
    if (!condition) this.#fail(what, true, false);
  }

  /** There is a row, and it has at least these values. Returns it. */
  has(
    what: string,
    row: OperationRecord | undefined,
    expected: Partial<OperationRecord>,
  ): OperationRecord {
    if (row === undefined) return this.#fail(what, expected, undefined);
    const values = new Map<string, unknown>(Object.entries(row));
    const seen = Object.fromEntries(Object.keys(expected).map((name) => [name, values.get(name)]));
    if (!isDeepStrictEqual(seen, { ...expected })) this.#fail(what, expected, seen);
    return row;
  }

  /** The write returns no row, and changes no row, no journal and nothing that is due. */
  refuses(what: string, attempt: Attempt): Promise<void> {
    return this.refusesAll(what, [[what, attempt]]);
  }

  /** None of the named writes returns a row, and together they change nothing. */
  async refusesAll(
    what: string,
    attempts: readonly (readonly [what: string, attempt: Attempt])[],
  ): Promise<void> {
    const before = await this.stored();
    for (const [name, attempt] of attempts) {
      const row = await attempt();
      if (row !== undefined) this.#fail(`${name}: the row returned`, undefined, row);
    }
    this.is(`${what}: what is stored afterwards`, await this.stored(), before);
  }

  /** The row of a key as another connection sees it. */
  async row(id: OperationId): Promise<OperationRecord> {
    const store = await this.another();
    return this.has(`the row of ${id.key}`, await store.read({ ...id }), {});
  }

  /** The journal of one key, over all tenants. */
  lines(key: string): Promise<readonly JournalLine[]> {
    return this.store.readJournal({ tenant: null, key, after: null, limit: 10_000 });
  }

  /** The events of one key, in order. */
  async events(key: string): Promise<readonly string[]> {
    return (await this.lines(key)).map((line) => line.event);
  }

  /** All that the port shows, but for the time of reading. */
  async stored(): Promise<unknown> {
    const rows = await this.store.list(wholeList);
    const due = await this.store.findDue({ tools: [toolName], limit: 1000 });
    const everyLine = { tenant: null, key: null, after: null, limit: 10_000 };
    return {
      rows: rows.map((row) => ({ ...row, readAtMs: 0 })),
      due: due.map(({ tenant, key }) => ({ tenant, key })),
      lines: await this.store.readJournal(everyLine),
    };
  }

  #fail(what: string, expected: unknown, seen: unknown): never {
    const message = `${this.#title}: ${what}.\n  expected: ${show(expected)}\n  seen: ${show(seen)}`;
    throw new AssertionError({ message, expected, actual: seen, operator: "storeContract" });
  }
}

function show(value: unknown): string {
  return inspect(value, { depth: 6, breakLength: 100, maxStringLength: 400 });
}
