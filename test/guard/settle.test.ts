import { describe, expect, it } from "vitest";
import { NeverTwiceError } from "../../src/index.ts";
import { answerStale, complete, settle } from "../../src/guard/settle.ts";
import { recordWith } from "../ledger/records.ts";
import { environmentWith, turnWith } from "./units.ts";

const done = { status: "DONE", resultKind: "json", result: '"first"', version: 2 } as const;
const success = { value: "second", providerId: undefined, event: "operation.completed" } as const;

describe("a success that meets another one", () => {
  it("is answered with what was read, where the row went away before it could be flagged", async () => {
    const flagged: string[] = [];
    const env = environmentWith({
      complete: async () => undefined,
      read: async () => recordWith(done),
      recordIncident: async ({ incident }) => (flagged.push(incident), undefined),
    });
    const outcome = await complete(env, turnWith(), success);
    expect(outcome.value).toBe("first");
    expect(flagged).toHaveLength(1);
  });
});

describe("an answer after the token went stale", () => {
  it("is what the row says, and never a failure of our own", async () => {
    const rows = [
      recordWith(done),
      recordWith({ status: "FAILED", error: "{}" }),
      recordWith({ status: "FAILED", error: "{}", incident: "an effect exists" }),
      recordWith({ status: "NEEDS_REVIEW" }),
      recordWith({ status: "UNKNOWN" }),
      recordWith(),
      undefined,
    ];
    const told = [];
    for (const row of rows) {
      const env = environmentWith({ read: async () => row });
      const answer = answerStale(env, turnWith(), "it broke", undefined);
      told.push(
        await answer.then(
          (outcome) => outcome.status,
          (error: NeverTwiceError) => error.code,
        ),
      );
    }
    expect(told).toEqual([
      "DONE",
      "OPERATION_FAILED",
      "NEEDS_REVIEW",
      "NEEDS_REVIEW",
      "OUTCOME_UNKNOWN",
      "LEASE_LOST",
      "LEASE_LOST",
    ]);
  });
});

describe("a classifier", () => {
  it("that is missing, says nothing or throws has proved nothing", async () => {
    const classifiers = [
      undefined,
      () => undefined,
      () => "maybe",
      () => {
        throw new Error("a defect");
      },
    ];
    const statements: string[] = [];
    for (const classify of classifiers) {
      const env = environmentWith({
        fail: async () => (statements.push("fail"), undefined),
        release: async () => (statements.push("release"), undefined),
        markUnknown: async () => (
          statements.push("markUnknown"),
          recordWith({ status: "UNKNOWN" })
        ),
      });
      const turn = turnWith({}, { contract: { classify } as never });
      const settling = settle(env, turn, { kind: "raised", error: new Error("declined") });
      await expect(settling).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
    }
    expect(statements).toEqual(Array(4).fill("markUnknown"));
  });
});
