/**
 * One case of the store contract.
 *
 * @module
 */
import { NeverTwiceError } from "../../base/errors.ts";
import type { StoreKit } from "./kit.ts";
import { Scene } from "./scene.ts";

/** One thing that every store must do, as a test without a runner. */
export interface StoreCase {
  /** A sentence: what holds. */
  readonly name: string;
  /** The protocol's rule behind it, as `R8`. */
  readonly rule: string;
  /** What a store does wrong that fails here, in a few words. */
  readonly fault: string;
  /** True: it can only run on a kit with a `clock`. */
  readonly needsClock: boolean;
  /** True: it is for stores with `lateLooks`, an optional part of the port. */
  readonly needsLateLooks: boolean;
  /**
   * Plays the case on a kit of its own. The kit is not closed.
   *
   * @throws {AssertionError} of `node:assert` where the store fails: its message names the case, the
   * rule, what was expected and what was seen.
   * @throws {NeverTwiceError} CONFIGURATION_INVALID when it needs a clock and the kit has none, or late
   * looks and the store has none.
   */
  run(kit: StoreKit): Promise<void>;
}

interface About {
  readonly rule: string;
  readonly fault: string;
  readonly needsClock?: boolean;
  readonly needsLateLooks?: boolean;
}

/** Makes a case of what is played on a fresh database. */
export function storeCase(
  name: string,
  { rule, fault, needsClock = false, needsLateLooks = false }: About,
  play: (scene: Scene) => Promise<void>,
): StoreCase {
  const run = async (kit: StoreKit): Promise<void> => {
    if (needsClock && kit.clock === undefined) {
      throw new NeverTwiceError(
        "CONFIGURATION_INVALID",
        `The case "${name}" moves the database's clock, and the kit has no \`clock\`. Give it one, or skip the cases with \`needsClock\`.`,
      );
    }
    await play(await Scene.open(`"${name}" (${rule})`, kit));
  };
  return { name, rule, fault, needsClock, needsLateLooks, run };
}
