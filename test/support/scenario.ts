/**
 * A scenario, and the proof that it can fail: with the guard replaced by one that guards nothing, an
 * assertion of it must break.
 */
import { expect, it } from "vitest";
import { type Guard, type GuardOptions, createGuard } from "../../src/index.ts";
import { passThroughGuard } from "./pass-through.ts";

/** Creates a guard, or what takes its place. */
export type CreateGuard = (options: GuardOptions) => Promise<Guard>;

/** The world that a scenario is played in, with a guard made by what it is given. */
export interface Stage<World> {
  readonly build: (create: CreateGuard) => Promise<World>;
  readonly play: (world: World) => Promise<void>;
  /** A pass-through may leave a scenario waiting for what never happens; that is failing too. Default 4 s. */
  readonly limitMs?: number;
}

/** Registers both tests. */
export function itHoldsAndCanFail<World>({ build, play, limitMs = 4000 }: Stage<World>): void {
  it("holds", async () => {
    await play(await build(createGuard));
  });
  it("breaks under a pass-through guard", async () => {
    const world = await build(passThroughGuard);
    await expect(endsWithin(limitMs, play(world))).rejects.toThrow();
  });
}

async function endsWithin(limitMs: number, playing: Promise<void>): Promise<void> {
  playing.catch(() => {});
  const limit = new Promise<never>((_, reject) =>
    setTimeout(() => reject(new Error("did not end")), limitMs).unref(),
  );
  await Promise.race([playing, limit]);
}
