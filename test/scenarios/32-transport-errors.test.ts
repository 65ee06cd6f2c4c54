/**
 * Errors of the way there and back: each is a reason to look, and none is a reason to run again
 * (cases 53, 54 and 55; R13). Told by the provider's ledger.
 */
import { expect } from "vitest";
import type { Tool } from "../../src/index.ts";
import { ProviderError } from "../../src/testing/fake-provider/index.ts";
import { executeRefund, refundArgs, scenario, type World } from "../support/world.ts";

/** Makes the effect, and then throws. */
function throwing(world: World, thrown: () => unknown): Tool["execute"] {
  const send = executeRefund(world.client);
  return async (args, call) => {
    await send(args, call);
    throw thrown();
  };
}

class CustomError extends Error {
  readonly big = 1n;
  readonly self = this;
}

function coded(code: string): Error {
  return Object.assign(new Error(code), { code });
}

const afterTheEffect: [name: string, thrown: () => unknown][] = [
  ["ETIMEDOUT", () => coded("ETIMEDOUT")],
  ["ECONNRESET", () => coded("ECONNRESET")],
  ["UND_ERR_HEADERS_TIMEOUT", () => coded("UND_ERR_HEADERS_TIMEOUT")],
  // Codes that sound like "not sent" prove nothing by their name.
  ["ECONNREFUSED", () => coded("ECONNREFUSED")],
  ["ENOTFOUND", () => coded("ENOTFOUND")],
  ["NOT_SENT", () => coded("NOT_SENT")],
  ["an abort", () => new DOMException("aborted", "AbortError")],
  ["a truncated body", () => new SyntaxError("Unexpected end of JSON input")],
  ["a class of its own", () => new CustomError("custom")],
  ["an error without a message", () => new Error("")],
  ["null", () => null],
  ["undefined", () => undefined],
  ["a text", () => "it broke"],
  ["a number", () => 500],
  ["a symbol", () => Symbol("broken")],
  ["a bigint", () => 1n],
  ["a logger that is down", () => new Error("logging failed")],
  ["text with a NUL and half a character", () => new Error("a\0b\uD800")],
  ["an endless text", () => new Error("x".repeat(100_000))],
];

const hardToRead: [name: string, thrown: () => unknown][] = [
  ["an object without a prototype", () => Object.create(null) as unknown],
  [
    "an object that can't be made a text",
    () => ({
      toString: () => {
        throw new Error("no");
      },
    }),
  ],
  [
    "a getter that throws",
    () => ({
      get code() {
        throw new Error("no");
      },
    }),
  ],
  ["a message that is no text", () => Object.assign(new Error("x"), { message: { reason: 1 } })],
  ["a message that is missing", () => Object.assign(new Error("x"), { message: undefined })],
];

for (const [title, list] of [
  ["whatever is thrown after the effect, the outcome is unknown and then found", afterTheEffect],
  ["an error that can hardly be read is an unknown outcome like any other", hardToRead],
] as const) {
  scenario(title, {}, async (world) => {
    const told: Record<string, readonly string[]> = {};
    for (const [index, [name, thrown]] of list.entries()) {
      const tool = world.tool({ name: `tool-${index}`, execute: throwing(world, thrown) });
      const args = { ...refundArgs, ticketId: `${index}` };
      const calls = [];
      for (let call = 1; call <= 5; call += 1) calls.push((await world.run({ tool, args })).told);
      told[name] = calls;
    }
    const unknownThenFound = ["OUTCOME_UNKNOWN", ...Array<string>(4).fill("REPLAYED")];
    expect(told).toEqual(Object.fromEntries(list.map(([name]) => [name, unknownThenFound])));
    expect(world.provider.arrivals()).toHaveLength(list.length);
    world.assertEffects(list.length);
  });
}

scenario(
  "an error that says nothing was sent is believed only from the guard's own hand",
  {},
  async (world) => {
    // Made for one call, thrown by another.
    let stolen: Error | undefined;
    const send = executeRefund(world.client);
    const tool = world.tool({
      execute: async (args: Record<string, unknown>, call: Parameters<Tool["execute"]>[1]) => {
        if (stolen === undefined) {
          stolen = call.notSent("the name could not be resolved");
          throw stolen;
        }
        await send(args, call);
        throw stolen;
      },
    });
    const first = await world.run({ tool });
    const second = await world.run({ tool });
    const third = await world.run({ tool });

    expect([first.told, second.told, third.told]).toEqual([
      "NOT_SENT",
      "OUTCOME_UNKNOWN",
      "REPLAYED",
    ]);
    world.assertEffects(1);
  },
);

scenario(
  "a provider that can't be reached gets nothing, and the same call goes through later",
  {},
  async (world) => {
    const reachable = executeRefund(world.client);
    let up = false;
    const tool = world.tool({
      execute: async (args: Record<string, unknown>, call: Parameters<Tool["execute"]>[1]) => {
        if (up) return reachable(args, call);
        const refused = new ProviderError("refused", { code: "REFUSED", wroteBytes: false });
        throw call.notSent(refused);
      },
    });
    const told = [];
    for (let call = 1; call <= 3; call += 1) told.push((await world.run({ tool })).told);
    up = true;
    told.push((await world.run({ tool })).told, (await world.run({ tool })).told);

    expect(told).toEqual(["NOT_SENT", "NOT_SENT", "NOT_SENT", "EXECUTED", "REPLAYED"]);
    expect((await world.row()).attempts).toBe(1);
    world.assertEffects(1);
  },
);

scenario("a body that breaks off after the effect is found", {}, async (world) => {
  world.provider.fault({ truncateBody: true });
  const told = [(await world.run()).told, (await world.run()).told];

  expect(told).toEqual(["OUTCOME_UNKNOWN", "REPLAYED"]);
  expect(world.provider.arrivals()).toHaveLength(1);
  world.assertEffects(1);
});

scenario(
  "a retry middleware around the guard can do no harm, however blind it is",
  { lookUp: false },
  async (world) => {
    world.provider.faultAlways({ dropReplyAfterCommit: true });
    const told = [];
    for (let call = 1; call <= 9; call += 1) told.push((await world.run()).told);

    expect(told).toEqual([
      ...Array<string>(5).fill("OUTCOME_UNKNOWN"),
      ...Array<string>(4).fill("NEEDS_REVIEW"),
    ]);
    expect(new Set(world.provider.arrivals().map(({ key }) => key)).size).toBe(1);
    world.assertEffects(1);
  },
);

scenario(
  "a provider's own conflict, that the key is in use, is an unknown outcome and no failure",
  {},
  async (world) => {
    world.provider.fault({ gate: "first" });
    const first = world.run();
    await world.provider.parked("first");
    world.advance(60_000);
    // The look-up finds nothing yet, so the same request goes out again and meets its twin.
    const second = await world.run({ guard: await world.another() });
    world.provider.release("first");

    expect(second.told).toBe("OUTCOME_UNKNOWN");
    expect(second.error).toMatchObject({ cause: { status: 409, code: "key_in_use" } });
    expect((await first).told).toBe("EXECUTED");
    expect((await world.run()).told).toBe("REPLAYED");
    const [one, two] = world.provider.arrivals();
    expect([two?.key, two?.bodyText]).toEqual([one?.key, one?.bodyText]);
    world.assertEffects(1);
  },
);

const natural = { keys: "natural", naturalField: "orderId" } as const;

scenario(
  "a resend that is told that it already exists makes the guard look, and adopt what is there",
  {
    behaviour: natural,
    contract: {
      key: { shape: "hex", retentionMs: 1e12, atomic: true, afterError: "burnt" },
    },
  },
  async (world) => {
    const tool = world.tool({ contract: { classify: hastyClassifier } });
    world.provider.fault({ dropReplyAfterCommit: true });
    const first = await world.run({ tool });
    world.provider.behave({ lookUps: "fail" });
    const second = await world.run({ tool });
    expect((await world.row()).status).toBe("UNKNOWN");
    world.provider.behave({ lookUps: "answer" });
    const third = await world.run({ tool });
    const changed = await world.run({ tool, args: { ...refundArgs, amountMinor: 48_001 } });

    expect([first.told, second.told, third.told, changed.told]).toEqual([
      "OUTCOME_UNKNOWN",
      "OUTCOME_UNKNOWN",
      "REPLAYED",
      "PAYLOAD_MISMATCH",
    ]);
    const [effect] = world.provider.ledger();
    expect(third.outcome?.value).toMatchObject({ id: effect?.effectId });
    expect(String((second.error as Error).cause)).toContain("answered 409 already_exists");
    world.assertEffects(1);
  },
);

scenario(
  "a resend that is told that it already exists, with nobody to ask, goes to a person",
  { behaviour: natural, lookUp: false },
  async (world) => {
    const tool = world.tool({
      contract: {
        classify: hastyClassifier,
        maxAttempts: 2,
        key: { shape: "hex", retentionMs: 1e12, atomic: true, afterError: "burnt" },
      },
    });
    world.provider.fault({ dropReplyAfterCommit: true });
    const told = [];
    for (let call = 1; call <= 4; call += 1) told.push((await world.run({ tool })).told);

    expect(told).toEqual(["OUTCOME_UNKNOWN", "OUTCOME_UNKNOWN", "NEEDS_REVIEW", "NEEDS_REVIEW"]);
    world.assertEffects(1);
  },
);

/** A hasty author's: every answer with a status is called definitive. */
function hastyClassifier(error: unknown): "definitive" | "unknown" {
  return error instanceof ProviderError && error.status !== undefined ? "definitive" : "unknown";
}
