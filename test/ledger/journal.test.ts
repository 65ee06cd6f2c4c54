import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type JournalLine,
  chainStart,
  findChainFault,
  journalEvents,
  lineHash,
} from "../../src/ledger/journal.ts";
import { isTerminal, statuses } from "../../src/ledger/status.ts";

type Body = Omit<JournalLine, "hash" | "tenant" | "key" | "seq">;

const anyBody: fc.Arbitrary<Body> = fc.record({
  atMs: fc.nat(),
  event: fc.constantFrom(...journalEvents),
  status: fc.constantFrom(...statuses),
  token: fc.nat(),
  attempts: fc.nat({ max: 9 }),
  detail: fc.json(),
});

function chained(bodies: readonly Body[]): JournalLine[] {
  const [tenant, key] = ["acme", "k1"];
  let previous = chainStart(tenant, key);
  return bodies.map((body, index) => {
    const line = { ...body, seq: index + 1 };
    previous = lineHash(previous, line);
    return { ...line, tenant, key, hash: previous };
  });
}

const anyChain = fc.array(anyBody, { minLength: 1, maxLength: 6 }).map(chained);

describe("the journal's chain", () => {
  it("holds as it was written", () => {
    fc.assert(
      fc.property(anyChain, (lines) => {
        expect(findChainFault(lines)).toBeUndefined();
      }),
    );
  });

  it("tells of a line whose any part was altered", () => {
    const alterations: readonly ((line: JournalLine) => JournalLine)[] = [
      (line) => ({ ...line, atMs: line.atMs + 1 }),
      (line) => ({
        ...line,
        event: line.event === "operation.failed" ? "review.opened" : "operation.failed",
      }),
      (line) => ({ ...line, status: line.status === "DONE" ? "FAILED" : "DONE" }),
      (line) => ({ ...line, token: line.token + 1 }),
      (line) => ({ ...line, attempts: line.attempts + 1 }),
      (line) => ({ ...line, detail: `${line.detail} ` }),
      (line) => ({
        ...line,
        hash: line.hash.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
      }),
    ];
    fc.assert(
      fc.property(anyChain, fc.nat(), fc.constantFrom(...alterations), (lines, at, alter) => {
        const index = at % lines.length;
        const altered = lines.map((line, each) => (each === index ? alter(line) : line));
        expect(findChainFault(altered)).toEqual({
          seq: index + 1,
          reason: "the line was altered",
        });
      }),
    );
  });

  it("tells of a line that is missing, but for the last, and of lines in another order", () => {
    fc.assert(
      fc.property(fc.array(anyBody, { minLength: 2, maxLength: 6 }), fc.nat(), (bodies, at) => {
        const lines = chained(bodies);
        const index = at % (lines.length - 1);
        const fault = { seq: index + 1, reason: "the line is missing" };
        expect(findChainFault(lines.filter((_, each) => each !== index))).toEqual(fault);
        const swapped = lines.map((line, each) => {
          if (each === index) return lines[index + 1] ?? line;
          return each === index + 1 ? (lines[index] ?? line) : line;
        });
        expect(findChainFault(swapped)).toEqual(fault);
      }),
    );
  });

  it("tells of lines that were moved to another operation, or taken away altogether", () => {
    fc.assert(
      fc.property(anyChain, (lines) => {
        const moved = lines.map((line) => ({ ...line, key: "k2" }));
        expect(findChainFault(moved)).toEqual({ seq: 1, reason: "the line was altered" });
      }),
    );
    expect(findChainFault([])).toEqual({ seq: 0, reason: "no line is left" });
  });

  it("has one reading only: no two lines share a hash", () => {
    const line = (detail: string, attempts: number): string =>
      lineHash("h", {
        seq: 1,
        atMs: 2,
        event: "operation.armed",
        status: "DONE",
        token: 3,
        attempts,
        detail,
      });
    expect(new Set([line("4\n5", 1), line("5", 14), line("\n5", 4), line("5", 4)]).size).toBe(4);
  });
});

describe("statuses", () => {
  it("DONE and FAILED are final, and nothing else is", () => {
    expect(statuses.filter(isTerminal)).toEqual(["DONE", "FAILED"]);
  });
});
