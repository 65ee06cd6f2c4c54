/**
 * What a contract must hold to be registered: limits that are limits, a lease that covers the call, and
 * for each mode the capabilities that it leans on (R11, R20, R21). Each capability defaults to the worst.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isNeverTwiceError } from "../../src/base/errors.ts";
import { type AfterError, type KeyContract, isResendSafe } from "../../src/guard/contract.ts";
import { defineTool } from "../../src/guard/define-tool.ts";
import type { GuardedParts } from "../../src/guard/tool.ts";
import { sha256Hex } from "../../src/base/canonical-json.ts";
import { wireKeyOf } from "../../src/intent/wire-key.ts";

const key: KeyContract = {
  shape: "uuid",
  retentionMs: 86_400_000,
  atomic: true,
  afterError: "replays",
};
const lookUp = { find: () => ({ answer: "absent" }), lagMs: 1000, authoritative: true };

type Parts = Record<string, unknown>;

/** As plain JavaScript registers a tool. */
function withContract(change: Parts = {}): GuardedParts {
  const declaration = {
    name: "issue_refund",
    kind: "non-idempotent",
    arguments: z.object({ orderId: z.string() }),
    intent: () => "refund:1",
    businessArguments: ["orderId"],
    contract: { timeoutMs: 30_000, flightMs: 60_000, ...change },
    execute: () => null,
  };
  const tool = defineTool(declaration as unknown as Parameters<typeof defineTool>[0]);
  if (tool.guarded === null) throw new Error("went straight through");
  return tool.guarded;
}

function raisedBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  return new Error("was registered");
}

/** The text with which registration is refused. */
function contractRefusal(change: Parts): string {
  const error = raisedBy(() => withContract(change));
  if (!isNeverTwiceError(error, "TOOL_INVALID")) throw error;
  expect(error.message).toMatch(/^The tool issue_refund can't be registered: .*\.$/);
  return error.message;
}

/** How each limit is put into a contract. */
const limits: Record<string, (value: unknown) => Parts> = {
  timeoutMs: (timeoutMs) => ({ timeoutMs }),
  flightMs: (flightMs) => ({ flightMs }),
  leaseMs: (leaseMs) => ({ leaseMs }),
  sendWithinMs: (sendWithinMs) => ({ sendWithinMs }),
  maxResultBytes: (maxResultBytes) => ({ maxResultBytes }),
  maxAttempts: (maxAttempts) => ({ maxAttempts }),
  "lookUp.timeoutMs": (timeoutMs) => ({ lookUp: { ...lookUp, timeoutMs } }),
  "key.retentionMs": (retentionMs) => ({ key: { ...key, retentionMs } }),
  marginMs: (marginMs) => ({ marginMs }),
  giveUpAfterMs: (giveUpAfterMs) => ({ giveUpAfterMs }),
  "lookUp.lagMs": (lagMs) => ({ lookUp: { ...lookUp, lagMs } }),
};
const mayBeZero = ["marginMs", "giveUpAfterMs", "lookUp.lagMs"];
const aboveZero = Object.keys(limits).filter((name) => !mayBeZero.includes(name));

describe("a limit", () => {
  it.each(Object.keys(limits))("%s can't be negative, NaN, infinite or text", (name) => {
    for (const value of [-1, Number.NaN, Infinity, -Infinity, "1000", true]) {
      const message = contractRefusal(limits[name]?.(value) ?? {});
      expect(message).toContain(`\`contract.${name}\` must be a number`);
      expect(message).toContain(`not ${String(value)}`);
    }
  });

  it.each(aboveZero)("%s can't be zero", (name) => {
    const message = contractRefusal(limits[name]?.(0) ?? {});
    expect(message).toContain(`\`contract.${name}\` must be a number above zero`);
  });

  it.each(mayBeZero)("%s may be zero", (name) => {
    expect(() => withContract(limits[name]?.(0))).not.toThrow();
  });

  it.each(["timeoutMs", "flightMs"])("%s has no default and can't be absent", (name) => {
    for (const value of [undefined, null]) {
      const message = contractRefusal({ [name]: value });
      expect(message).toContain(`\`contract.${name}\` must be a number above zero`);
      expect(message).toContain(`not ${value}`);
    }
  });

  it("that is absent and has a default takes the documented one", () => {
    expect(withContract().terms).toMatchObject({
      timeoutMs: 30_000,
      leaseMs: 35_000,
      lookUpTimeoutMs: 30_000,
      renewLease: false,
      maxResultBytes: 262_144,
      bounds: {
        sendWithinMs: 2000,
        flightMs: 60_000,
        marginMs: 5000,
        lookUpLagMs: undefined,
        retentionMs: undefined,
      },
      policy: { mode: "strict", maxAttempts: 5, giveUpAfterMs: 3_600_000 },
    });
  });
});

describe("a lease", () => {
  it("that is shorter than the call and a second is refused, and both numbers are named", () => {
    const error = raisedBy(() => withContract({ leaseMs: 30_999 }));
    expect(error).toMatchObject({
      code: "TOOL_INVALID",
      details: { tool: "issue_refund", leaseMs: 30_999, timeoutMs: 30_000 },
    });
    for (const part of ["`contract.leaseMs` is 30999", "`contract.timeoutMs` is 30000", "31000"]) {
      expect(String(error)).toContain(part);
    }
    expect(withContract({ leaseMs: 31_000 }).terms.leaseMs).toBe(31_000);
  });

  it("that is renewed may be shorter than the call, with a look-up or without one", () => {
    const short = { renewLease: true, leaseMs: 2000 };
    const quick = { lookUp: { ...lookUp, timeoutMs: 1000 } };
    expect(withContract({ ...short, ...quick }).terms).toMatchObject({
      leaseMs: 2000,
      renewLease: true,
    });
    expect(withContract(short).terms.leaseMs).toBe(2000);
    expect(contractRefusal({ leaseMs: 2000, renewLease: "yes" })).toContain("`contract.leaseMs`");
  });

  it("that ends in mid-look-up is refused, for a look-up does not renew it", () => {
    for (const renewLease of [true, false]) {
      const slow = { leaseMs: 31_000, renewLease, lookUp: { ...lookUp, timeoutMs: 30_001 } };
      const message = contractRefusal(slow);
      expect(message).toContain("`contract.leaseMs` is 31000");
      expect(message).toContain("`contract.lookUp.timeoutMs` is 30001");
    }
  });
});

describe("a mode", () => {
  it.each(["", "Window", "retry", 1, true])("exists, and is not %o", (mode) => {
    expect(contractRefusal({ mode })).toContain("`contract.mode` must be");
  });

  it("strict leans on nothing and is the default", () => {
    expect(withContract().terms.policy).toMatchObject({
      mode: "strict",
      resendable: false,
      replaysDeclines: false,
      authoritative: false,
      hasLookUp: false,
    });
    expect(withContract({ mode: "strict", key: { shape: "hex" } }).terms.policy.mode).toBe(
      "strict",
    );
  });

  it.each<[string, unknown, string]>([
    ["a key", undefined, "`contract.key` is missing"],
    ["a known retention", { ...key, retentionMs: undefined }, "`contract.key.retentionMs` is not"],
    ["an atomic key", { ...key, atomic: false }, "`contract.key.atomic` is not true"],
    ["an atomic key, in earnest", { ...key, atomic: "yes" }, "`contract.key.atomic` is not true"],
    ["an atomic key, told so", { ...key, atomic: undefined }, "`contract.key.atomic` is not true"],
    ["a key that is safe after errors", { ...key, afterError: undefined }, "key.afterError` must"],
    ["a key that saves errors", { ...key, afterError: "not-saved" }, "key.afterError` must"],
    ["a key that is understood", { ...key, afterError: "unknown" }, "key.afterError` must"],
    ["an answer that exists", { ...key, afterError: "retries" }, "key.afterError` must"],
    ["a window", { ...key, retentionMs: 67_000 }, "mode `window` has no window"],
  ])("window needs %s", (_name, unfit, reason) => {
    const message = contractRefusal({ mode: "window", key: unfit });
    expect(message).toContain("mode `window`");
    expect(message).toContain(reason);
  });

  it("window begins where retention is longer than flight, send and margin together", () => {
    expect(
      withContract({ mode: "window", key: { ...key, retentionMs: 67_001 } }).terms.policy,
    ).toMatchObject({ mode: "window", resendable: true });
  });

  it.each<[string, unknown]>([
    ["a look-up", undefined],
    ["an authoritative look-up", { ...lookUp, authoritative: false }],
    ["a look-up that is said to be authoritative", { ...lookUp, authoritative: undefined }],
    ["a look-up with a known lag", { ...lookUp, lagMs: undefined }],
  ])("proved-absence needs %s", (_name, unfit) => {
    expect(contractRefusal({ mode: "proved-absence", lookUp: unfit })).toContain(
      "mode `proved-absence` needs `contract.lookUp` with `authoritative: true` and `lagMs`",
    );
  });

  it("proved-absence registers with an authoritative look-up, with a key or without one", () => {
    for (const more of [{}, { key }]) {
      const { policy } = withContract({ mode: "proved-absence", lookUp, ...more }).terms;
      expect(policy).toMatchObject({ authoritative: true, hasLookUp: true });
    }
  });
});

describe("a capability", () => {
  it.each([undefined, null, "find", {}])("to look up needs a function, not %s", (find) => {
    expect(contractRefusal({ lookUp: { find } })).toContain("`contract.lookUp.find` is missing");
  });

  it.each([null, "stripe", true, 1])("is an object where it is given, not %s", (part) => {
    expect(contractRefusal({ key: part })).toContain("`contract.key");
    expect(contractRefusal({ lookUp: part })).toContain("`contract.lookUp");
  });

  it.each([undefined, "md5", "UUID", "uuid7", 36])("to take keys has a shape, not %s", (shape) => {
    expect(contractRefusal({ key: { ...key, shape } })).toContain("`contract.key.shape`");
  });

  it.each([0, 1, 7, 45, "4", null])("to take UUIDs has a version, not %o", (uuidVersion) => {
    expect(contractRefusal({ key: { ...key, uuidVersion } })).toContain(
      "`contract.key.uuidVersion`",
    );
  });

  it("to be resent to is had only with all three facts", () => {
    const safe: AfterError[] = ["replays", "re-executes", "burnt"];
    const unsafe: AfterError[] = ["not-saved", "unknown"];
    for (const afterError of safe) expect(isResendSafe({ ...key, afterError })).toBe(true);
    for (const afterError of unsafe) expect(isResendSafe({ ...key, afterError })).toBe(false);
    expect(isResendSafe({ shape: "uuid" })).toBe(false);
    expect(isResendSafe({ ...key, atomic: false })).toBe(false);
    const { retentionMs: _, ...forgetful } = key;
    expect(isResendSafe(forgetful)).toBe(false);
  });

  it("to replay declines, or to prove an absence, has to be declared in so many words", () => {
    expect(withContract({ key }).terms.policy.replaysDeclines).toBe(false);
    const declared = withContract({ key: { ...key, replaysDeclines: true } }).terms.policy;
    expect(declared.replaysDeclines).toBe(true);
    const { find, lagMs } = lookUp;
    expect(withContract({ lookUp: { find, lagMs } }).terms.policy.authoritative).toBe(false);
    const lagUnknown = withContract({ lookUp: { find, authoritative: true } }).terms.policy;
    expect(lagUnknown).toMatchObject({ authoritative: false, hasLookUp: true });
  });
});

describe("a wire key", () => {
  const digest = sha256Hex("x");

  it("has the declared shape, version and account; hex where the provider takes no key", () => {
    expect(withContract().terms.wireKeyOf(digest, 0)).toBe(digest);
    const { terms } = withContract({
      key: { ...key, shape: "uuid-bare", uuidVersion: 4 },
      account: "acct_1",
    });
    expect(terms.wireKeyOf(digest, 2)).toBe(
      wireKeyOf(digest, {
        shape: "uuid-bare",
        uuidVersion: 4,
        generation: 2,
        account: "acct_1",
      }),
    );
  });
});
