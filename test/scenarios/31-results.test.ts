/**
 * Results: whatever the effect gave back, the operation is DONE, and a replay can be told from a
 * first execution (cases 44 and 45; R15, R29).
 */
import { expect } from "vitest";
import type { Tool } from "../../src/index.ts";
import { dropCalls, interceptStore, movableRuntime } from "../support/store-faults.ts";
import { executeRefund, refundArgs, scenario, type World } from "../support/world.ts";

/** Makes the effect, and gives back something else. */
function giving(world: World, value: () => unknown): Tool["execute"] {
  const send = executeRefund(world.client);
  return async (args, call) => {
    await send(args, call);
    return value();
  };
}

const plainResults = [undefined, null, 0, "", false, [], {}, "0", { a: undefined, b: null }];

scenario("nothing, null, zero, an empty text and an empty list are results", {}, async (world) => {
  for (const [index, value] of plainResults.entries()) {
    const tool = world.tool({ name: `tool-${index}`, execute: giving(world, () => value) });
    const args = { ...refundArgs, ticketId: `t-${index}` };
    const first = await world.run({ tool, args });
    const second = await world.run({ tool, args, guard: await world.another() });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(first.outcome?.value).toEqual(value);
    expect(second.outcome?.value).toEqual(value);
    // Undefined comes back as undefined, and null as null.
    expect(second.outcome?.value === undefined).toBe(value === undefined);
    world.assertEffects(index + 1);
  }
});

class Money {
  readonly amountMinor = 48_000;
}

function cycle(): unknown {
  const inner: Record<string, unknown> = {};
  inner["self"] = inner;
  return { inner };
}

const throwing = {
  get id(): string {
    throw new Error("no such id");
  },
};

const unstorable: [name: string, value: unknown, path: string][] = [
  ["a bigint", { id: 1n }, "$.id"],
  ["a cycle", cycle(), "$.inner.self"],
  ["a getter that throws", throwing, "$.id"],
  ["a toJSON that throws", { toJSON: () => throwing.id }, "$.toJSON"],
  ["a class instance", { money: new Money() }, "$.money"],
  ["a date", { at: new Date(0) }, "$.at"],
  ["a map", new Map([["id", 1]]), "$"],
  ["text with a NUL", ["a\0b"], "$[0]"],
  ["a function", () => 1, "$"],
  ["not a number", Number.NaN, "$"],
];

scenario(
  "a result that can't be stored is given to the first caller, and its place is named to the others",
  {},
  async (world) => {
    for (const [index, [name, value, path]] of unstorable.entries()) {
      const tool = world.tool({ name: `tool-${index}`, execute: giving(world, () => value) });
      const args = { ...refundArgs, ticketId: `t-${index}` };
      const told = [];
      for (let call = 1; call <= 3; call += 1) told.push(await world.run({ tool, args }));

      expect([name, ...told.map((one) => one.told)]).toEqual([
        name,
        "EXECUTED",
        "REPLAYED",
        "REPLAYED",
      ]);
      expect(told[0]?.outcome?.value).toBe(value);
      expect(told[1]?.outcome?.value).toBeUndefined();
      expect([name, told[1]?.outcome?.omitted?.path]).toEqual([name, path]);
      expect(told[1]?.outcome?.text).toContain(`at ${path}`);
      world.assertEffects(index + 1);
    }
  },
);

scenario(
  "a proxy that throws at every touch is a result that can't be stored",
  {},
  async (world) => {
    const hostile = new Proxy(Object.create(null) as object, {
      get: (_, name) => {
        if (name === "then") return undefined;
        throw new Error("hands off");
      },
      ownKeys: () => {
        throw new Error("hands off");
      },
    });
    const tool = world.tool({ execute: giving(world, () => hostile) });
    const first = await world.run({ tool });
    const second = await world.run({ tool });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(second.outcome?.omitted?.reason).toContain("hands off");
    world.assertEffects(1);
  },
);

scenario(
  "a result that is too large is given once, and the row stays small",
  { contract: { providerId: (result) => (result as { id: string }).id } },
  async (world) => {
    const large = { id: "eff_large", document: "x".repeat(5 * 1024 * 1024) };
    const tool = world.tool({ execute: giving(world, () => large) });
    const first = await world.run({ tool });
    const second = await world.run({ tool });

    expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
    expect(first.outcome?.value).toBe(large);
    expect(second.outcome).toMatchObject({ value: undefined, providerId: "eff_large" });
    expect(second.outcome?.omitted?.bytes).toBeGreaterThan(5 * 1024 * 1024);
    expect(second.outcome?.text).toContain("eff_large");
    expect(JSON.stringify(await world.row()).length).toBeLessThan(4096);
    world.assertEffects(1);
  },
);

scenario(
  "a provider's id that can't be had keeps no operation from being done",
  {},
  async (world) => {
    const odd: [string, () => unknown][] = [
      ["throws", () => throwing.id],
      ["is missing", () => undefined],
      ["is a number", () => 4711],
      ["holds a NUL", () => "eff_\0"],
      ["holds half a character", () => "eff_\uD800"],
    ];
    for (const [index, [name, providerId]] of odd.entries()) {
      const tool = world.tool({ name: `tool-${index}`, contract: { providerId } as never });
      const args = { ...refundArgs, ticketId: `t-${index}` };
      const first = await world.run({ tool, args });
      const second = await world.run({ tool, args });

      expect([name, first.told, second.told]).toEqual([name, "EXECUTED", "REPLAYED"]);
      expect([name, first.outcome?.recorded]).toEqual([name, true]);
      world.assertEffects(index + 1);
    }
  },
);

scenario(
  "five calls are told apart: one executed, four replayed, all of one key",
  {},
  async (world) => {
    const told = [];
    for (let call = 1; call <= 5; call += 1) {
      world.advance(60_000);
      told.push((await world.run()).outcome);
    }
    expect(told.map((outcome) => outcome?.replayed)).toEqual([false, true, true, true, true]);
    const { key, firstArmedAtMs } = await world.row();
    for (const outcome of told) {
      expect(outcome).toMatchObject({ status: "DONE", attempts: 1, key, recorded: true });
      expect(outcome?.firstExecutedAt).toBe(new Date(firstArmedAtMs ?? 0).toISOString());
    }
    expect(told[0]?.text).toMatch(/^Done: this intent took effect once\./);
    expect(told[4]?.text).toMatch(/^Already done: .* this call sent nothing new\./);
    world.assertEffects(1);
  },
);

scenario(
  "nobody is answered before the outcome is stored, and a duplicate in between meets a conflict",
  {},
  async (world) => {
    let store = (): void => {};
    const delayed = new Promise<void>((resolve) => (store = resolve));
    const order: string[] = [];
    const slow = interceptStore(
      await world.opened.again({ clock: world.clock }),
      async (method, call) => {
        if (method !== "complete") return call();
        await delayed;
        const record = await call();
        order.push("stored");
        return record;
      },
    );
    const first = world.run({ guard: await world.another({ store: slow }) }).then((told) => {
      order.push("answered");
      return told;
    });
    await expect.poll(() => world.provider.ledger().length).toBe(1);
    const duplicate = await world.run();
    expect(order).toEqual([]);
    store();

    expect((await first).told).toBe("EXECUTED");
    expect(duplicate.told).toBe("IN_PROGRESS");
    expect(order).toEqual(["stored", "answered"]);
    // What a process that exits right here would leave behind.
    expect((await world.row()).status).toBe("DONE");
    world.assertEffects(1);
  },
);

const receivers = {
  throws: (): never => {
    throw new Error("the log is full");
  },
  // Unhandled, it would end the process.
  rejects: (): Promise<never> => Promise.reject(new Error("the log is full")),
};
for (const [how, onWarning] of Object.entries(receivers)) {
  scenario(
    `a warning's receiver that ${how} takes nothing back and keeps no result from its caller`,
    {},
    async (world) => {
      const runtime = movableRuntime();
      const store = dropCalls(await world.opened.again({ clock: world.clock }), {
        methods: ["complete"],
        when: "before",
        onDrop: () => runtime.move(60_000),
      });
      const first = await world.run({ guard: await world.another({ store, runtime, onWarning }) });
      world.advance(60_000);
      const second = await world.run();

      expect([first.told, second.told]).toEqual(["EXECUTED", "REPLAYED"]);
      expect(first.outcome?.recorded).toBe(false);
      world.assertEffects(1);
    },
  );
}
