import { describe, expect, test } from "vitest";

import { type FaultStep } from "../../src/testing/fake-provider/index.ts";
import { HOUR_MS, provider, errorOf, create, rawPost, rawGet } from "./fake-provider-harness.ts";

describe("faults", () => {
  test("dropReplyAfterCommit: one effect, no answer, bytes were written", async () => {
    provider.fault({ dropReplyAfterCommit: true });
    const error = await errorOf(create({ key: "k1" }));
    expect(error).toMatchObject({ code: "ECONNRESET", status: undefined, wroteBytes: true });
    expect(provider.count()).toBe(1);
    expect((await create({ key: "k1" })).id).toBe("eff_1");
    expect(provider.count()).toBe(1);
  });

  test("failBeforeCommit: no effect, no trace of the key, but an arrival", async () => {
    provider.behave({ saves: "burns" });
    provider.fault({ failBeforeCommit: true });
    const error = await errorOf(create({ key: "k1" }));
    expect(error).toMatchObject({ code: "ECONNRESET", wroteBytes: true });
    expect(provider.count()).toBe(0);
    expect(provider.arrivals()).toHaveLength(1);
    await create({ key: "k1" });
    expect(provider.count()).toBe(1);
  });

  test("status with a 2xx: an acceptance with or without an effect", async () => {
    provider.fault({ status: 202, effect: false }, { status: 200, effect: true });
    expect(await rawPost("/effects/refund", "{}")).toMatchObject({
      status: 202,
      body: { operation: "refund", status: "accepted" },
    });
    expect(provider.count()).toBe(0);
    expect(await rawPost("/effects/refund", "{}")).toMatchObject({
      status: 200,
      body: { id: "eff_1" },
    });
    expect(provider.count()).toBe(1);
  });

  test("delayMs: the effect lands later, with the client long gone", async () => {
    provider.fault({ delayMs: HOUR_MS });
    const abort = new AbortController();
    const call = errorOf(create({ signal: abort.signal }));
    await expect.poll(() => provider.arrivals().length).toBe(1);
    abort.abort();
    expect(await call).toMatchObject({ code: "ABORTED", wroteBytes: true });
    expect(provider.count()).toBe(0);
    provider.advance(HOUR_MS - 60_000);
    expect(provider.count()).toBe(0);
    provider.advance(60_000);
    expect(provider.count()).toBe(1);
  });

  test("delayMs without a reply: the client hears at once, the effect lands later", async () => {
    provider.fault({ delayMs: HOUR_MS, thenReply: false });
    expect((await errorOf(create({ key: "k1" }))).code).toBe("ECONNRESET");
    expect(provider.count()).toBe(0);
    expect((await errorOf(create({ key: "k1" }))).code).toBe("key_in_use");
    provider.advance(HOUR_MS);
    expect(provider.count()).toBe(1);
  });

  test("delayMs passes by itself in real time", async () => {
    provider.fault({ delayMs: 20 });
    await create();
    const [row] = provider.ledger();
    const [arrival] = provider.arrivals();
    expect((row?.atMs ?? 0) - (arrival?.atMs ?? 0)).toBeGreaterThanOrEqual(20);
  });

  test("replyDelayMs: the effect is there before the reply", async () => {
    provider.fault({ replyDelayMs: HOUR_MS });
    const reply = create();
    await expect.poll(() => provider.count()).toBe(1);
    provider.advance(HOUR_MS);
    expect((await reply).id).toBe("eff_1");
  });

  test("truncateBody: the effect lands, half the body comes", async () => {
    provider.fault({ truncateBody: true });
    const error = await errorOf(create());
    expect(error).toMatchObject({ code: "TRUNCATED", status: 201, wroteBytes: true });
    expect(provider.count()).toBe(1);
  });

  test("keyInUse and rateLimited come before execution and keep nothing", async () => {
    provider.fault({ keyInUse: true }, { rateLimited: true });
    const inUse = await errorOf(create({ key: "k1" }));
    expect(inUse).toMatchObject({ status: 409, code: "key_in_use" });
    const limited = await errorOf(create({ key: "k1" }));
    expect(limited).toMatchObject({ status: 429, code: "rate_limited" });
    expect(provider.count()).toBe(0);
    expect((await create({ key: "k1" })).id).toBe("eff_1");
  });

  test("the queue is taken in order; the sticky default fills in; pass lets through", async () => {
    provider.faultAlways({ rateLimited: true });
    provider.fault({ decline: true }, { pass: true });
    expect((await errorOf(create())).code).toBe("card_declined");
    expect((await create()).id).toBe("eff_1");
    expect((await errorOf(create())).code).toBe("rate_limited");
    expect((await errorOf(create())).code).toBe("rate_limited");
    provider.faultAlways(null);
    await create();
    expect(provider.count()).toBe(2);
  });

  test("a replay feels the faults of the way back, not those of execution", async () => {
    await create({ key: "k1" });
    provider.fault({ dropReplyAfterCommit: true }, { status: 500, effect: true });
    expect((await errorOf(create({ key: "k1" }))).code).toBe("ECONNRESET");
    expect((await create({ key: "k1" })).id).toBe("eff_1");
    expect(provider.count()).toBe(1);
  });

  test("misspelt faults and options are refused", () => {
    const steps: unknown[] = [
      {},
      { drop: true },
      { status: 500 },
      { status: 99, effect: true },
      { status: 504, effect: false, saved: "success" },
      { decline: false },
      { gate: "g", before: "lunch" },
      { delayMs: -1 },
      { decline: true, truncateBody: true },
    ];
    for (const step of steps) expect(() => provider.fault(step as FaultStep)).toThrow(TypeError);
    expect(() => provider.behave({ retension: 1 } as object)).toThrow("retension");
    expect(() => provider.behave({ saves: "some" } as object)).toThrow("saves");
    expect(() => provider.advance(-1)).toThrow(TypeError);
  });
});

describe("gates", () => {
  test("before the effect: nothing lands until release, though the client has left", async () => {
    provider.fault({ gate: "g" });
    const abort = new AbortController();
    const call = errorOf(create({ signal: abort.signal }));
    await provider.parked("g");
    abort.abort();
    expect(await call).toMatchObject({ code: "ABORTED", wroteBytes: true });
    expect(provider.count()).toBe(0);
    provider.release("g");
    expect(provider.count()).toBe(1);
  });

  test("before the reply: the effect is there, the reply waits", async () => {
    provider.fault({ gate: "g", before: "reply" });
    const reply = create();
    await provider.parked("g");
    expect(provider.count()).toBe(1);
    provider.release("g");
    expect((await reply).id).toBe("eff_1");
  });

  test("before the key: overtaken by a second request, then replayed", async () => {
    provider.fault({ gate: "g", before: "key" });
    const first = create({ key: "k1" });
    await provider.parked("g");
    const second = await create({ key: "k1" });
    provider.release("g");
    expect(await first).toEqual(second);
    expect(provider.count()).toBe(1);
  });

  test("without a reply: cut at once, landing at release", async () => {
    provider.fault({ gate: "g", thenReply: false });
    expect((await errorOf(create())).code).toBe("ECONNRESET");
    expect(provider.count()).toBe(0);
    provider.release("g");
    expect(provider.count()).toBe(1);
  });

  test("several wait at one gate and go on together; an empty gate can't be released", async () => {
    provider.faultAlways({ gate: "g" });
    const calls = Promise.all([create(), create(), create()]);
    await provider.parked("g", 3);
    expect((await rawGet("/control/parked")).body).toEqual(["g", "g", "g"]);
    provider.release("g");
    await calls;
    expect(provider.count()).toBe(3);
    expect(() => provider.release("g")).toThrow("nobody is parked");
    expect((await rawPost("/control/release", '{"gate":"g"}')).status).toBe(409);
  });

  test("reset cuts what is under way and forgets everything", async () => {
    provider.behave({ keys: "unkeyed" });
    await create({ key: "k1" });
    provider.fault({ gate: "g" }, { delayMs: HOUR_MS }, { decline: true });
    const parked = errorOf(create({ key: "k1" }));
    const delayed = errorOf(create({ key: "k1" }));
    await provider.parked("g");
    await expect.poll(() => provider.arrivals().length).toBe(3);
    provider.reset();
    expect([(await parked).code, (await delayed).code]).toEqual(["ECONNRESET", "ECONNRESET"]);
    expect(() => provider.release("g")).toThrow("nobody is parked");
    provider.advance(HOUR_MS);
    expect(provider.counters()).toMatchObject({ arrivals: 0, effects: 0, errors: 0 });
    await create({ key: "k1" });
    expect((await create({ key: "k1" })).id).toBe("eff_2");
    expect(provider.count()).toBe(1);
  });
});
