/**
 * A caller's own transaction can't be handed to the guard: it would take the claim with it (R7).
 */
import type { Client } from "pg";
import { expectTypeOf, it } from "vitest";
import type { Guard, Tool } from "../../src/index.ts";
import { PostgresStore } from "../../src/stores/postgres/index.ts";

it("neither a call nor a store takes a client that may be in a transaction", () => {
  const misuse = (guard: Guard, tool: Tool, client: Client): unknown => [
    // @ts-expect-error: a call has no place for a transaction.
    guard.run(tool, {}, { tenant: "acme", transaction: client }),
    // @ts-expect-error: a store takes a pool, and borrows a connection of its own from it.
    new PostgresStore(client),
  ];
  expectTypeOf(misuse).toBeFunction();
});
