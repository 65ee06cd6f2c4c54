/**
 * A table of the user's own beside ours: what handlers of events change, and what a test judges by.
 */
import type Database from "better-sqlite3";
import type pg from "pg";
import type { Transaction } from "../../src/index.ts";
import type { OpenStore } from "./stores.ts";

/** Makes the table. */
export async function createBookings(opened: OpenStore): Promise<void> {
  await opened.sql("create table :schema.bookings (note text not null)");
}

/** Books in the transaction of the event. */
export async function book(
  opened: Pick<OpenStore, "kind" | "schema">,
  tx: Transaction,
  note: string,
): Promise<void> {
  if (opened.kind === "sqlite") {
    const database = tx.driver as Database.Database;
    database.prepare("insert into nevertwice_bookings values (?)").run(note);
    return;
  }
  const client = tx.driver as pg.PoolClient;
  await client.query(`insert into "${opened.schema}".bookings values ($1)`, [note]);
}

/** What is booked, sorted. */
export async function bookings(opened: OpenStore): Promise<string[]> {
  const rows = await opened.sql("select note from :schema.bookings order by note");
  return rows.map(({ note }) => String(note));
}
