/**
 * Whatever happened: once the faults stop and somebody keeps calling, the operation comes to an end (L1,
 * L3), and what waits for a person can be decided (L4). Followed from every world, with all its workers
 * dead and what was on its way either lost or landed.
 */
import { baseNow, canonical, purgeAfter } from "./canonical.ts";
import { dbNow } from "./clock.ts";
import { encode } from "./encode.ts";
import type { Invariant } from "./invariants.ts";
import { providerSteps } from "./provider-model.ts";
import { type Lab, forEver } from "./setting.ts";
import {
  type Answer,
  type Step,
  type World,
  endedWorker,
  firstWorld,
  itemAt,
  noKey,
  replaced,
} from "./state.ts";
import { resolveRow } from "./store-model.ts";
import { workerSteps } from "./worker-model.ts";

/** Calls that are made before an operation counts as stuck. */
const maxCalls = 6;

export class LivenessCheck {
  readonly #lab: Lab;
  readonly #known = new Map<string, Invariant | undefined>();

  constructor(lab: Lab) {
    this.#lab = lab;
  }

  /** What is broken on the way from this world to its end, if anything. */
  brokenFrom(world: World): Invariant | undefined {
    return this.#ending(deadOf(world)) ?? this.#ending(deadOf(this.#landed(world)));
  }

  #ending(world: World): Invariant | undefined {
    const start = canonical(this.#lab, world);
    const text = encode(start, false);
    if (this.#known.has(text)) return this.#known.get(text);
    const broken = this.#follow(start);
    this.#known.set(text, broken);
    return broken;
  }

  #follow(start: World): Invariant | undefined {
    let world = start;
    for (let call = 1; call <= maxCalls; call += 1) {
      world = this.#later(world);
      const answered = this.#call(world);
      if (answered === undefined) return "L1";
      world = answered.world;
      const { kind } = answered.answer;
      if (kind === "done" || kind === "failed") return undefined;
      if (kind === "review") return this.#decidable(world);
      if (kind === "expired") return isSettled(world) ? undefined : "L1";
    }
    return "L1";
  }

  /** Time enough for leases to end, everything to settle, and look-ups to catch up. */
  #later(world: World): World {
    const { terms, quietMs, setting } = this.#lab;
    const { retention } = setting.provider;
    const waitMs = Math.max(terms.leaseMs, quietMs + terms.policy.giveUpAfterMs, purgeAfter) + 1;
    const now = world.now + waitMs + 2 * setting.faults.clockBack;
    const old = (arrivedAt: number): boolean => retention < forEver && now >= arrivedAt + retention;
    return {
      ...world,
      now,
      keys: world.keys.map((key) =>
        key.state !== "burnt" && key.state !== "none" && old(key.arrivedAt) ? noKey : key,
      ),
      effects: world.effects.map((effect) => ({
        ...effect,
        visible: true,
        status: effect.status === "pending" ? "succeeded" : effect.status,
      })),
    };
  }

  /** One more caller, whom nothing goes wrong for. */
  #call(before: World): { world: World; answer: Answer } | undefined {
    const payload = before.row?.payload ?? 1;
    const { workers, messages } = firstWorld({ workers: [{ payload }], reviewers: 0 }, baseNow);
    let world: World = { ...before, workers, messages, answer: null };
    for (let steps = 0; steps < 40; steps += 1) {
      const next = this.#regular(world);
      if (next === undefined) return undefined;
      world = next.world;
      if (world.answer !== null) return { world, answer: world.answer };
    }
    return undefined;
  }

  #regular(world: World): Step | undefined {
    const isUnderWay = itemAt(world.messages, 0).state !== "none";
    const arriving = isUnderWay
      ? providerSteps(this.#lab, world).find(({ does }) => does.startsWith("request"))
      : undefined;
    if (arriving !== undefined) return arriving;
    const steps = workerSteps(this.#lab, world, 0);
    return steps.find(({ regular }) => regular) ?? steps[0];
  }

  #decidable(world: World): Invariant | undefined {
    const { row } = this.#later(world);
    if (row === null) return "L4";
    const now = dbNow(this.#lab, world) + this.#lab.quietMs + 2;
    const decision = { version: row.version, effect: 1, runAgain: false };
    const status = row.status === "DONE" ? "DONE" : "FAILED";
    const decided = resolveRow(row, now, { ...decision, status }, this.#lab.off);
    return decided === undefined ? "L4" : undefined;
  }

  /** The same world with every request on its way arrived. */
  #landed(world: World): World {
    let landed = world;
    for (const index of world.messages.keys()) {
      for (let guard = 0; guard < 2; guard += 1) {
        const does = `request of worker ${index + 1}`;
        const step = providerSteps(this.#lab, landed).find((each) => each.does.startsWith(does));
        if (step === undefined) break;
        landed = step.world;
      }
    }
    return landed;
  }
}

function deadOf(world: World): World {
  const messages = world.messages.map(() =>
    itemAt(firstWorld({ workers: [{}], reviewers: 0 }, 0).messages, 0),
  );
  const { told, reviewers } = firstWorld({ workers: [], reviewers: world.reviewers.length }, 0);
  // A key that was being run under stays in use only as long as its request is.
  const keys = world.keys.reduce(
    (list, key, wire) => (key.state === "running" ? replaced(list, wire, noKey) : list),
    world.keys,
  );
  return {
    ...world,
    workers: world.workers.map(() => endedWorker),
    messages,
    keys,
    told,
    known: 0,
    reviewers,
    answer: null,
  };
}

function isSettled(world: World): boolean {
  return world.row === null || world.row.status === "DONE" || world.row.status === "FAILED";
}
