/**
 * What a late find means.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type FoundLate, judgeLateFind } from "../../src/ledger/late-looks.ts";

const done = { status: "DONE", providerId: "re_1" } as const;
const nameless = { status: "DONE", providerId: null } as const;
const failed = { status: "FAILED", providerId: null } as const;
const found = (
  providerId: string | null,
  status: FoundLate["status"] = "succeeded",
): FoundLate => ({
  status,
  providerId,
});

describe("a late find", () => {
  it.each([
    ["nothing", done, []],
    ["the stored effect", done, [found("re_1")]],
    ["the stored effect, still pending", done, [found("re_1", "pending")]],
    ["one effect without an id", done, [found(null)]],
    ["one effect, where no id is stored", nameless, [found("re_9")]],
    ["a failure, where no id is stored", nameless, [found("re_9", "failed")]],
    ["the failure of another effect", done, [found("re_2", "failed")]],
    ["the stored effect beside a failed one", done, [found("re_1"), found("re_2", "failed")]],
    ["nothing after a refusal", failed, []],
    ["a failure after a refusal", failed, [found("re_1", "failed")]],
  ])("of %s contradicts nothing", (_, record, effects) => {
    expect(judgeLateFind(record, effects)).toBeUndefined();
  });

  it.each([
    ["two effects", done, [found("re_1"), found("re_2")], /2 effects .*re_1, re_2/],
    ["two without ids", nameless, [found(null), found(null)], /2 effects .*one without an id/],
    ["a pending second", done, [found("re_1"), found("re_2", "pending")], /2 effects/],
    ["another effect", done, [found("re_2")], /another effect \(re_2\) than the stored re_1/],
    ["an effect after a refusal", failed, [found("re_3")], /re_3.*settled as FAILED/],
    ["a pending one after a refusal", failed, [found(null, "pending")], /settled as FAILED/],
    ["the stored effect's failure", done, [found("re_1", "failed")], /re_1 has failed since/],
  ])("of %s is an incident", (_, record, effects, text) => {
    expect(judgeLateFind(record, effects)).toMatch(text);
  });

  it("of more than one effect is an incident whatever is stored, and never depends on failed ones", () => {
    const id = fc.option(fc.constantFrom("re_1", "re_2", "re_3"));
    const effect = fc.record({ status: fc.constantFrom("succeeded", "pending"), providerId: id });
    const record = fc.constantFrom(done, nameless, failed);
    fc.assert(
      fc.property(record, fc.array(effect, { minLength: 2 }), id, (stored, effects, failedId) => {
        const finds = effects as FoundLate[];
        const told = judgeLateFind(stored, finds);
        expect(told).toContain(`${finds.length} effects`);
        expect(judgeLateFind(stored, [found(failedId, "failed"), ...finds])).toBe(told);
      }),
    );
  });
});
