/**
 * Numbers print as RFC 8785 says: the published sequence of doubles is generated here and its SHA-256
 * compared, so that one wrongly printed value among ten thousand would show.
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/base/canonical-json.ts";
import { isNeverTwiceError } from "../../src/base/errors.ts";

/** Published with the RFC's test data: lines of `hex of the double,canonical text`. */
const published = {
  1000: "be18b62b6f69cdab33a7e0dae0d9cfa869fda80ddc712221570f9f40a5878687",
  10_000: "b9f7a8e75ef22a835685a52ccba7f7d6bdc99e34b010992cbc5864cd12be6892",
};

/** A third of 10^22 down to a third of 10^-27, as doubles in hex; not all of them correctly rounded. */
const thirds = `
  446696695dbd1cc3 443211ede4974a35 43fce97ca0f21056 43c7213080c1a6ac 439280f39a348556
  435d9b1f5d20d557 4327af4c4a80aaac 42f2f2a36ecd5556 42be51057e155558 428840d131aaaaac
  4253670dc1555557 421f0b4935555557 41e8d5d42aaaaaac 41b3de4355555556 417fca0555555556
  41496e6aaaaaaaab 4114585555555555 40e046aaaaaaaaab 40aa0aaaaaaaaaaa 4074d55555555555
  4040aaaaaaaaaaab 400aaaaaaaaaaaab 3fd5555555555555 3fa1111111111111 3f6b4e81b4e81b4f
  3f35d867c3ece2a5 3f0179ec9cbd821e 3ecbf647612f3696 3e965e9f80f29212 3e61e54c672874db
  3e2ca213d840baf8 3df6e80fe033c8c6 3dc2533fe68fd3d2 3d8d51ffd74c861c 3d5774ccac3d3817
  3d22c3d6f030f9ac 3cee0624b3818f79 3cb804ea293472c7 3c833721ba905bd3 3c4ebe9c5db3c61e
  3c18987d17c304e5 3be3ad30dfcf371d 3baf7b816618582f 3b792f9ab81379bf 3b442615600f9499
  3b101e77800c76e1 3ad9ca58cce0be35 3aa4a1e0a3e6fe90 3a708180831f320d 3a3a68cd9e985016`;

/** Around one, around the smallest normal number, the ends, and where ECMAScript changes notation. */
const edges = `
  3ff0000000000000 bff0000000000000 bfeffffffffffffa bfeffffffffffffb 3feffffffffffffa
  3feffffffffffffb 3feffffffffffffc 3feffffffffffffe bfefffffffffffff bfefffffffffffff
  3fefffffffffffff 3fefffffffffffff 3fd3333333333332 3fd3333333333333 3fd3333333333334
  0010000000000000 000ffffffffffffd 000fffffffffffff 7fefffffffffffff ffefffffffffffff
  4340000000000000 c340000000000000 4430000000000000 44b52d02c7e14af5 44b52d02c7e14af6
  44b52d02c7e14af7 444b1ae4d6e2ef4e 444b1ae4d6e2ef4f 444b1ae4d6e2ef50 3eb0c6f7a0b5ed8c
  3eb0c6f7a0b5ed8d 41b3de4355555553 41b3de4355555554 41b3de4355555555 41b3de4355555556
  41b3de4355555557 becbf647612f3696 43143ff3c1cb0959`;

const seriesStart = 0x0010000000000000n;
const seriesLength = 2000;

/** The published sequence: chosen doubles, a run of neighbours, then doubles out of a hash chain. */
function* publishedDoubles(): Generator<number> {
  yield* chosenDoubles();
  for (let index = 0; index < seriesLength; index += 1) {
    yield doubleOf(seriesStart + BigInt(index));
  }
  for (let block = Buffer.alloc(32); ;) {
    block = createHash("sha256").update(block).digest();
    for (let at = 0; at < block.length; at += 8) {
      const value = block.readDoubleLE(at);
      if (value !== 0 && Number.isFinite(value)) yield value;
    }
  }
}

function* chosenDoubles(): Generator<number> {
  const positive = doublesOf(thirds);
  yield* [0, -0, Number.MIN_VALUE, -Number.MIN_VALUE];
  yield* positive.map((value) => -value);
  yield* positive;
  yield 10;
  for (let power = 0; power <= 9; power += 1) yield Number(`5e-${power}`);
  // 5.06e-6, 5.006e-6 … until the 6 is too small to matter.
  for (let zeros = 1; zeros <= 15; zeros += 1) yield Number(`5.${"0".repeat(zeros)}6e-6`);
  yield* doublesOf(edges);
}

function doublesOf(hexWords: string): number[] {
  return hexWords
    .trim()
    .split(/\s+/)
    .map((word) => doubleOf(BigInt(`0x${word}`)));
}

function doubleOf(bits: bigint): number {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(bits);
  return bytes.readDoubleBE();
}

function bitsOf(value: number): string {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes.readBigUInt64BE().toString(16);
}

function take(count: number): number[] {
  const values: number[] = [];
  for (const value of publishedDoubles()) {
    if (values.push(value) === count) return values;
  }
  return values;
}

/** Our canonical JSON; for an integer that is not exact, which we refuse, the RFC's. */
function printed(value: number): string {
  try {
    return canonicalJson(value);
  } catch (error) {
    if (!isNeverTwiceError(error, "UNSUPPORTED_ARGUMENT")) throw error;
    if (!Number.isInteger(value) || Number.isSafeInteger(value)) throw error;
    return canonicalize(value) ?? "";
  }
}

describe("the published sequence of doubles", () => {
  it.each(Object.entries(published))("prints as published, %s lines", (count, hash) => {
    const lines = take(Number(count)).map((value) => `${bitsOf(value)},${printed(value)}\n`);
    expect(createHash("sha256").update(lines.join("")).digest("hex")).toBe(hash);
  });

  it("is mostly ours to print: only inexact integers are refused", () => {
    const values = take(10_000);
    const refused = values.filter(
      (value) => Number.isInteger(value) && !Number.isSafeInteger(value),
    );
    expect(refused.length).toBeGreaterThan(1000);
    expect(refused.length).toBeLessThan(5000);
    for (const value of refused) expect(() => canonicalJson(value)).toThrow("send it as text");
  });

  it("reads back as the same double", () => {
    for (const value of take(10_000)) expect(Number(printed(value))).toBe(value + 0);
  });
});
