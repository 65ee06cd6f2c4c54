/**
 * A transaction of the caller's, or that of `transact`, can't be handed to the path for effects
 * outside: it would take the claim with it (R7). And each kind of tool runs on its own path only.
 */
import type { Client } from "pg";
import { expectTypeOf, it } from "vitest";
import {
  type Flow,
  type Flows,
  type Guard,
  type RegisteredTransactTool,
  type Tool,
  type Transact,
  type Transaction,
  compensate,
  createGuard,
  createTransact,
} from "../../src/index.ts";
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

it("no call for an effect outside takes the transaction of `transact`", () => {
  const misuse = (guard: Guard, tool: Tool, tx: Transaction): unknown => [
    // @ts-expect-error: a call has no place for a transaction.
    guard.run(tool, {}, { tenant: "acme", tx }),
    // @ts-expect-error: a transaction is no context.
    guard.run(tool, {}, tx),
    // @ts-expect-error: what the orchestrator vouches for is plain JSON.
    guard.run(tool, {}, { tenant: "acme", trusted: { tx } }),
    // @ts-expect-error: nor has the question which effect a call would make.
    guard.identify(tool, {}, { tenant: "acme", tx }),
    // @ts-expect-error: a guard needs a store, which commits by itself.
    createGuard({ store: tx }),
    // @ts-expect-error: what a transaction can write of operations is no store.
    createGuard({ store: tx.operations }),
    // @ts-expect-error: an effect is undone on the guard's own connection.
    compensate(guard, tx.operations, [tool], { tenant: "acme", key: "k" }),
  ];
  expectTypeOf(misuse).toBeFunction();
});

it("a transaction is not begun inside another one", () => {
  const misuse = (tx: Transaction, transact: Transact<unknown>, own: TransactTool): unknown => [
    // @ts-expect-error: `transact` needs a store, which begins a transaction of its own.
    createTransact({ store: tx }),
    // @ts-expect-error: and its calls have no place for one that is open.
    transact(own, {}, { tenant: "acme", tx }),
  ];
  expectTypeOf(misuse).toBeFunction();
});

type TransactTool = RegisteredTransactTool<string, unknown>;

it("each kind of tool runs on its own path", () => {
  const use = (guard: Guard, transact: Transact<unknown>, own: TransactTool, tool: Tool) => ({
    right: transact(own, {}, { tenant: "acme" }),
    wrong: [
      // @ts-expect-error: the guard would send from inside a transaction.
      guard.run(own, {}, { tenant: "acme" }),
      // @ts-expect-error: an effect outside does not commit with the transaction.
      transact(tool, {}, { tenant: "acme" }),
    ],
  });
  expectTypeOf<ReturnType<typeof use>["right"]>().resolves.toHaveProperty("replayed");
});

it("a run may be started in a transaction: it is a row of the same database", () => {
  const use = (flows: Flows, flow: Flow<string, number>, tx: Transaction) =>
    flows.start(flow, { tenant: "acme", runId: "r" }, "input", tx);
  expectTypeOf(use).toBeFunction();
});
