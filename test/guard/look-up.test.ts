import { describe, expect, it } from "vitest";
import { lookUp } from "../../src/guard/look-up.ts";
import type { LookUpQuestion } from "../../src/index.ts";
import { environmentWith, turnWith } from "./units.ts";

describe("the question to a provider", () => {
  it("names the wire keys of all generations, newest first, each once", async () => {
    const asked: (readonly string[])[] = [];
    const find = ({ wireKeys }: LookUpQuestion<unknown>) => {
      asked.push(wireKeys);
      return { answer: "absent" } as const;
    };
    const contract = { lookUp: { find, timeoutMs: 1000 } };
    const { terms } = turnWith({}, { contract }).parts;
    const key = "k".repeat(64);
    const [first, second, third] = [0, 1, 2].map((each) => terms.wireKeyOf(key, each));
    for (const record of [
      { generation: 0, wireKey: first },
      { generation: 2, wireKey: third },
      // As it was captured, whatever the tool says now.
      { generation: 1, wireKey: "as-sent" },
      { generation: 1, wireKey: null },
    ]) {
      await lookUp(environmentWith({}), turnWith({ key, ...record } as never, { contract }));
    }
    expect(asked).toEqual([
      [first],
      [third, second, first],
      ["as-sent", second, first],
      [second, first],
    ]);
  });

  it("is withdrawn when it takes too long, and no timer is left after an answer", async () => {
    const signals: AbortSignal[] = [];
    let answer: unknown = new Promise(() => {});
    const find = ({ signal }: LookUpQuestion<unknown>): never => {
      signals.push(signal);
      return answer as never;
    };
    const contract = { lookUp: { find, timeoutMs: 500 } };
    const env = environmentWith({});
    const slow = lookUp(env, turnWith({}, { contract }));
    await new Promise((resolve) => setImmediate(resolve));
    env.runtime.advance(500);
    expect((await slow).finding).toEqual({ kind: "unsure", reason: "no answer within 500 ms" });
    expect(signals[0]?.aborted).toBe(true);
    answer = { answer: "absent" };
    expect((await lookUp(env, turnWith({}, { contract }))).finding.kind).toBe("absent");
    expect(env.runtime.waiting()).toEqual([]);
  });

  it("isn't asked where there is nobody to ask", async () => {
    const { finding } = await lookUp(environmentWith({}), turnWith());
    expect(finding).toEqual({ kind: "unsure", reason: "the provider has no look-up" });
  });
});
