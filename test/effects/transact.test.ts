/**
 * `transact`: claim, effect, DONE and events commit together or not at all, so that a duplicate makes
 * no second effect and a rollback leaves nothing. Judged by the rows of the effect's own table.
 */
import { expect, it } from "vitest";
import { z } from "zod";
import { createGuard, createTransact, days, defineTool } from "../../src/index.ts";
import { codeOf } from "../support/flow-world.ts";
import { describeStores } from "../support/stores.ts";
import {
  type Inside,
  type PostgresDriver,
  acme,
  credit,
  openShop,
} from "../support/transact-shop.ts";

const nothing = { credits: 0, operations: 0, journal: 0, outbox: 0 };

describeStores("transact", (suite) => {
  it("leaves nothing when the effect throws at its begin or at its end, and can then be had", async () => {
    const { hooks, counts, run } = await openShop(suite);
    for (const place of ["inside", "end"] as const) {
      hooks[place] = () => {
        throw new Error("out of stock");
      };
      await expect(run()).rejects.toThrow("out of stock");
      expect(await counts()).toEqual(nothing);
      hooks[place] = () => {};
    }
    expect(await run()).toMatchObject({ replayed: false, value: { orderId: "8812" } });
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("makes one effect of twenty duplicates over two connections", async () => {
    const { opened, counts, runOn } = await openShop(suite);
    const stores = [opened.store, await opened.again()];
    const told = await Promise.all(
      Array.from({ length: 20 }, (_, index) => runOn(stores[index % 2] ?? opened.store)),
    );
    expect(told.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("refuses other arguments under the same intent, and writes nothing", async () => {
    const { counts, run } = await openShop(suite);
    await run();
    expect(await codeOf(run({ ...credit, amountMinor: 1 }))).toBe("PAYLOAD_MISMATCH");
    expect(await codeOf(run({ orderId: 1 }))).toBe("ARGUMENTS_INVALID");
    expect(await counts()).toMatchObject({ credits: 1, operations: 1, outbox: 1 });
  });

  it("refuses a guarded call and another transaction inside, and nothing of it is left", async () => {
    const { opened, hooks, counts, run } = await openShop(suite);
    const guard = await createGuard({ store: opened.store });
    let sent = 0;
    const mail = defineTool({
      name: "send_mail",
      kind: "non-idempotent",
      arguments: z.object({ to: z.string() }),
      intent: ({ args }) => `mail:${args.to}`,
      businessArguments: ["to"],
      contract: { timeoutMs: 1000, flightMs: 1000 },
      execute: () => {
        sent += 1;
      },
    });
    const misuses: Inside[] = [
      async () => void (await guard.run(mail, { to: "a" }, acme)),
      async () => void (await opened.store.transaction(() => 1)),
    ];
    for (const misuse of misuses) {
      hooks.inside = misuse;
      expect(await codeOf(run())).toBe("TRANSACTION_OPEN");
    }
    expect(sent).toBe(0);
    expect(await counts()).toEqual(nothing);
  });

  it("does not call it done when the database has given the transaction up", async () => {
    const { opened, hooks, counts, run } = await openShop(suite);
    if (opened.kind !== "postgres") return;
    hooks.end = async ({ tx }) => {
      await (tx.driver as PostgresDriver).query("select 1 / 0").catch(() => {});
    };
    expect(await codeOf(run())).toBe("TRANSACTION_ABORTED");
    expect(await counts()).toEqual(nothing);
  });

  it("lets statements of others on the same connection wait for it", async () => {
    const { opened, hooks, run } = await openShop(suite);
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    hooks.inside = async () => {
      begin();
      await gate;
      throw new Error("rolled back");
    };
    const running = codeOf(run());
    await begun;
    const guard = await createGuard({ store: await opened.again() });
    const outside = opened.store.outbox.emit({
      tenant: "acme",
      id: "outside",
      type: "t",
      subject: null,
      event: "{}",
      retentionMs: 1000,
    });
    release();
    expect(await running).toBe("other: Error: rolled back");
    expect(await outside).toMatchObject({ id: "outside" });
    // The rollback took nothing of the others with it.
    const [row] = await opened.sql("select count(*) as n from :schema.outbox");
    expect(Number(row?.["n"])).toBe(1);
    expect(guard).toBeDefined();
  });
});

describeStores("transact, when it is created,", (suite) => {
  it("tells how long it keeps outcomes, and refuses a span or a secret that can't hold", async () => {
    const { store } = await suite.open();
    expect(createTransact({ store }).retentionMs).toBe(days(45));
    const horizon = { longestWorkflowMs: 0, approvalWaitMs: 0, retryHorizonMs: days(1) };
    expect(createTransact({ store, retentionMs: days(1), horizon }).retentionMs).toBe(days(1));
    for (const wrong of [
      { retentionMs: Number.NaN },
      { retentionMs: -1 },
      { retentionMs: days(1) - 1, horizon },
      // Shorter than a duplicate may come late where nothing else is said.
      { retentionMs: days(14) },
      { keySecret: "" },
    ]) {
      expect(() => createTransact({ store, ...wrong })).toThrow(
        expect.objectContaining({ code: "CONFIGURATION_INVALID" }),
      );
    }
  });
});

describeStores("events of transact", (suite) => {
  it("of one type are all written, each under an id of its own", async () => {
    const { opened, hooks, counts, run } = await openShop(suite);
    hooks.inside = async ({ emit }) => {
      await emit({ type: "order.credited", subject: "first" });
      await emit({ type: "order.noted", id: "given" });
    };
    await run();
    await run();
    expect(await counts()).toMatchObject({ credits: 1, outbox: 3 });
    const rows = await opened.sql("select id, subject from :schema.outbox order by position");
    const { key } = await run();
    expect(rows.map(({ id, subject }) => [id, subject])).toEqual([
      [`${key}:order.credited`, "first"],
      ["given", null],
      [`${key}:order.credited:2`, "8812"],
    ]);
  });
});
