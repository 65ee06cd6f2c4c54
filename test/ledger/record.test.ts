import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type OperationRecord, findRecordFault } from "../../src/ledger/record.ts";
import { anyRecord, recordWith } from "./records.ts";

const done = { status: "DONE", resultKind: "json", result: '{"id":"eff_1"}' } as const;

const sound: Partial<OperationRecord>[] = [
  {},
  { attempts: 0, attemptsInGeneration: 0, wireKey: null },
  done,
  { ...done, result: "null" },
  { status: "DONE", resultKind: "undefined", result: null },
  { status: "DONE", resultKind: "omitted", result: '{"reason":"too large"}' },
  { status: "FAILED", error: '{"message":"declined"}' },
  { status: "UNKNOWN", error: null },
  { status: "NEEDS_REVIEW", error: "whatever" },
  // A tombstone has lost its contents by intention.
  { ...done, purgedAtMs: 1, arguments: null, result: null, resultKind: null },
];

const broken: [change: Partial<OperationRecord>, reason: RegExp][] = [
  [{ token: Number.NaN }, /not a whole number/],
  [{ token: -1 }, /not a whole number/],
  [{ leaseUntilMs: Number.NaN }, /not a whole number/],
  [{ attempts: 1.5 }, /not a whole number/],
  [{ attemptsInGeneration: Number.NaN }, /not a whole number/],
  [{ wireKey: null }, /without a wire key/],
  [{ arguments: null }, /arguments are not JSON/],
  [{ arguments: "" }, /arguments are not JSON/],
  [{ arguments: "[]" }, /arguments are not JSON/],
  [{ arguments: '{"a":' }, /arguments are not JSON/],
  [{ ...done, result: null }, /result is not JSON/],
  [{ ...done, result: "{" }, /result is not JSON/],
  [{ ...done, resultKind: null }, /no result/],
  [{ ...done, resultKind: "html" as never }, /no result/],
  [{ ...done, resultKind: "omitted", result: "1" }, /note in place of the result/],
  [{ ...done, resultKind: "omitted", result: null }, /note in place of the result/],
  [{ status: "FAILED", error: null }, /stored error is not JSON/],
  [{ status: "FAILED", error: "refused" }, /stored error is not JSON/],
  [{ purgedAtMs: 1, token: Number.NaN }, /not a whole number/],
];

describe("findRecordFault", () => {
  it("finds nothing in what the guard writes", () => {
    for (const change of sound) expect(findRecordFault(recordWith(change))).toBeUndefined();
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(findRecordFault(record)).toBeUndefined();
      }),
    );
  });

  it("names what is broken", () => {
    for (const [change, reason] of broken) {
      const named = { change, fault: findRecordFault(recordWith(change)) };
      expect(named).toEqual({ change, fault: expect.stringMatching(reason) });
    }
  });

  it("lets no text through that can't be parsed where a result is read", () => {
    fc.assert(
      fc.property(fc.string(), (result) => {
        const fault = findRecordFault(recordWith({ ...done, result }));
        expect(fault === undefined).toBe(isJson(result));
      }),
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
