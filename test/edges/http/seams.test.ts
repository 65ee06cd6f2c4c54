/**
 * Where a route meets the rest: an effect in the application's own database, and the sweeper, which
 * looks up what nobody asks for again.
 */
import { once } from "node:events";
import type Database from "better-sqlite3";
import type pg from "pg";
import { expect, it } from "vitest";
import {
  type Handler,
  type HandlerCall,
  type HandlerOperation,
  createHttpEdge,
} from "../../../src/edges/http/index.ts";
import {
  type Outcome,
  type Transact,
  createGuard,
  createTransact,
  days,
} from "../../../src/index.ts";
import { collectGarbage } from "../../support/collect-garbage.ts";
import { meeting } from "../../support/meeting.ts";
import { passThroughTransact } from "../../support/pass-through.ts";
import { unavailable } from "../../support/store-faults.ts";
import { type StoreSuite, describeStores } from "../../support/stores.ts";
import { serveRoute } from "./servers.ts";
import { type HttpWorld, contract, createHttpWorld, edgeOptions, problemOf } from "./world.ts";

/** `transact`, with something of the test's in its way. */
function inTheWay(
  { retentionMs }: Transact<unknown>,
  run: (...call: Parameters<Transact<unknown>>) => Promise<Outcome<unknown>>,
): Transact<unknown> {
  return Object.assign(run as Transact<unknown>, { retentionMs });
}

/** An answer as the store keeps it. */
const kept = { v: 1, status: 201, headers: [], body: null };

/** Adds a refund to a table of the application's, through the transaction. */
async function insertRefund(world: HttpWorld, operation: HandlerOperation | null): Promise<void> {
  const driver = operation?.transaction?.tx.driver;
  const table = world.opened.kind === "sqlite" ? "refunds" : `"${world.opened.schema}".refunds`;
  const statement = `insert into ${table} (id) values ('refund')`;
  if (world.opened.kind === "sqlite") (driver as Database.Database).prepare(statement).run();
  else await (driver as pg.PoolClient).query(statement);
}

/** Ends a handler that has written its refund. */
type End = (
  world: HttpWorld,
  operation: HandlerOperation | null,
  call: HandlerCall<unknown>,
  text: string,
) => Response | Promise<Response>;

/** A service whose handler writes a refund in the transaction of its route, and ends as told. */
async function transactWorld(
  suite: StoreSuite,
  end: End,
  create: typeof passThroughTransact = (store) => createTransact({ store }),
) {
  const world = await createHttpWorld(suite, createGuard);
  const table = world.opened.kind === "sqlite" ? "refunds" : ":schema.refunds";
  await world.opened.sql(`create table ${table} (id text not null)`);
  const handler: Handler<unknown> = async (request, call) => {
    const text = await request.text();
    await insertRefund(world, call.operation);
    return end(world, call.operation, call, text);
  };
  const transact = create(world.opened.store);
  const route = world.route({ name: "inside", transact }, handler);
  const refunds = async (): Promise<number> =>
    (await world.opened.sql(`select id from ${table}`)).length;
  return { world, route, refunds };
}

describeStores("a route with `transact`", (suite) => {
  it("has one effect and one answer, also for twenty requests at once", async () => {
    const { world, route, refunds } = await transactWorld(suite, (_world, operation) =>
      Response.json({ key: operation?.idempotencyKey }, { status: 201 }),
    );
    const crowd = await Promise.all(
      Array.from({ length: 20 }, () => world.send({ route, key: "k" })),
    );
    expect(new Set(crowd.map(({ status }) => status))).toEqual(new Set([201]));
    expect(crowd.filter(({ headers }) => headers.has("idempotent-replayed"))).toHaveLength(19);
    for (const answer of crowd) expect(await answer.json()).toEqual({ key: "k" });
    expect((await world.send({ route, key: "k", body: {} })).status).toBe(422);
    expect(await refunds()).toBe(1);
    expect((await world.send({ route, key: "other" })).status).toBe(201);
    expect(await refunds()).toBe(2);
  });

  it("doubles its effect where the transaction has no claim, so that these tests can fail", async () => {
    const end = (): Response => new Response("made", { status: 201 });
    const { world, route, refunds } = await transactWorld(suite, end, passThroughTransact);
    for (let round = 1; round <= 3; round += 1) await world.send({ route, key: "k" });
    expect(await refunds()).toBe(3);
  });

  it("leaves nothing of a handler that throws, or answers with what settles nothing, and runs again under the key", async () => {
    const ends: (() => Response)[] = [
      () => {
        throw new Error("a bug");
      },
      () => new Response("later", { status: 503 }),
      () => new Response("later", { status: 429 }),
    ];
    const { world, route, refunds } = await transactWorld(
      suite,
      () => ends.shift()?.() ?? new Response(null, { status: 204 }),
    );
    await expect(world.send({ route })).rejects.toThrow("a bug");
    for (const status of [503, 429]) {
      const later = await world.send({ route });
      expect([later.status, await later.text()]).toEqual([status, "later"]);
    }
    expect([await refunds(), (await world.rows()).length]).toEqual([0, 0]);
    expect((await world.send({ route })).status).toBe(204);
    expect((await world.send({ route })).headers.get("idempotent-replayed")).toBe("true");
    expect(await refunds()).toBe(1);
  });

  it("stores a refusal as it was declared, and nothing of what the handler wrote before", async () => {
    const { world, route, refunds } = await transactWorld(suite, (_world, _operation, call) => {
      throw call.refused({ status: 402, reason: "No money left", code: "no_money" });
    });
    for (const replayed of [null, "true"]) {
      const answer = await world.send({ route });
      expect(answer.headers.get("idempotent-replayed")).toBe(replayed);
      expect([answer.status, await answer.json()]).toEqual([
        402,
        {
          type: "about:blank",
          title: "Refused",
          status: 402,
          detail: "No money left",
          refusal: "no_money",
        },
      ]);
    }
    expect([world.runs.count, await refunds()]).toEqual([1, 0]);
  });

  it("stores nothing where a handler was not begun, and runs it for the next request", async () => {
    const ends = [true, false];
    const { world, route, refunds } = await transactWorld(suite, (_world, _operation, call) => {
      if (ends.shift() === true) throw call.notBegun({ status: 429, reason: "Too many at once" });
      return new Response("kept");
    });
    expect([(await world.send({ route })).status, (await world.rows()).length]).toEqual([429, 0]);
    expect([(await world.send({ route })).status, await refunds()]).toEqual([200, 1]);
  });

  it("gives the outcome of another request that got in between a refusal and its record", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const real = createTransact({ store: world.opened.store });
    const between = { open: true };
    const transact = inTheWay(real, async (tool, args, context) => {
      try {
        return await real(tool, args, context);
      } catch (error) {
        if (between.open) {
          between.open = false;
          await real({ ...tool, execute: () => kept as never }, args, context);
        }
        throw error;
      }
    });
    const route = world.route({ name: "inside", transact }, (_request, call) => {
      throw call.refused({ status: 402, reason: "No money left" });
    });
    const answer = await world.send({ route });
    expect([answer.status, answer.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
  });

  it("stores a refusal that is returned, and gives it again", async () => {
    const { world, route, refunds } = await transactWorld(suite, () =>
      Response.json({ refusal: "no_money" }, { status: 402 }),
    );
    const [first, again] = [await world.send({ route }), await world.send({ route })];
    expect([first.status, again.status, world.runs.count]).toEqual([402, 402, 1]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(await again.json()).toEqual({ refusal: "no_money" });
    // What the handler wrote before it answered was committed with the answer.
    expect(await refunds()).toBe(1);
  });

  it("says that nobody knows when the answer to the commit is lost, and finds out when asked again", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const real = createTransact({ store: world.opened.store });
    const lost = { first: true };
    const transact = inTheWay(real, async (tool, args, context) => {
      const outcome = await real(tool, args, context);
      if (!lost.first) return outcome;
      lost.first = false;
      throw unavailable();
    });
    const route = world.route({ name: "inside", transact }, () => new Response("kept"));
    const first = await problemOf(await world.send({ route }));
    expect(first).toMatchObject({ status: 504, code: "OUTCOME_UNKNOWN", retryAfter: "1" });
    expect(first.detail).toContain("whether it took effect is not known");
    const again = await world.send({ route });
    expect([again.status, await again.text(), world.runs.count]).toEqual([200, "kept", 1]);
  });

  it("tells a handler that its time is over, and leaves nothing of one that stops for it", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const transact = createTransact({ store: world.opened.store });
    const short = { ...contract, timeoutMs: 50 };
    const route = world.route({ name: "inside", transact, contract: short }, async ({ signal }) => {
      // All that is left in hand is the signal.
      setImmediate(collectGarbage);
      if (!signal.aborted) await once(signal, "abort");
      throw signal.reason;
    });
    await expect(world.send({ route })).rejects.toThrow("longer than 50 ms");
    expect(await world.rows()).toEqual([]);
  });
});

/** Each request takes both items, the two in opposite orders; they meet after the first one. */
async function deadlockWorld(suite: StoreSuite) {
  const meet = meeting(2);
  const runs = new Map<string, number>();
  return transactWorld(suite, async (world, operation, _call, text) => {
    const key = operation?.idempotencyKey ?? "";
    const run = (runs.get(key) ?? 0) + 1;
    runs.set(key, run);
    const driver = operation?.transaction?.tx.driver as pg.PoolClient;
    for (const [index, item] of (key === "one" ? ["a", "b"] : ["b", "a"]).entries()) {
      await driver.query(
        `update "${world.opened.schema}".stock set left_over = left_over - 1 where item = '${item}'`,
      );
      if (index === 0 && run === 1) await meet();
    }
    return new Response(`run ${run} ${text}`, { status: 201 });
  });
}

describeStores("a route with `transact`, beside the guard", (suite) => {
  it("publishes how long it keeps answers, and keeps them so long; the service promises the shortest", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const retentionMs = days(20);
    const transact = createTransact({ store: world.opened.store, retentionMs });
    const route = world.route({ name: "inside", transact }, () => new Response("kept"));
    const { expiry, routes } = world.http.policy();
    expect(expiry.settledAfterSeconds).toBe(20 * 86_400);
    expect(routes.map(({ name, settledAfterSeconds }) => [name, settledAfterSeconds])).toEqual([
      ["refunds.create", 45 * 86_400],
      ["inside", 20 * 86_400],
    ]);

    await world.send();
    await world.send({ route, path: "/inside" });
    world.clock.advance(retentionMs - 1000);
    expect(await world.guard.purge()).toBe(0);
    expect((await world.send({ route, path: "/inside" })).status).toBe(200);
    world.clock.advance(2000);
    expect(await world.guard.purge()).toBe(1);
    const late = await problemOf(await world.send({ route, path: "/inside" }));
    expect([late.status, world.runs.count]).toEqual([410, 2]);
    expect((await world.send()).headers.get("idempotent-replayed")).toBe("true");
  });

  it("is refused where `transact` doesn't say how long, or with a look-alike rule that it can't apply", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const transact = createTransact({ store: world.opened.store });
    for (const retentionMs of [undefined, 0, Number.NaN]) {
      const silent = Object.assign((...call: Parameters<typeof transact>) => transact(...call), {
        retentionMs,
      });
      expect(() => world.route({ name: "a", transact: silent as never })).toThrow(/`retentionMs`/);
    }
    const lookAlike = { rule: "hold", windowMs: days(1) } as const;
    expect(() => world.route({ name: "b", transact, lookAlike })).toThrow(/`lookAlike`/);
  });

  if (suite.kind === "sqlite") return;
  it("runs a handler again that the database ended as a deadlock; each request has one effect and its committed answer", async () => {
    const stock = "create table :schema.stock (item text primary key, left_over integer)";
    const { world, route, refunds } = await deadlockWorld(suite);
    await world.opened.sql(stock);
    await world.opened.sql("insert into :schema.stock values ('a', 100), ('b', 100)");
    const { url } = await serveRoute("node", route);
    const post = (key: string): Promise<Response> =>
      fetch(`${url}/refunds`, {
        method: "POST",
        headers: { "idempotency-key": key, "x-tenant": "acme", "x-principal": "user-1" },
        body: "refund",
      });
    const first = await Promise.all(["one", "two"].map(post));
    const texts = await Promise.all(first.map((answer) => answer.text()));
    expect(first.map(({ status }) => status)).toEqual([201, 201]);
    // One of them was ended by the database; its second run had the body again, and is what was told.
    expect(texts.toSorted()).toEqual(["run 1 refund", "run 2 refund"]);
    expect([world.runs.count, await refunds()]).toEqual([3, 2]);
    const again = await Promise.all(["one", "two"].map(post));
    expect(await Promise.all(again.map((answer) => answer.text()))).toEqual(texts);
    expect(again.map(({ headers }) => headers.get("idempotent-replayed"))).toEqual([
      "true",
      "true",
    ]);
    const left = await world.opened.sql("select left_over from :schema.stock");
    expect(left.map((row) => row["left_over"])).toEqual([98, 98]);
    expect([world.runs.count, await refunds()]).toEqual([3, 2]);
  });

  it("runs a handler again whose commit the database refused, and tells nobody of the lost run", async () => {
    const { world, route, refunds } = await transactWorld(
      suite,
      ({ runs }, operation) => new Response(`run ${runs.count} ${operation?.idempotencyKey}`),
    );
    await world.opened.sql("create sequence :schema.commits");
    await world.opened
      .sql(`create function :schema.refuse_first() returns trigger language plpgsql as $$
      begin
        if nextval('"${world.opened.schema}".commits') = 1 then
          raise exception using errcode = '40P01';
        end if;
        return null;
      end $$`);
    await world.opened.sql(`create constraint trigger refuse_first after insert on :schema.refunds
      deferrable initially deferred for each row execute function :schema.refuse_first()`);
    for (let round = 1; round <= 2; round += 1)
      expect(await (await world.send({ route, key: "k" })).text()).toBe("run 2 k");
    expect([world.runs.count, await refunds()]).toEqual([2, 1]);
  });
});

describeStores("the sweeper", (suite) => {
  it("looks up what nobody asks for again, in a process that never saw the request", async () => {
    const world = await createHttpWorld(suite, createGuard);
    const lookUp = {
      lagMs: 1000,
      authoritative: true,
      find: () => {
        const effects = world.provider.ledger().map(({ effectId }) => ({
          status: "succeeded" as const,
          providerId: effectId,
          response: Response.json({ refund: effectId }, { status: 201 }),
        }));
        return { answer: "found" as const, effects };
      },
    };
    const options = { name: "swept", key: "required" as const, contract: { ...contract, lookUp } };
    const handler: Handler<unknown> = async (request) => {
      await world.refund(await request.json());
      throw new Error("lost after the effect");
    };
    expect((await world.send({ route: world.route(options, handler) })).status).toBe(504);

    const holder: { guard?: Awaited<ReturnType<typeof createGuard>> } = {};
    const http = createHttpEdge<unknown>({
      ...edgeOptions,
      guard: () => holder.guard ?? world.guard,
    });
    const route = http.route(options, handler);
    const store = await world.opened.again({ clock: world.clock });
    holder.guard = await createGuard({ store, tools: [route.tool] });
    world.clock.advance(120_000);
    expect((await holder.guard.sweep()).map(({ outcome }) => outcome)).toEqual(["DONE"]);
    const answer = await world.send({ route });
    expect([answer.status, answer.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    world.assertEffects(1);
  });
});
