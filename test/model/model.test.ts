/**
 * The protocol, explored exhaustively with the product's own decisions: sound configurations keep every
 * invariant, and each rule left out is caught. `npm run model` prints the same as a table.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { configurations } from "./configurations.ts";
import { traceText } from "./trace.ts";
import { findConfiguration, judge, namesNear } from "./verdict.ts";

const oneMs = 240_000;

describe("the model", () => {
  it.each(configurations.map((each) => [each.name, each] as const))(
    "%s",
    (_, configuration) => {
      const { asExpected, result, counterexample, exploration } = judge(configuration);
      const trace = counterexample === null ? "" : `\n${traceText(counterexample.trace)}`;
      expect(asExpected, `${configuration.about}: ${result}${trace}`).toBe(true);
      // A run in which nobody ever gets to DONE proves nothing.
      if (configuration.breaks === null) expect(exploration.example).toBeDefined();
    },
    oneMs,
  );

  it("leaves out every rule once, and knows each configuration by one name", () => {
    const names = configurations.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const rules = new Set(
      configurations.filter(({ breaks }) => breaks !== null).map(({ rule }) => rule),
    );
    const expressible = [2, 3, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 23, 27, 30];
    expect(expressible.filter((rule) => !rules.has(`R${rule}`))).toEqual([]);
  });

  it("tells the article's two effects in fourteen steps", () => {
    const article = findConfiguration("article-keyed-R3");
    const { counterexample } = judge(article ?? expect.fail("it is gone"));
    expect(traceText(counterexample?.trace ?? [])).toBe(
      [
        "  1. t=0   worker 1 claims: a new row",
        "  2. t=1   clock ticks",
        "  3. t=1   worker 1 SENDS: the request is on its way",
        "  4. t=1   worker 2 claims: IN_PROGRESS, its lease over",
        "  5. t=1   worker 2 takes over: was IN_PROGRESS",
        "  6. t=1   worker 2 looks up: absent",
        "  7. t=1   provider request of worker 1 arrives, wire key 0: EFFECT 1",
        "  8. t=2   clock ticks",
        "  9. t=2   worker 2 checks the window: inside: may send again",
        " 10. t=3   clock ticks",
        " 11. t=4   clock ticks",
        " 12. t=4   provider forgets wire key 0",
        " 13. t=4   worker 2 SENDS: the request is on its way",
        " 14. t=4   provider request of worker 2 arrives, wire key 0: EFFECT 2",
      ].join("\n"),
    );
  });

  it("is documented: each configuration has its line in docs/internals/model.md", () => {
    const text = readFileSync(new URL("../../docs/internals/model.md", import.meta.url), "utf8");
    const lines = text.split("\n").filter((line) => line.startsWith("| `"));
    const documented = lines.map((line) => line.split("`")[1]);
    expect(documented).toEqual(configurations.map(({ name }) => name));
  });

  it("names what may have been meant by a wrong name", () => {
    expect(namesNear("keyed-R6")).toContain("keyed-R5");
    expect(namesNear("human")[0]).toContain("human");
  });
});
