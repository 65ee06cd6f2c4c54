/**
 * Two public suites of scenarios: idempot-dev's feature file for the Idempotency-Key header, and
 * idemkit's vectors. Where they agree with the draft they are in routes.test.ts, outcomes.test.ts,
 * bodies.test.ts and at the top here. Where they and this edge part:
 *
 * - idempot-dev: "another key with the same body gets 409". Two equal payments are two effects.
 * - idempot-dev: keys have at least 21 characters, and no comma. The draft knows neither rule; a comma
 *   inside the quoted form is a character, outside it is a second field.
 * - idempot-dev: PUT and DELETE pass by. Here the application chooses its routes, whatever the method.
 * - idempot-dev: problems name a section of the draft. Here they name this service's own policy.
 * - idempot-dev: `x-idempotent-replayed`, idemkit: `Idempotency-Replayed`. Most services send
 *   `Idempotent-Replayed`.
 * - idemkit: a 5xx, a crash, a record that can't be read and a body too large to keep let the next
 *   request run again. Each of them can double an effect; here the outcome is unknown, or done, and
 *   nothing like `Idempotency-Replay-Unavailable` is needed.
 * - idemkit: 423 while the first is in flight. The draft says 409; a service may say otherwise.
 * - idemkit, queues (test/effects/inbox.test.ts): a lease shorter than the broker's visibility time. The
 *   inbox has no lease: its row commits with the change. A duplicate is told so, and gets no result.
 * - idemkit, tools (test/scenarios): the key comes from chosen arguments, a call that raised is free
 *   again, a result that can't be kept is an error. Here the key comes from the intent, what was raised
 *   proves nothing, and the operation is done all the same. Nothing is pickled.
 */
import { expect, it, onTestFinished } from "vitest";
import { type HttpOptions, createHttpEdge } from "../../../src/edges/http/index.ts";
import { createGuard, days, isNeverTwiceError } from "../../../src/index.ts";
import { passThroughGuard } from "../../support/pass-through.ts";
import { describeStores, openSqlite } from "../../support/stores.ts";
import {
  contract,
  createHttpWorld,
  edgeOptions,
  gate,
  httpScenario,
  problemOf,
  requestOf,
} from "./world.ts";

httpScenario(
  "the first request leaves one record: done, with status and body; its repetitions leave none",
  async (world) => {
    for (let round = 1; round <= 4; round += 1) await world.send();
    const [row, ...others] = await world.rows();
    expect(others).toEqual([]);
    expect([row?.status, row?.attempts]).toEqual(["DONE", 1]);
    expect(JSON.parse(row?.result ?? "")).toMatchObject({
      status: 201,
      body: { text: JSON.stringify({ refund: world.provider.ledger()[0]?.effectId }) },
    });
    world.assertEffects(1);
  },
);

httpScenario(
  "an empty body is a body like any other: its repetition is one, and {} is another payload",
  async (world) => {
    const route = world.route({ name: "empty" }, async (request) => {
      await world.refund({ text: await request.text() });
      return new Response("made", { status: 201 });
    });
    const [first, again] = [
      await world.send({ route, body: "" }),
      await world.send({ route, body: "" }),
    ];
    expect([first.status, await first.text()]).toEqual([201, "made"]);
    expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect((await world.send({ route, body: "{}" })).status).toBe(422);
    world.assertEffects(1);
  },
);

httpScenario(
  "each refusal is a problem document with a type of the policy, a title and a detail",
  async (world) => {
    world.provider.fault({ gate: "slow" });
    const first = world.send();
    await world.provider.parked("slow");
    const refusals = [
      await world.send({ key: null }),
      await world.send({ key: "" }),
      await world.send({ key: "x".repeat(256) }),
      await world.send({ key: "a,b" }),
      await world.send({ body: { other: true } }),
      await world.send(),
    ];
    world.provider.release("slow");
    expect((await first).status).toBe(201);
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 400, 422, 409]);
    for (const refusal of refusals) {
      expect(refusal.headers.get("content-type")).toBe("application/problem+json");
      expect(await refusal.json()).toMatchObject({
        type: expect.stringMatching(/^https:\/\/service\.example\/idempotency#[a-z-]+$/) as unknown,
        title: expect.stringMatching(/^[A-Z].+/) as unknown,
        detail: expect.stringMatching(/^[A-Z].+\.$/) as unknown,
        status: refusal.status,
      });
    }
    world.assertEffects(1);
  },
);

httpScenario(
  "two keys with one body are two effects, and each key has its own once",
  async (world) => {
    for (const key of ["key1-12345678901234567", "key2-12345678901234567", "1", '"with,comma"'])
      for (let round = 1; round <= 2; round += 1)
        expect((await world.send({ key })).status).toBe(201);
    world.assertEffects(4);
  },
);

httpScenario(
  "PUT and DELETE are guarded where the application says so; GET and HEAD never are",
  async (world) => {
    for (const method of ["PUT", "DELETE", "PATCH"]) {
      await world.send({ method });
      expect((await world.send({ method })).headers.get("idempotent-replayed")).toBe("true");
    }
    const read = world.route({ name: "read" }, async (request, call) => {
      expect(call.operation).toBeNull();
      return new Response(request.method === "HEAD" ? null : "state");
    });
    for (const method of ["GET", "HEAD", "GET", "HEAD"])
      expect((await world.send({ route: read, method })).status).toBe(200);
    expect(await world.rows()).toHaveLength(3);
    world.assertEffects(3);
  },
);

httpScenario(
  "a record that can't be read is no free key: a person is asked, and nothing runs",
  async (world) => {
    await world.send();
    await world.opened.sql("update :schema.operations set result = '{'");
    for (let round = 1; round <= 2; round += 1)
      expect(await problemOf(await world.send())).toMatchObject({
        status: 500,
        type: "record-corrupt",
        code: "RECORD_CORRUPT",
      });
    expect(world.runs.count).toBe(1);
    world.assertEffects(1);
  },
);

httpScenario(
  "a result that is no response of ours says that it was done, and nothing more",
  async (world) => {
    await world.send();
    await world.opened.sql("update :schema.operations set result = '{}'");
    const answer = await world.send();
    expect([answer.status, answer.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
    expect(((await answer.json()) as { type: string }).type).toMatch(/#body-not-stored$/);
    world.assertEffects(1);
  },
);

httpScenario(
  "a worker that dies after the claim leaves a key that nobody runs again by itself",
  async (world) => {
    const died = [gate(), gate()];
    const route = world.route({ name: "dying" }, async (request) => {
      await world.refund(await request.json());
      died[world.runs.count - 1]?.open();
      return new Promise<Response>(() => {});
    });
    void world.send({ route });
    await died[0]?.wait;
    world.clock.advance(60_000);
    const again = world.send({ route });
    await Promise.race([again, died[1]?.wait]);
    world.assertEffects(1);
    expect((await problemOf(await again)).code).toBe("NEEDS_REVIEW");
  },
);

describeStores("statuses, types and titles", (suite) => {
  it("are the application's to change, in the answers and in the published policy", async () => {
    const world = await createHttpWorld(suite, passThroughGuard);
    const http = createHttpEdge<unknown>({
      ...edgeOptions,
      guard: world.guard,
      problems: {
        "key-missing": { status: 428, type: "https://docs.example/key", title: "Send a key" },
        "in-progress": { status: 423 },
      },
    });
    const route = http.route({ name: "changed", key: "required", contract }, () => new Response());
    const answer = await route.handle(requestOf({ key: null }), undefined);
    expect([answer.status, await answer.json()]).toEqual([
      428,
      expect.objectContaining({
        type: "https://docs.example/key",
        title: "Send a key",
        status: 428,
      }),
    ]);
    const policy = (await http.policyResponse().json()) as ReturnType<typeof http.policy>;
    expect(policy.problems.find(({ code }) => code === "IN_PROGRESS")?.status).toBe(423);
    expect(policy).toMatchObject({
      specification: "draft-ietf-httpapi-idempotency-key-header-07",
      expiry: { settledAfterSeconds: 45 * 86_400, unsettled: "never" },
      scope: ["tenant", "principal", "method", "path"],
      routes: [
        { name: "changed", key: "required", fingerprint: { body: "whole", query: "whole" } },
      ],
    });
    expect(answer.headers.get("link")).toBe(
      '<https://service.example/idempotency>; rel="describedby"',
    );
  });
});

it.each([
  ["tenant", { tenant: undefined }],
  ["principal", { principal: undefined }],
  ["policyUrl", { policyUrl: "not a url" }],
  ["retentionMs", { retentionMs: days(30) }],
  ["guard", { guard: undefined }],
])("an edge without a proper %s is refused at start-up", (part, change) => {
  const guard = { run: () => Promise.reject(new Error()), retentionMs: days(45) };
  const options = { ...edgeOptions, guard, ...change };
  try {
    createHttpEdge(options as unknown as HttpOptions<undefined>);
    expect.unreachable();
  } catch (error) {
    expect(isNeverTwiceError(error, "CONFIGURATION_INVALID")).toBe(true);
    expect((error as Error).message).toContain(`\`${part}\``);
  }
});

it("the policy tells the guard's own retention, and a promise of another is refused", async () => {
  const opened = await openSqlite();
  onTestFinished(() => opened.close());
  const guard = await createGuard({ store: opened.store, retentionMs: days(90) });
  const kept = (options: Partial<HttpOptions<unknown>>): number =>
    createHttpEdge<unknown>({ ...edgeOptions, guard, ...options }).policy().expiry
      .settledAfterSeconds;
  expect([kept({}), kept({ guard: () => guard })]).toEqual([90 * 86_400, 90 * 86_400]);
  const later = { there: undefined as typeof guard | undefined };
  const lazy = (() => later.there) as () => typeof guard;
  expect(() => kept({ guard: lazy })).toThrowError(/`guard` isn't there yet/);
  const early = createHttpEdge<unknown>({ ...edgeOptions, guard: lazy, retentionMs: days(45) });
  expect(early.policy().expiry.settledAfterSeconds).toBe(45 * 86_400);
  later.there = guard;
  expect(() => early.policy()).toThrowError(/`retentionMs` promises/);
  // Nor does a request run under a promise that isn't kept.
  const route = early.route({ name: "r", key: "required", contract }, () => new Response());
  const answer = await route.handle(requestOf({}), undefined);
  expect(answer.status).toBe(500);
  expect(JSON.stringify(await answer.json())).toContain("CONFIGURATION_INVALID");
});

it.each([
  ["key", { key: "sometimes" }],
  ["fields", { fingerprint: { fields: [] } }],
  ["pick", { fingerprint: { fields: ["a"], pick: () => null } }],
  ["Set-Cookie", { replayHeaders: ["Set-Cookie"] }],
  ["maxBodyBytes", { maxBodyBytes: 0 }],
  ["maxResponseBytes", { maxResponseBytes: Number.NaN }],
])("a route whose %s makes no sense is refused at start-up", (_part, change) => {
  const http = createHttpEdge<unknown>({
    ...edgeOptions,
    guard: { run: () => Promise.reject(new Error()), retentionMs: days(45) },
  });
  const options = { name: "r", key: "required", contract, ...change } as never;
  expect(() => http.route(options, () => new Response())).toThrowError(/can't be set up/);
});

httpScenario("a blank tenant or principal is refused, and is nobody's key", async (world) => {
  for (const change of [{ tenant: "" }, { principal: "" }])
    expect(await problemOf(await world.send(change))).toMatchObject({
      status: 400,
      type: "intent-invalid",
    });
  expect(await world.rows()).toEqual([]);
  await world.send();
  await world.send();
  world.assertEffects(1);
});
