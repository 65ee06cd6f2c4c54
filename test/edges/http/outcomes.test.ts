/**
 * How a handler can end, and what every later request under the key is told. Only an answer and the
 * handler's own declaration prove anything; all else is unknown, and never run again by itself (cases 46,
 * 53, 58 and 60).
 */
import { expect, it } from "vitest";
import type { Handler } from "../../../src/edges/http/index.ts";
import { createGuard } from "../../../src/index.ts";
import { dropCalls, movableRuntime } from "../../support/store-faults.ts";
import { describeStores } from "../../support/stores.ts";
import {
  type HttpWorld,
  contract,
  createHttpWorld,
  gate,
  httpScenario,
  lookUpIn,
  problemOf,
} from "./world.ts";

/** Has its effect, and then ends as told. */
function after(world: HttpWorld, end: () => Response | Promise<Response>): Handler<unknown> {
  return async (request) => {
    await world.refund(await request.json());
    return end();
  };
}

const broken: readonly (readonly [name: string, end: () => Response | Promise<Response>])[] = [
  ["answers 500", () => new Response("oops", { status: 500 })],
  [
    "answers 503 with Retry-After",
    () => new Response(null, { status: 503, headers: { "retry-after": "1" } }),
  ],
  ["throws an error", () => Promise.reject(new Error("connection lost"))],
  [
    "throws an error that says 404",
    () => Promise.reject(Object.assign(new Error("x"), { status: 404 })),
  ],
  ["throws null", () => Promise.reject(null)],
  ["forgets to answer", () => undefined as unknown as Response],
  ["answers with an error response", () => Response.error()],
];

for (const [name, end] of broken) {
  httpScenario(
    `a handler that ${name} after its effect leaves the outcome unknown; it is not run again`,
    async (world) => {
      const route = world.route({ name: "broken" }, after(world, end));
      const told = [await problemOf(await world.send({ route }))];
      for (let round = 1; round <= 3; round += 1)
        told.push(await problemOf(await world.send({ route })));
      expect(told.map(({ status, code }) => `${status} ${code}`)).toEqual([
        "504 OUTCOME_UNKNOWN",
        "409 NEEDS_REVIEW",
        "409 NEEDS_REVIEW",
        "409 NEEDS_REVIEW",
      ]);
      expect(Number(told[0]?.retryAfter)).toBeGreaterThanOrEqual(1);
      expect(told.map(({ detail }) => detail).join(" ")).not.toMatch(/\bfailed\b|try again/i);
      world.assertEffects(1);
    },
  );
}

httpScenario(
  "a handler that takes too long is given up, its signal aborts, and its late answer still counts",
  async (world) => {
    const entered = [gate(), gate()];
    const late = gate();
    const route = world.route(
      { name: "slow", contract: { ...contract, timeoutMs: 300 } },
      async (request) => {
        const effect = await world.refund(await request.json());
        entered[world.runs.count - 1]?.open();
        // A slow refund may have taken all the time that there was.
        if (!request.signal.aborted)
          await new Promise((resolve) => request.signal.addEventListener("abort", resolve));
        await late.wait;
        return Response.json(effect, { status: 201 });
      },
    );
    const running = world.send({ route });
    await entered[0]?.wait;
    const twin = world.send({ route });
    await Promise.race([twin, entered[1]?.wait]);
    world.assertEffects(1);
    expect((await twin).status).toBe(409);
    expect(await problemOf(await running)).toMatchObject({ status: 504, code: "OUTCOME_UNKNOWN" });
    late.open();
    await expect.poll(async () => (await world.rows())[0]?.status).toBe("DONE");
    const again = await world.send({ route });
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    world.assertEffects(1);
  },
);

httpScenario(
  "a refusal that the handler declares is settled: everyone under the key gets it, and nothing runs again",
  async (world) => {
    const route = world.route({ name: "refusing" }, async (_request, call) => {
      throw call.refused({ status: 402, reason: "The card was declined", code: "card_declined" });
    });
    const first = await world.send({ route });
    const again = await world.send({ route });
    expect(first.headers.get("idempotent-replayed")).toBeNull();
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const [one, two] = [await first.text(), await again.text()];
    expect(JSON.parse(one)).toMatchObject({
      status: 402,
      code: "OPERATION_FAILED",
      refusal: "card_declined",
      detail: expect.stringContaining("The card was declined") as unknown,
    });
    expect(two).toBe(one);
    expect([first.status, again.status, world.runs.count]).toEqual([402, 402, 1]);
    expect((await world.rows()).map(({ status }) => status)).toEqual(["FAILED"]);
    world.assertEffects(0);
  },
);

httpScenario(
  "a request that the handler turned away before it began may run later under its key, once",
  async (world) => {
    const limits = [429, 503];
    const route = world.route({ name: "limited" }, async (request, call) => {
      const status = limits.shift();
      if (status !== undefined)
        throw call.notBegun({ status, reason: "Too many at once", retryAfterMs: 7000 });
      return Response.json(await world.refund(await request.json()), { status: 201 });
    });
    for (const status of [429, 503]) {
      const away = await problemOf(await world.send({ route }));
      expect(away).toMatchObject({ status, code: "NOT_SENT", retryAfter: "7" });
    }
    world.assertEffects(0);
    expect((await world.send({ route })).status).toBe(201);
    expect((await world.send({ route })).headers.get("idempotent-replayed")).toBe("true");
    world.assertEffects(1);
  },
);

httpScenario("an error that only looks like a declaration proves nothing", async (world) => {
  const lookalike = Object.assign(new Error("declined"), { name: "Refusal", status: 402 });
  const route = world.route({ name: "lookalike" }, async () => Promise.reject(lookalike));
  expect((await problemOf(await world.send({ route }))).code).toBe("OUTCOME_UNKNOWN");
  const unfit = world.route({ name: "unfit" }, async (_request, call) => {
    throw call.refused({ status: 500, reason: "no refusal has this status" });
  });
  expect((await problemOf(await world.send({ route: unfit, path: "/unfit" }))).code).toBe(
    "OUTCOME_UNKNOWN",
  );
  world.assertEffects(0);
});

httpScenario(
  "a declined answer of the handler itself is an answer: stored, and given again",
  async (world) => {
    const route = world.route({ name: "declining" }, async () =>
      Response.json({ error: "not yet due" }, { status: 422 }),
    );
    const texts = [];
    for (let round = 1; round <= 3; round += 1) {
      const answer = await world.send({ route });
      expect(answer.status).toBe(422);
      texts.push(await answer.text());
    }
    expect(texts).toEqual(texts.map(() => '{"error":"not yet due"}'));
    expect(world.runs.count).toBe(1);
  },
);

httpScenario("which statuses settle an operation is the route's to say", async (world) => {
  const storeStatus = (status: number): boolean => status < 400;
  const route = world.route(
    { name: "own", storeStatus },
    async () => new Response(null, { status: 409 }),
  );
  expect((await problemOf(await world.send({ route }))).code).toBe("OUTCOME_UNKNOWN");
  expect((await problemOf(await world.send({ route }))).code).toBe("NEEDS_REVIEW");
  expect(world.runs.count).toBe(1);
});

httpScenario(
  "with a look-up of the application, the repetition finds the effect and answers like the first would have",
  async (world) => {
    const end = (): Response => new Response(null, { status: 502 });
    const route = world.route(
      { name: "found", contract: { ...contract, lookUp: lookUpIn(world) } },
      after(world, end),
    );
    expect((await world.send({ route })).status).toBe(504);
    const again = await world.send({ route });
    const id = world.provider.ledger()[0]?.effectId ?? "none";
    expect([again.status, await again.json()]).toEqual([201, { refund: id }]);
    expect(again.headers.get("location")).toBe(`/refunds/${id}`);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    expect(world.runs.count).toBe(1);
    world.assertEffects(1);
  },
);

httpScenario(
  "proved absence lets the repetition run: with the request at hand, and not in a sweep",
  async (world) => {
    const lost = { first: true };
    const route = world.route(
      {
        name: "absent",
        contract: { ...contract, mode: "proved-absence", lookUp: lookUpIn(world) },
      },
      async (request) => {
        if (lost.first) {
          lost.first = false;
          throw new Error("lost before the effect");
        }
        return Response.json(await world.refund(await request.json()), { status: 201 });
      },
    );
    expect((await world.send({ route })).status).toBe(504);
    world.clock.advance(60_000);
    const swept = await world.guard.sweep();
    expect(swept.map(({ outcome }) => outcome)).toEqual(["OUTCOME_UNKNOWN"]);
    expect(world.runs.count).toBe(1);
    world.clock.advance(60_000);
    expect((await world.send({ route })).status).toBe(201);
    expect((await world.send({ route })).headers.get("idempotent-replayed")).toBe("true");
    world.assertEffects(1);
  },
);

httpScenario(
  "a sweep that a handler starts never runs that handler's request for another operation",
  async (world) => {
    const route = world.route(
      {
        name: "sweeping",
        contract: { ...contract, mode: "proved-absence", lookUp: lookUpIn(world) },
      },
      async (request, { operation }) => {
        if (operation?.idempotencyKey === "lost") throw new Error("lost before the effect");
        world.clock.advance(60_000);
        await world.guard.sweep();
        return Response.json(await world.refund(await request.json()), { status: 201 });
      },
    );
    expect((await world.send({ route, key: "lost" })).status).toBe(504);
    expect((await world.send({ route, key: "second" })).status).toBe(201);
    expect(world.runs.count).toBe(2);
    expect((await world.send({ route, key: "second" })).headers.has("idempotent-replayed")).toBe(
      true,
    );
    world.assertEffects(1);
  },
);

describeStores("a store that is away", (suite) => {
  it("before the claim: 503, nothing runs, and the text names no host", async () => {
    const world = await createHttpWorld(suite, (options) =>
      createGuard({
        ...options,
        store: dropCalls(options.store, { methods: ["claim"], when: "before" }),
      }),
    );
    const away = await problemOf(await world.send());
    expect(away).toMatchObject({ status: 503, code: "STORE_UNAVAILABLE", retryAfter: "1" });
    expect(away.detail).toBe(
      "The store did not confirm the claim; nothing was sent. The same call is safe.",
    );
    expect(world.runs.count).toBe(0);
    world.assertEffects(0);
  });

  it("after the effect: the answer is given, marked as not recorded, and no repetition runs", async () => {
    const runtime = movableRuntime();
    // The lease of the handler is over at once.
    const onDrop = (): void => runtime.move(30_000);
    const down = { methods: ["complete"] as const, when: "before" as const, onDrop };
    const world = await createHttpWorld(suite, (options) =>
      createGuard({ ...options, runtime, store: dropCalls(options.store, down) }),
    );
    const route = world.route({ name: "unrecorded" });
    const first = await world.send({ route });
    expect([first.status, first.headers.get("idempotent-recorded")]).toEqual([201, "false"]);
    expect((await first.json()) as object).toHaveProperty("refund");
    const twin = await problemOf(await world.send({ route }));
    expect(twin.code).toBe("IN_PROGRESS");
    world.clock.advance(60_000);
    expect((await problemOf(await world.send({ route }))).code).toBe("NEEDS_REVIEW");
    world.assertEffects(1);
  });
});
