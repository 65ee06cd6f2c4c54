/**
 * Tools that are wrong in one respect about their provider: each is caught by the check that is meant
 * for it, with the right advice.
 */
import { randomUUID } from "node:crypto";
import { expect, it } from "vitest";
import { type Tool, days, hours } from "../../src/index.ts";
import {
  type CheckName,
  type CheckReport,
  type ProviderBehaviour,
  ProviderError,
} from "../../src/testing/index.ts";
import { classifyProviderError, refundLookUp } from "../support/world.ts";
import {
  type Sandbox,
  type ToolChange,
  expectFailures,
  resultOf,
  startSandbox,
} from "./check-tool-harness.ts";

const key = {
  shape: "uuid",
  retentionMs: hours(24),
  atomic: true,
  afterError: "replays",
  replaysDeclines: true,
} as const;

/** Checks a tool on a provider; the change may need the sandbox's client. */
async function check(
  behaviour: ProviderBehaviour,
  change: (sandbox: Sandbox) => ToolChange,
  more: Parameters<Sandbox["check"]>[1] = {},
): Promise<CheckReport> {
  const sandbox = await startSandbox(behaviour);
  return sandbox.check(change(sandbox), more);
}

/** Sends the refund in a wrong way: with a key, a tag or an answer of its own. */
function sending(
  { client }: Sandbox,
  more: (call: Parameters<Tool["execute"]>[1]) => object,
): Tool["execute"] {
  return (args, call) =>
    client.createEffect({ operation: "refund", body: args as never, ...more(call) });
}

function expectFailure(
  report: CheckReport,
  name: CheckName,
  expected: { effects?: number; found: string; advice: string },
): void {
  const { found, advice, ...more } = expected;
  expect(resultOf(report, name)).toMatchObject({
    verdict: "fail",
    found: expect.stringContaining(found),
    advice: expect.stringContaining(advice),
    ...more,
  });
}

it("a key made inside execute, anew for each attempt", async () => {
  const report = await check({}, (sandbox) => ({
    execute: sending(sandbox, () => ({ key: randomUUID() })),
    contract: { lookUp: undefined } as never,
  }));
  expectFailure(report, "key-honoured", {
    effects: 2,
    found: "claimed but not so: two requests under one wire key made 2 effect(s)",
    advice: "make no key inside `execute`",
  });
  expectFailure(report, "reply-dropped", {
    effects: 2,
    found: "2 effects: the intent was doubled",
    advice: "send `call.wireKey` on every attempt",
  });
  expectFailure(report, "worker-dies", { effects: 2, found: "doubled", advice: "call.wireKey" });
  expect(resultOf(report, "redelivered").verdict).toBe("pass");
});

it("a key that is claimed to be atomic, and is not", async () => {
  const report = await check({ atomicKeys: false, delayMs: 1000 }, () => ({}), {
    // The delay is real time here: without the provider's clock.
    faults: {},
    only: ["two-agents", "reply-dropped", "key-honoured", "key-atomic"],
  });
  expectFailures(report, ["key-atomic"]);
  expectFailure(report, "key-atomic", {
    effects: 2,
    found: "two requests at once made 2 effect(s)",
    advice: "take `contract.key.atomic` back",
  });
});

it("a key that is claimed to be kept for ever", async () => {
  const report = await check({ retentionMs: hours(24) }, () => ({
    contract: { key: { ...key, retentionMs: days(36_500) } },
  }));
  expectFailures(report, ["key-retention"]);
  expectFailure(report, "key-retention", {
    effects: 2,
    found: "2 effects",
    advice: "state in `contract.key.retentionMs` what its documentation promises",
  });
});

it("a classifier that calls a time-out a refusal", async () => {
  const report = await check({}, () => ({
    contract: {
      classify: (error: unknown) =>
        error instanceof ProviderError && error.status === 429 ? "not-executed" : "definitive",
    },
  }));
  expectFailures(report, [
    "two-runs",
    "reply-dropped",
    "key-expired",
    "answers-409",
    "answers-500-late",
    "answers-503-late",
    "time-outs-unknown",
  ]);
  expectFailure(report, "reply-dropped", {
    effects: 1,
    found: "told that it failed for good, but the effect exists",
    advice: 'let `contract.classify` return "unknown" for this error',
  });
  expectFailure(report, "time-outs-unknown", {
    found: "a lost reply",
    advice: '"definitive" only for refusals that it knows by their code',
  });
});

it("a classifier that calls every error of the provider a request that was turned away", async () => {
  const report = await check({}, () => ({
    contract: {
      classify: (error: unknown) =>
        error instanceof ProviderError && error.status === 503
          ? "not-executed"
          : classifyProviderError(error),
    },
  }));
  expectFailures(report, ["time-outs-unknown"]);
  expect(resultOf(report, "time-outs-unknown").found).toContain("a real 503");
});

it("a look-up that lags longer than is claimed", async () => {
  const change = (lagMs: number) => (sandbox: Sandbox) => ({
    contract: {
      mode: "proved-absence",
      key: undefined,
      lookUp: { ...refundLookUp(sandbox.client), lagMs },
    } as never,
  });
  const lying = await check({ keys: "unkeyed", lookUpLagMs: 60_000 }, change(100));
  expectFailure(lying, "look-up-finds", {
    effects: 1,
    found: "the look-up still said absent",
    advice: "raise `contract.lookUp.lagMs` above",
  });
  expectFailure(lying, "reply-dropped", {
    effects: 2,
    found: "doubled",
    advice: "raise `lookUp.lagMs`",
  });
  const [, measuredMs] = /above (\d+)/.exec(resultOf(lying, "look-up-finds").advice ?? "") ?? [];
  expect(Number(measuredMs)).toBeGreaterThan(59_000);
  expectFailures(
    await check({ keys: "unkeyed", lookUpLagMs: 60_000 }, change(Number(measuredMs) + 1000)),
    [],
  );
});

it("a look-up that searches for what was never sent, or finds what is another tenant's", async () => {
  const blind = await check({}, (sandbox) => ({
    execute: sending(sandbox, ({ wireKey }) => ({ key: wireKey })),
  }));
  expectFailure(blind, "look-up-finds", {
    found: "was not found within",
    advice: "let `lookUp.find` search by what `execute` sends",
  });
  const loose = await check({}, ({ provider, client }) => ({
    contract: {
      lookUp: {
        ...refundLookUp(client),
        find: ({ arguments: { orderId } }: { arguments: { orderId: string } }) => {
          const rows = provider.ledger().filter((row) => row.body["orderId"] === orderId);
          const effects = rows.map((row) => ({
            status: "succeeded",
            result: { id: row.effectId },
          }));
          return effects.length === 0 ? { answer: "absent" } : { answer: "found", effects };
        },
      },
    } as never,
  }));
  expectFailures(loose, ["look-up-tenants"]);
  expectFailure(loose, "look-up-tenants", {
    found: "asked as another tenant the look-up said found",
    advice: "search by `key` or `wireKeys`",
  });
});

it.each<[string, object, { found: string; advice: string }]>([
  [
    "names the effect otherwise than execute does",
    { providerId: "intent-of-another-id" },
    { found: "one effect would look like two", advice: "provider's own id" },
  ],
  [
    "has the arguments in another shape",
    { arguments: { amountMinor: "10.03" } },
    { found: "differ from ours in amountMinor", advice: "to the shape of the business arguments" },
  ],
  [
    "calls an effect failed that exists",
    { status: "failed" },
    { found: '"failed"', advice: "map the provider's statuses" },
  ],
])("a look-up that %s", async (_, effect, expected) => {
  const report = await check({}, ({ client }) => {
    const { find, ...lookUp } = refundLookUp(client);
    const finding: typeof find = async (question) => {
      const answer = await find(question);
      return answer.answer === "found"
        ? { answer: "found", effects: answer.effects.map((one) => ({ ...one, ...effect })) }
        : answer;
    };
    return { contract: { lookUp: { ...lookUp, find: finding } } };
  });
  expectFailure(report, "look-up-finds", expected);
});

it("a provider that stores its 500s, claimed to run again", async () => {
  const report = await check({ saves: "all" }, () => ({
    contract: { key: { ...key, afterError: "re-executes" } },
  }));
  expectFailures(report, ["key-after-error"]);
  expectFailure(report, "key-after-error", {
    found: "a resend after a 500 was answered with the stored 500",
    advice: '`contract.key.afterError: "replays"`',
  });
});

it("a provider that saves successes alone, claimed to store everything", async () => {
  const report = await check({ saves: "success-only" }, () => ({
    contract: { lookUp: undefined } as never,
  }));
  expectFailures(report, [
    "answers-500-late",
    "answers-503-late",
    "key-after-error",
    "key-declines",
  ]);
  expectFailure(report, "key-after-error", {
    effects: 2,
    found: "made a second effect",
    advice: '`contract.key.afterError: "not-saved"`',
  });
  expectFailure(report, "key-declines", {
    found: "a resend after a refusal ran",
    advice: "take `contract.key.replaysDeclines` back",
  });
});

it("a client that retries by itself, without the key", async () => {
  const report = await check({ keys: "unkeyed" }, (sandbox) => ({
    execute: async (...[args, call]: Parameters<Tool["execute"]>) => {
      const send = sending(sandbox, () => ({ tag: call.key }));
      try {
        return await send(args, call);
      } catch {
        return send(args, call);
      }
    },
    contract: { mode: "strict", key: undefined } as never,
  }));
  expectFailure(report, "reply-dropped", {
    effects: 2,
    found: "doubled",
    advice: "switch off the retries of the SDK or HTTP client",
  });
});

it("an execute that swallows errors and reports a success", async () => {
  const report = await check({}, (sandbox) => ({
    execute: async (...[args, call]: Parameters<Tool["execute"]>) => {
      try {
        return await sending(sandbox, ({ wireKey, key: tag }) => ({ key: wireKey, tag }))(
          args,
          call,
        );
      } catch {
        return { id: "unknown" };
      }
    },
  }));
  expectFailure(report, "answers-500", {
    effects: 0,
    found: "told that it is done, but there is no effect",
    advice: "return only once the provider has confirmed",
  });
  expectFailure(report, "refused", { effects: 0, found: "told that it is done", advice: "" });
});
