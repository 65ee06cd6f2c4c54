import type { OpenStore } from "./stores.ts";

const columns = ["lease_until", "due_at", "quiet_until", "first_armed_at", "last_armed_at"];

/** Every stored operation gets older, for stores that go by the database's own clock. */
export async function ageOperations(opened: OpenStore, byMs: number): Promise<void> {
  const older = columns.map((column) => `${column}_ms = ${column}_ms - ${byMs}`);
  await opened.sql(`update :schema.operations set ${older.join(", ")}`);
}
