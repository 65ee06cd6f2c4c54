import { once } from "node:events";
import { connect } from "node:net";

import { describe, expect, test } from "vitest";

import {
  createProviderClient,
  ProviderRules,
  startFakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import {
  HOUR_MS,
  refund,
  provider,
  client,
  errorOf,
  create,
  rawPost,
  rawGet,
} from "./fake-provider-harness.ts";

describe("creating and looking up", () => {
  test("an effect is answered, listed and in the ledger", async () => {
    const effect = await create({ key: "k1", tag: "t1", account: "a1" });
    expect(effect).toEqual({
      ...refund.body,
      id: "eff_1",
      operation: "refund",
      status: "succeeded",
      tag: "t1",
      account: "a1",
    });
    expect(provider.ledger()).toEqual([
      {
        effectId: "eff_1",
        atMs: expect.any(Number),
        operation: "refund",
        key: "k1",
        tag: "t1",
        body: refund.body,
        account: "a1",
      },
    ]);
    expect(await client.findEffects({ tag: "t1" })).toEqual([effect]);
    expect(await client.findEffects({ key: "k1" })).toEqual([effect]);
    expect(await client.findEffects({ tag: "other" })).toEqual([]);
    expect(await client.findEffects({ tag: "t1", account: "a2" })).toEqual([]);
    expect(await client.getEffect("eff_1")).toEqual(effect);
    expect((await errorOf(client.getEffect("eff_9"))).status).toBe(404);
  });

  test("without tag and account the answer is id, operation, status and the body", async () => {
    const answer = await rawPost("/effects/refund", '{"status":"mine","memo":null}');
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      memo: null,
      id: "eff_1",
      operation: "refund",
      status: "succeeded",
    });
  });

  test("arrivals keep raw body, headers and one order with the look-ups", async () => {
    await rawPost("/effects/refund", '{ "a":1 }', { "Idempotency-Key": "k1", "X-Trace": "7" });
    await client.findEffects({ key: "k1" });
    await create();
    expect(provider.arrivals()).toMatchObject([
      {
        sequence: 1,
        operation: "refund",
        key: "k1",
        bodyText: '{ "a":1 }',
        complete: true,
        headers: { "idempotency-key": "k1", "x-trace": "7" },
      },
      { sequence: 3, key: null },
    ]);
    expect(provider.lookUps()).toMatchObject([{ sequence: 2, query: { key: "k1" } }]);
    expect(provider.counters()).toEqual({
      arrivals: 2,
      lookUps: 1,
      effects: 2,
      replays: 0,
      errors: 0,
    });
  });

  test("lookUpLagMs hides an effect from the list, never from the judge", async () => {
    provider.behave({ lookUpLagMs: HOUR_MS });
    await create({ tag: "t1" });
    expect(await client.findEffects({ tag: "t1" })).toEqual([]);
    expect(provider.count()).toBe(1);
    expect((await client.getEffect("eff_1")).id).toBe("eff_1");
    provider.advance(HOUR_MS);
    expect(await client.findEffects({ tag: "t1" })).toHaveLength(1);
  });

  test("pendingMs: pending, then succeeded; a replay still tells the stored answer", async () => {
    provider.behave({ pendingMs: HOUR_MS });
    expect((await create({ key: "k1" })).status).toBe("pending");
    provider.advance(HOUR_MS);
    expect((await client.getEffect("eff_1")).status).toBe("succeeded");
    expect((await create({ key: "k1" })).status).toBe("pending");
  });

  test("look-ups can fail or be cut", async () => {
    provider.behave({ lookUps: "fail" });
    expect((await errorOf(client.findEffects({ tag: "t1" }))).code).toBe("look_up_failed");
    provider.behave({ lookUps: "drop" });
    expect((await errorOf(client.getEffect("eff_1"))).code).toBe("ECONNRESET");
    expect(provider.counters().lookUps).toBe(2);
  });
});

describe("client", () => {
  test("beforeWrite that throws: nothing arrives, and its own error is what rejects", async () => {
    const tooLate = new Error("too late");
    const beforeWrite = (): void => {
      throw tooLate;
    };
    await expect(create({ beforeWrite })).rejects.toBe(tooLate);
    await create();
    await expect(create({ beforeWrite })).rejects.toBe(tooLate);
    await rawGet("/health");
    expect(provider.arrivals()).toHaveLength(1);
    expect(provider.count()).toBe(1);
  });

  test("beforeWrite comes once the connection stands, cold and warm, once per call", async () => {
    const seen: number[] = [];
    const beforeWrite = (): void => void seen.push(provider.arrivals().length);
    await create({ beforeWrite });
    await create({ beforeWrite });
    expect(seen).toEqual([0, 1]);
    expect(provider.count()).toBe(2);
  });

  test("a stall in beforeWrite can't let a timed-out request slip out unseen", async () => {
    // Long enough for the connection to stand, and the stall is longer, whenever it begins.
    const timeoutMs = 1500;
    const untilMs = performance.now() + 2 * timeoutMs;
    const beforeWrite = (): void => {
      while (performance.now() < untilMs);
    };
    const error = await errorOf(create({ beforeWrite, timeoutMs }));
    // It was sent after the stall, and the client admits it.
    expect(error).toMatchObject({ code: "TIMEOUT", wroteBytes: true });
  });

  test("connection refused: wroteBytes is false", async () => {
    const gone = await startFakeProvider();
    await gone.close();
    const goneClient = createProviderClient({ url: gone.url });
    const error = await errorOf(goneClient.createEffect(refund));
    expect(error).toMatchObject({ code: "REFUSED", wroteBytes: false, name: "ProviderError" });
  });

  test("a signal that is already aborted sends nothing", async () => {
    const error = await errorOf(create({ signal: AbortSignal.abort("stop") }));
    expect(error).toMatchObject({ code: "ABORTED", wroteBytes: false, cause: "stop" });
    await rawGet("/health");
    expect(provider.arrivals()).toHaveLength(0);
  });

  test("an abort while the connection is being made sends nothing", async () => {
    const abort = new AbortController();
    let hookCalls = 0;
    const call = create({ signal: abort.signal, beforeWrite: () => void (hookCalls += 1) });
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    abort.abort();
    expect(await errorOf(call)).toMatchObject({ code: "ABORTED", wroteBytes: false });
    await rawGet("/health");
    expect(hookCalls).toBe(0);
    expect(provider.arrivals()).toHaveLength(0);
  });

  test("it never retries and goes on after every fault on the same agent", async () => {
    provider.fault({ dropReplyAfterCommit: true }, { truncateBody: true }, { rateLimited: true });
    for (let call = 0; call < 3; call += 1) await errorOf(create());
    await create();
    expect(provider.arrivals()).toHaveLength(4);
    expect(provider.count()).toBe(3);
  });
});

describe("server", () => {
  test("bad JSON, unknown routes and bad control calls are answered", async () => {
    expect(await rawPost("/effects/refund", "{nope")).toMatchObject({
      status: 400,
      body: { error: { code: "invalid_body" } },
    });
    expect((await rawPost("/effects/refund", "[1]")).status).toBe(400);
    expect((await rawPost("/control/behaviour", "{nope")).status).toBe(400);
    expect((await rawPost("/control/behaviour", '{"lag":1}')).status).toBe(400);
    expect((await rawPost("/control/faults", '{"steps":[{"no":1}]}')).status).toBe(400);
    expect((await rawPost("/control/advance", "{}")).status).toBe(400);
    expect((await rawGet("/nowhere")).status).toBe(404);
    expect((await rawGet("/effects/%E0%A4")).status).toBe(400);
    expect((await rawPost("/effects", "{}")).status).toBe(404);
    expect(await rawGet("/health")).toEqual({ status: 200, body: { ok: true } });
    expect(provider.count()).toBe(0);
  });

  test("a client that leaves in mid-body arrives incomplete and is never executed", async () => {
    const socket = connect(Number(new URL(provider.url).port), "127.0.0.1");
    socket.write("POST /effects/refund HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n{");
    await once(socket, "connect");
    socket.end();
    await expect
      .poll(() => provider.arrivals())
      .toMatchObject([{ bodyText: "{", complete: false }]);
    socket.destroy();
    expect(provider.count()).toBe(0);
    await create();
    expect(provider.count()).toBe(1);
  });

  test("the judge can be asked over HTTP", async () => {
    await create();
    await create({ operation: "payout" });
    expect((await rawGet("/ledger")).body).toEqual(provider.ledger());
    expect((await rawGet("/ledger/count?operation=payout")).body).toEqual({ count: 1 });
    expect((await rawGet("/ledger/count")).body).toEqual({ count: 2 });
    expect((await rawGet("/arrivals")).body).toEqual(provider.arrivals());
  });
});

test("the rules run without HTTP, with a time of one's own choosing", () => {
  const rules = new ProviderRules({ behaviour: { retentionMs: 10 } });
  const request = {
    operation: "refund",
    key: "k1",
    tag: null,
    account: null,
    bodyText: "{}",
    headers: {},
  };
  rules.fault({ delayMs: 5 }, { gate: "g" });
  const late = rules.create(request, 0);
  expect(late.next(0).value).toEqual({ kind: "wait", ms: 5 });
  const second = rules.create(request, 10);
  expect(second.next(10).value).toEqual({ kind: "park", gate: "g" });
  expect(late.next(12).done).toBe(true);
  expect(second.next(15)).toMatchObject({ done: true, value: { answer: { status: 201 } } });
  expect(rules.ledger().map((row) => row.atMs)).toEqual([12, 15]);

  rules.fault({ gate: "h", thenReply: false });
  const unheard = rules.create({ ...request, key: null }, 20);
  expect(unheard.next(20).value).toEqual({ kind: "hang-up" });
  expect(unheard.next(20).value).toEqual({ kind: "park", gate: "h" });
  expect(unheard.next(30)).toEqual({ done: true, value: { kind: "cut" } });
  expect(rules.ledger().map((row) => row.atMs)).toEqual([12, 15, 30]);
});
