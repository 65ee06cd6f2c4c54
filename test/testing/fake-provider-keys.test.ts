import { describe, expect, test } from "vitest";

import { type ProviderError, type FaultStep } from "../../src/testing/fake-provider/index.ts";
import { HOUR_MS, provider, client, errorOf, create, rawPost } from "./fake-provider-harness.ts";

describe("keys", () => {
  test("a known key is replayed, says so, and has one effect", async () => {
    const headers = { "Idempotency-Key": "k1" };
    const first = await rawPost("/effects/refund", '{"a":1}', headers);
    const second = await rawPost("/effects/refund", '{"a":1}', headers);
    expect(first.headers.get("Idempotent-Replayed")).toBeNull();
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
    expect(second.body).toEqual(first.body);
    expect(provider.count()).toBe(1);
    expect(provider.counters().replays).toBe(1);
  });

  test("unkeyed: the header is ignored, and so is a search by key", async () => {
    provider.behave({ keys: "unkeyed" });
    await create({ key: "k1" });
    await create({ key: "k1" });
    expect(provider.count()).toBe(2);
    expect((await errorOf(client.findEffects({ key: "k1" }))).code).toBe("search_unsupported");
  });

  test("natural: the field's value is taken once per account and operation", async () => {
    provider.behave({ keys: "natural" });
    const body = { reference: "r1" };
    await create({ body });
    const refusal = await errorOf(create({ body, key: "other" }));
    expect(refusal).toMatchObject({ status: 409, code: "already_exists" });
    expect(refusal.body).not.toHaveProperty("error.existingId");
    provider.behave({ naturalTellsId: true });
    expect((await errorOf(create({ body }))).body).toHaveProperty("error.existingId", "eff_1");
    await create({ body, account: "a2" });
    await create({ body, operation: "payout" });
    await create();
    await create();
    expect(provider.count()).toBe(5);
    provider.behave({ naturalField: "orderId" });
    expect((await errorOf(create())).code).toBe("already_exists");
    expect(provider.count()).toBe(5);
  });

  test("a key is forgotten retentionMs after its first arrival, replays or not", async () => {
    provider.behave({ retentionMs: 24 * HOUR_MS });
    await create({ key: "k1" });
    provider.advance(23 * HOUR_MS);
    await create({ key: "k1" });
    expect(provider.count()).toBe(1);
    provider.advance(HOUR_MS);
    await create({ key: "k1" });
    expect(provider.count()).toBe(2);
  });

  test("another body or operation under a known key is a mismatch, another account is not", async () => {
    await create({ key: "k1" });
    const other = await errorOf(create({ key: "k1", body: { amountMinor: 1 } }));
    expect(other).toMatchObject({ status: 400, code: "idempotency_mismatch" });
    const elsewhere = await errorOf(create({ key: "k1", operation: "payout" }));
    expect(elsewhere.code).toBe("idempotency_mismatch");
    expect(provider.count()).toBe(1);
    await create({ key: "k1", account: "a2" });
    expect(provider.count()).toBe(2);
  });

  test("atomic keys: a second request in flight is refused with key_in_use", async () => {
    provider.fault({ gate: "g" });
    const first = create({ key: "k1" });
    await provider.parked("g");
    const second = await errorOf(create({ key: "k1" }));
    expect(second).toMatchObject({ status: 409, code: "key_in_use", wroteBytes: true });
    provider.release("g");
    expect((await first).id).toBe("eff_1");
    expect(provider.count()).toBe(1);
  });

  test("non-atomic keys: two in flight both run, a third is replayed", async () => {
    provider.behave({ atomicKeys: false, delayMs: HOUR_MS });
    const both = Promise.all([create({ key: "k1" }), create({ key: "k1" })]);
    await expect.poll(() => provider.counters().arrivals).toBe(2);
    expect(provider.count()).toBe(0);
    provider.advance(HOUR_MS);
    expect((await both).map((effect) => effect.id).toSorted()).toEqual(["eff_1", "eff_2"]);
    expect((await create({ key: "k1" })).id).toBe("eff_1");
    expect(provider.count()).toBe(2);
  });

  test("a key forgotten while it executes runs twice, and the newer record stays", async () => {
    provider.behave({ retentionMs: HOUR_MS });
    provider.fault({ gate: "g" });
    const first = create({ key: "k1" });
    await provider.parked("g");
    provider.advance(HOUR_MS);
    const second = await create({ key: "k1" });
    provider.release("g");
    await first;
    expect(provider.count()).toBe(2);
    expect((await create({ key: "k1" })).id).toBe(second.id);
  });
});

describe("what a key keeps", () => {
  const decline: FaultStep = { decline: true };
  const failure: FaultStep = { status: 500, effect: false };

  test.each([
    { saves: "all", fault: decline, second: "card_declined", effects: 0 },
    { saves: "all", fault: failure, second: "provider_error", effects: 0 },
    { saves: "success-only", fault: decline, second: "eff_1", effects: 1 },
    { saves: "success-only", fault: failure, second: "eff_1", effects: 1 },
    { saves: "no-declines", fault: decline, second: "eff_1", effects: 1 },
    { saves: "no-declines", fault: failure, second: "provider_error", effects: 0 },
    { saves: "burns", fault: decline, second: "key_burnt", effects: 0 },
    { saves: "burns", fault: failure, second: "key_burnt", effects: 0 },
  ] as const)("$saves: after $fault comes $second", async ({ saves, fault, second, effects }) => {
    provider.behave({ saves });
    provider.fault(fault);
    await errorOf(create({ key: "k1" }));
    const outcome = await create({ key: "k1" }).then(
      (effect) => effect.id,
      (refusal: ProviderError) => refusal.code,
    );
    expect(outcome).toBe(second);
    expect(provider.count()).toBe(effects);
  });

  test("a replayed decline carries the header", async () => {
    provider.fault(decline);
    const headers = { "Idempotency-Key": "k1" };
    await rawPost("/effects/refund", "{}", headers);
    const second = await rawPost("/effects/refund", "{}", headers);
    expect(second.status).toBe(402);
    expect(second.headers.get("Idempotent-Replayed")).toBe("true");
  });

  test("a burnt key is refused for ever, retention or not", async () => {
    provider.behave({ saves: "burns", retentionMs: HOUR_MS });
    provider.fault(failure);
    await errorOf(create({ key: "k1" }));
    provider.advance(1000 * HOUR_MS);
    expect(await errorOf(create({ key: "k1" }))).toMatchObject({ status: 409, code: "key_burnt" });
    expect(provider.count()).toBe(0);
  });

  test("a 500 with an effect that the key doesn't keep: a resend doubles the effect", async () => {
    provider.fault({ status: 500, effect: true, saved: false });
    expect((await errorOf(create({ key: "k1" }))).status).toBe(500);
    expect(provider.count()).toBe(1);
    await create({ key: "k1" });
    expect(provider.count()).toBe(2);
  });

  test("saved: true keeps an error that the behaviour would let go", async () => {
    provider.behave({ saves: "success-only" });
    provider.fault({ status: 503, effect: true, saved: true });
    await errorOf(create({ key: "k1" }));
    expect((await errorOf(create({ key: "k1" }))).status).toBe(503);
    expect(provider.count()).toBe(1);
  });

  test("saved: success is a gateway's 504 over an effect that the key knows", async () => {
    provider.fault({ status: 504, effect: true, saved: "success" });
    const error = await errorOf(create({ key: "k1" }));
    expect(error).toMatchObject({ status: 504, code: "gateway_error" });
    expect((await create({ key: "k1" })).id).toBe("eff_1");
    expect(provider.count()).toBe(1);
  });
});
