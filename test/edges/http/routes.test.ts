/**
 * What a client is answered under its key, and how often the handler's effect exists. Scenarios of two
 * public suites (idempot-dev's feature file, idemkit's conformance file) are here in our own words
 * where they agree with the draft; where they don't, in conformance.test.ts. Keys of others, other paths,
 * validation and waiting are cases 14, 15, 59 and 115.
 */
import { expect } from "vitest";
import { days } from "../../../src/index.ts";
import { firstKey, httpScenario, problemOf, refundBody, requestOf } from "./world.ts";

httpScenario(
  "a repeated request gets the first answer again, says so, and has no second effect",
  async (world) => {
    const first = await world.send();
    const text = await first.text();
    expect([first.status, first.headers.get("idempotent-replayed")]).toEqual([201, null]);
    for (const route of [undefined, await world.another()]) {
      const again = await world.send(route === undefined ? {} : { route });
      expect(again.status).toBe(201);
      expect(await again.text()).toBe(text);
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(again.headers.get("location")).toBe(first.headers.get("location"));
      expect(again.headers.get("content-type")).toBe(first.headers.get("content-type"));
      expect(again.headers.get("idempotent-outcome")).toMatch(
        /^replayed, status=DONE, attempts=1, first-executed-at="\d{4}-[^"]+Z", key="[0-9a-f]{64}"$/,
      );
    }
    world.assertEffects(1);
  },
);

httpScenario("a quoted key and the same key bare are one", async (world) => {
  await world.send({ key: '"order-8812-refund"' });
  const again = await world.send({ key: "order-8812-refund" });
  expect(again.headers.get("idempotent-replayed")).toBe("true");
  world.assertEffects(1);
});

httpScenario(
  "a key that comes with another body is refused with 422, twice in a row, and changes nothing",
  async (world) => {
    await world.send();
    for (let round = 1; round <= 2; round += 1) {
      const other = await world.send({ body: { ...refundBody, amountMinor: 1 } });
      expect(await problemOf(other)).toMatchObject({
        status: 422,
        type: "payload-mismatch",
        code: "PAYLOAD_MISMATCH",
        retryAfter: null,
      });
    }
    expect((await world.send()).headers.get("idempotent-replayed")).toBe("true");
    world.assertEffects(1);
  },
);

httpScenario(
  "while the first request runs, its twin gets 409 with Retry-After, and another body gets 422 first",
  async (world) => {
    world.provider.fault({ gate: "slow" });
    const first = world.send();
    await world.provider.parked("slow");
    const twin = await world.send({ route: await world.another() });
    const other = await world.send({ body: { ...refundBody, amountMinor: 1 } });
    world.provider.release("slow");

    const told = await problemOf(twin);
    expect(told).toMatchObject({ status: 409, type: "in-progress", code: "IN_PROGRESS" });
    expect(Number(told.retryAfter)).toBeGreaterThanOrEqual(1);
    expect((await problemOf(other)).status).toBe(422);
    expect((await first).status).toBe(201);
    expect((await world.send()).status).toBe(201);
    world.assertEffects(1);
  },
);

httpScenario(
  "a route may let a repetition wait: it gets the first answer, or 409 when that takes too long",
  async (world) => {
    const patient = world.route({ name: "patient", onInProgress: { waitMs: 60_000 } });
    const hasty = world.route({ name: "hasty", onInProgress: { waitMs: 30 } });
    world.provider.fault({ gate: "one" }, { gate: "two" });
    const first = world.send({ route: patient });
    await world.provider.parked("one");
    const waiting = world.send({ route: patient });
    const slow = world.send({ route: hasty, path: "/hasty" });
    await world.provider.parked("two");
    expect((await world.send({ route: hasty, path: "/hasty" })).status).toBe(409);
    world.provider.release("one");
    world.provider.release("two");

    const [ran, waited] = await Promise.all([first, waiting, slow]);
    expect(waited.headers.get("idempotent-replayed")).toBe("true");
    expect(await waited.text()).toBe(await ran.text());
    world.assertEffects(2);
  },
);

httpScenario(
  "fifty requests at once have one effect and one answer; the others wait for it",
  async (world) => {
    const route = world.route({ name: "crowd", onInProgress: { waitMs: 60_000 } });
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.send({ route })));
    expect(new Set(await Promise.all(answers.map((answer) => answer.text()))).size).toBe(1);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    const replayed = answers.filter(({ headers }) => headers.has("idempotent-replayed"));
    expect(replayed).toHaveLength(49);
    world.assertEffects(1);
  },
);

httpScenario(
  "a key belongs to its tenant, principal, method and path: each has its own effect and answer",
  async (world) => {
    const changes = [
      {},
      { tenant: "globex" },
      { principal: "user-2" },
      { method: "PATCH" },
      { path: "/orders/1/cancel" },
      { path: "/orders/2/cancel" },
    ];
    const texts = new Set<string>();
    for (const change of changes) {
      const answer = await world.send({ key: "1", ...change });
      expect(answer.headers.has("idempotent-replayed")).toBe(false);
      texts.add(await answer.text());
    }
    expect(texts.size).toBe(changes.length);
    world.assertEffects(changes.length);
    for (const change of changes) {
      const again = await world.send({ key: "1", ...change });
      expect(again.headers.get("idempotent-replayed")).toBe("true");
      expect(texts).toContain(await again.text());
    }
    world.assertEffects(changes.length);
  },
);

httpScenario(
  "two keys with one body are two wanted effects, and no key on an optional route is no guard",
  async (world) => {
    const optional = world.route({ name: "optional", key: "optional" });
    const send = (key: string | null) => world.send({ route: optional, path: "/optional", key });
    expect((await send("a")).status).toBe(201);
    expect((await send("b")).status).toBe(201);
    expect((await send(null)).status).toBe(201);
    expect((await send(null)).status).toBe(201);
    world.assertEffects(4);
    expect((await send("a")).headers.get("idempotent-replayed")).toBe("true");
    expect((await send(",")).status).toBe(400);
    world.assertEffects(4);
  },
);

httpScenario(
  "a required key that is missing or malformed gets 400, and leaves no trace",
  async (world) => {
    expect(await problemOf(await world.send({ key: null }))).toMatchObject({
      status: 400,
      type: "key-missing",
      code: "INTENT_INVALID",
    });
    for (const key of ["", '""', "a,b", "clé", "a b", "x".repeat(256)]) {
      expect(await problemOf(await world.send({ key }))).toMatchObject({
        status: 400,
        type: "key-malformed",
      });
    }
    const request = requestOf();
    request.headers.append("idempotency-key", firstKey);
    const twice = await world.route({ name: "twice" }).handle(request, undefined);
    expect((await problemOf(twice)).type).toBe("key-malformed");
    expect(await world.rows()).toEqual([]);
    expect(world.runs.count).toBe(0);
    world.assertEffects(0);
    // The mended request has its effect, and has it once.
    await world.send();
    await world.send();
    world.assertEffects(1);
  },
);

httpScenario(
  "a key whose answer has been purged gets 410, and runs nothing again",
  async (world) => {
    await world.send();
    world.clock.advance(days(46));
    expect(await world.guard.purge()).toBe(1);
    expect(await problemOf(await world.send())).toMatchObject({
      status: 410,
      type: "key-expired",
      code: "KEY_EXPIRED",
    });
    world.assertEffects(1);
  },
);

httpScenario(
  "a client that hangs up after the claim cancels nothing: its repetition gets the answer",
  async (world) => {
    const caller = new AbortController();
    world.provider.fault({ gate: "slow" });
    const first = world.send({ signal: caller.signal });
    await world.provider.parked("slow");
    caller.abort();
    world.provider.release("slow");
    expect((await first).status).toBe(201);
    expect((await world.send()).headers.get("idempotent-replayed")).toBe("true");
    world.assertEffects(1);
  },
);

httpScenario(
  "what `check` refuses is answered and not recorded, so that the mended request runs under the key",
  async (world) => {
    const route = world.route({
      name: "checked",
      check: async (request) => {
        const { otp } = (await request.json()) as { otp: string };
        return otp === "right"
          ? undefined
          : Response.json({ error: "wrong code" }, { status: 400 });
      },
    });
    const wrong = await world.send({ route, body: { ...refundBody, otp: "wrong" } });
    expect([wrong.status, await wrong.json()]).toEqual([400, { error: "wrong code" }]);
    expect(await world.rows()).toEqual([]);
    const right = { ...refundBody, otp: "right" };
    expect((await world.send({ route, body: right })).status).toBe(201);
    expect((await world.send({ route, body: right })).headers.has("idempotent-replayed")).toBe(
      true,
    );
    world.assertEffects(1);
  },
);

httpScenario(
  "a handler may call another guarded route, and each has its own one effect",
  async (world) => {
    const inner = world.route({ name: "inner" });
    const outer = world.route({ name: "outer" }, async (request, call) => {
      const { arguments: args } = call.operation ?? { arguments: undefined };
      const answer = await world.send({ route: inner, path: "/inner", key: "inner" });
      await world.refund(await request.json());
      return Response.json({ path: args?.path, inner: answer.status });
    });
    const first = await world.send({ route: outer, path: "/outer" });
    expect(await first.json()).toEqual({ path: "/outer", inner: 201 });
    const again = await world.send({ route: outer, path: "/outer" });
    expect(await again.json()).toEqual({ path: "/outer", inner: 201 });
    world.assertEffects(2);
  },
);
