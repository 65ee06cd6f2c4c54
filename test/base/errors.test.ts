/**
 * One error class, matched by its code and never by `instanceof`: two installed copies of the package
 * must understand each other's errors.
 */
import { describe, expect, expectTypeOf, it, vi } from "vitest";
import { errorCodes, errorTable } from "../../src/base/error-table.ts";
import {
  type ErrorCode,
  InvariantError,
  NeverTwiceError,
  assert,
  isNeverTwiceError,
  unreachable,
} from "../../src/base/errors.ts";

describe("an error", () => {
  const cause = new Error("socket closed");
  const error = new NeverTwiceError("OUTCOME_UNKNOWN", "It is not known.", {
    key: "k1",
    details: { attempts: 2 },
    cause,
  });

  it("carries code, key, details and cause", () => {
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe("NeverTwiceError");
    expect(error.message).toBe("It is not known.");
    expect(error.code).toBe("OUTCOME_UNKNOWN");
    expect(error.key).toBe("k1");
    expect(error.details).toEqual({ attempts: 2 });
    expect(error.cause).toBe(cause);
  });

  it("looks up what its code implies", () => {
    expect(error.entry).toBe(errorTable.OUTCOME_UNKNOWN);
    expect(error.entry.sameCall).toBe("safe");
  });

  it("is told to machines with its table entry, and without its cause and stack", () => {
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: "OUTCOME_UNKNOWN",
      message: "It is not known.",
      httpStatus: 504,
      actor: "nobody, later",
      sameCall: "safe",
      key: "k1",
      details: { attempts: 2 },
    });
  });

  it("leaves out the key, the details and the cause that it has not", () => {
    const plain = new NeverTwiceError("INTENT_INVALID", "The tenant is missing.");
    expect(Object.keys(plain.toJSON())).toEqual([
      "code",
      "message",
      "httpStatus",
      "actor",
      "sameCall",
    ]);
    expect(plain.key).toBeUndefined();
    expect(plain.details).toEqual({});
    expect("cause" in plain).toBe(false);
  });

  it("keeps its details from being changed, whatever happens to the object they came from", () => {
    const details: Record<string, unknown> = { attempts: 1 };
    const kept = new NeverTwiceError("NOT_SENT", "x", { details });
    details["attempts"] = 2;
    expect(kept.details).toEqual({ attempts: 1 });
    expect(Object.isFrozen(kept.details)).toBe(true);
  });
});

describe("recognising an error", () => {
  const error: unknown = new NeverTwiceError("PAYLOAD_MISMATCH", "x");

  it("asks for the package, or for one code", () => {
    expect(isNeverTwiceError(error)).toBe(true);
    expect(isNeverTwiceError(error, "PAYLOAD_MISMATCH")).toBe(true);
    expect(isNeverTwiceError(error, "IN_PROGRESS")).toBe(false);
  });

  it("says no to everything else that can be thrown", () => {
    const lookAlike = Object.assign(new Error("x"), { name: "NeverTwiceError", code: "NOT_SENT" });
    for (const thrown of [lookAlike, new Error("x"), {}, null, undefined, "NOT_SENT", 0, 1n]) {
      expect(isNeverTwiceError(thrown)).toBe(false);
      expect(isNeverTwiceError(thrown, "NOT_SENT")).toBe(false);
    }
  });

  it("works across two copies of the package, where instanceof does not", async () => {
    vi.resetModules();
    const copy = await import("../../src/base/errors.ts");
    expect(copy.NeverTwiceError).not.toBe(NeverTwiceError);
    const theirs: unknown = new copy.NeverTwiceError("NOT_SENT", "x", { key: "k2" });
    expect(theirs).not.toBeInstanceOf(NeverTwiceError);
    expect(isNeverTwiceError(theirs)).toBe(true);
    expect(isNeverTwiceError(theirs, "NOT_SENT")).toBe(true);
    expect(isNeverTwiceError(theirs, "ABORTED")).toBe(false);
    expect(copy.isNeverTwiceError(error, "PAYLOAD_MISMATCH")).toBe(true);
  });

  it("by the marker alone does not stand in for a code", () => {
    const marked = { [Symbol.for("nevertwice.error")]: true };
    expect(isNeverTwiceError(marked)).toBe(true);
    expect(isNeverTwiceError(marked, "NOT_SENT")).toBe(false);
  });
});

describe("the error table", () => {
  it("lists each code once, in the order of the table", () => {
    expect(errorCodes).toEqual(Object.keys(errorTable));
    expect(Object.isFrozen(errorTable)).toBe(true);
    expect(Object.isFrozen(errorCodes)).toBe(true);
    expectTypeOf(errorCodes).toEqualTypeOf<readonly ErrorCode[]>();
  });

  it("has the HTTP statuses that the protocol names", () => {
    const statuses = {
      INTENT_INVALID: 400,
      INTENT_UNSETTLED: 409,
      IN_PROGRESS: 409,
      PAYLOAD_MISMATCH: 422,
      KEY_EXPIRED: 410,
    };
    for (const [code, status] of Object.entries(statuses)) {
      expect(errorTable[code as ErrorCode].httpStatus).toBe(status);
    }
  });

  it.each(errorCodes)("%s is a frozen row with a whole sentence", (code) => {
    const { httpStatus, meaning } = errorTable[code];
    expect(Object.isFrozen(errorTable[code])).toBe(true);
    expect(httpStatus).toBeGreaterThanOrEqual(400);
    expect(httpStatus).toBeLessThan(600);
    expect(meaning).toMatch(/^[A-Z].*\.$/);
  });

  it("never calls an unknown outcome a failure, and tells nobody to try again", () => {
    for (const code of ["OUTCOME_UNKNOWN", "NEEDS_REVIEW", "IN_PROGRESS", "LEASE_LOST"] as const) {
      expect(errorTable[code].meaning).not.toMatch(/fail|try again|retry/i);
      expect(errorTable[code].sameCall).toBe("safe");
    }
  });
});

describe("broken invariants", () => {
  it("are errors of another class, which the guard never takes for an answer", () => {
    expect(() => assert(true, "x")).not.toThrow();
    for (const broken of [false, 0, "", null, undefined]) {
      expect(() => assert(broken, "the row is there")).toThrow(
        new InvariantError("the row is there"),
      );
    }
    expect(new InvariantError("x").name).toBe("InvariantError");
    expect(isNeverTwiceError(new InvariantError("x"))).toBe(false);
  });

  it("name the forgotten case of a union", () => {
    expect(() => unreachable({ kind: "new" } as never)).toThrow(
      new InvariantError('Unreachable case: {"kind":"new"}'),
    );
  });
});
