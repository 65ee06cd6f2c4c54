import { describe, expect, it } from "vitest";
import { type StoreInspection, createGuard, days, hours } from "../../src/index.ts";
import { checkRetention, checkStore } from "../../src/guard/start-up.ts";

function inspected(change: Partial<StoreInspection> = {}): StoreInspection {
  return {
    dialect: "sqlite",
    schemaVersion: 3,
    programVersion: 3,
    breakingVersion: 1,
    settings: {},
    unsafe: [],
    warnings: [],
    ...change,
  };
}

describe("retention", () => {
  it("lasts at least as long as workflow, approval and retries together", () => {
    const horizon = {
      longestWorkflowMs: days(1),
      approvalWaitMs: days(2),
      retryHorizonMs: hours(12),
    };
    expect(() => checkRetention(days(3.5), horizon)).not.toThrow();
    expect(() => checkRetention(days(3.5) - 1, horizon)).toThrow(
      expect.objectContaining({
        code: "CONFIGURATION_INVALID",
        details: { retentionMs: days(3.5) - 1, neededMs: days(3.5) },
      }),
    );
  });

  it("is measured against the usual horizon where none is given", () => {
    expect(() => checkRetention(days(15), {})).not.toThrow();
    expect(() => checkRetention(days(15) - 1, {})).toThrow(/Raise `retentionMs` to at least/);
  });

  it("and every part of the horizon must be a span", () => {
    for (const value of [Number.NaN, -1, Number.POSITIVE_INFINITY, "30 d", null]) {
      expect(() => checkRetention(value as number, {})).toThrow(/`retentionMs` must be a number/);
      for (const name of ["longestWorkflowMs", "approvalWaitMs", "retryHorizonMs"]) {
        expect(() => checkRetention(days(45), { [name]: value as number })).toThrow(
          `\`${name}\` must be a number`,
        );
      }
    }
  });
});

describe("the store", () => {
  it("fits when its schema is this program's, or newer without a break", () => {
    expect(() => checkStore(inspected(), [])).not.toThrow();
    expect(() => checkStore(inspected({ schemaVersion: 4 }), [])).not.toThrow();
  });

  it("is refused when its schema is older, missing, or newer with a break", () => {
    const refusals: [Partial<StoreInspection>, string][] = [
      [{ schemaVersion: 2 }, "SCHEMA_OUTDATED"],
      [{ schemaVersion: 0, breakingVersion: 0 }, "SCHEMA_OUTDATED"],
      [{ schemaVersion: 4, breakingVersion: 4 }, "SCHEMA_TOO_NEW"],
      // Nobody can migrate what a newer program has broken.
      [{ schemaVersion: 2, breakingVersion: 4 }, "SCHEMA_TOO_NEW"],
    ];
    for (const [change, code] of refusals) {
      expect(() => checkStore(inspected(change), [])).toThrow(expect.objectContaining({ code }));
    }
  });

  it("is refused for each unsafe setting that isn't accepted by its name and value", () => {
    const unsafe = ["synchronous_commit=off", "fsync=off"];
    expect(() => checkStore(inspected({ unsafe }), unsafe)).not.toThrow();
    expect(() => checkStore(inspected({ unsafe }), ["fsync=off", "synchronous_commit"])).toThrow(
      expect.objectContaining({
        code: "STORE_UNSAFE",
        details: { unsafe: ["synchronous_commit=off"] },
      }),
    );
    expect(() => checkStore(inspected({ unsafe }), [])).toThrow(
      'accept: ["synchronous_commit=off","fsync=off"]',
    );
  });

  it("may have warnings, and the operator is told of them", async () => {
    const warnings: string[] = [];
    const inspection = inspected({ warnings: ["a standby is behind"] });
    const store = { inspect: async () => inspection } as never;
    await createGuard({ store, onWarning: ({ message }) => void warnings.push(message) });
    await createGuard({ store });
    expect(warnings).toEqual(["a standby is behind"]);
  });
});
