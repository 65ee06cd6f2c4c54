/**
 * Breadth-first search over every order of every step, so that the first world found to break an
 * invariant is one of those with the fewest steps to it.
 */
import { articleSteps } from "./article-model.ts";
import { baseNow, canonical } from "./canonical.ts";
import { encode } from "./encode.ts";
import { environmentSteps } from "./environment.ts";
import { type Invariant, brokenBy, brokenIn } from "./invariants.ts";
import { LivenessCheck } from "./liveness.ts";
import { providerSteps } from "./provider-model.ts";
import { type Lab, type Setting, labOf } from "./setting.ts";
import { type Step, type World, firstWorld } from "./state.ts";
import { workerSteps } from "./worker-model.ts";

/** One line of a trace. */
export interface TraceStep {
  readonly who: string;
  readonly does: string;
  readonly said: string;
}

export interface Exploration {
  readonly states: number;
  readonly steps: number;
  readonly elapsedMs: number;
  /** True: the bound in states was reached before the end. */
  readonly cut: boolean;
  /** The shortest way to break each invariant that is broken. */
  readonly broken: ReadonlyMap<Invariant, readonly TraceStep[]>;
  /** The shortest way to a world in which all have ended and somebody was told DONE. */
  readonly example: readonly TraceStep[] | undefined;
}

export interface ExploreOptions {
  readonly maxStates?: number;
  /** Stop once this one is broken. */
  readonly until?: Invariant | null;
}

/** Every step that may be next. */
export function stepsFrom(lab: Lab, world: World): Step[] {
  const program = lab.setting.program === "article" ? articleSteps : workerSteps;
  const steps = [...environmentSteps(lab, world), ...providerSteps(lab, world)];
  let startable = true;
  for (const [index, worker] of world.workers.entries()) {
    if (worker.place === "ended") continue;
    // Workers of one kind are interchangeable: of those at rest only the first has to start.
    const alike = lab.setting.cast.workers.length > 0 && isPlain(lab);
    if (worker.place === "idle" && alike && !startable) continue;
    if (worker.place === "idle") startable = false;
    steps.push(...program(lab, world, index));
  }
  return steps;
}

function isPlain({ setting }: Lab): boolean {
  return (
    setting.faults.skews.length === 0 &&
    setting.cast.workers.every(({ payload, kind }) => payload === undefined && kind === undefined)
  );
}

/** Explores everything that the setting allows. */
export function explore(setting: Setting, options: ExploreOptions = {}): Exploration {
  return new Explorer(labOf(setting), options).run();
}

class Explorer {
  readonly #lab: Lab;
  readonly #options: ExploreOptions;
  readonly #named: boolean;
  readonly #liveness: LivenessCheck;
  readonly #seen = new Set<string>();
  /** Worlds not yet followed; dropped afterwards, as a trace needs only parents and words. */
  readonly #open = new Map<number, World>();
  readonly #parents: number[] = [];
  readonly #words: number[] = [];
  readonly #lexicon: TraceStep[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #broken = new Map<Invariant, number>();
  #example: number | undefined;
  #steps = 0;

  constructor(lab: Lab, options: ExploreOptions) {
    this.#lab = lab;
    this.#options = options;
    this.#named = lab.setting.faults.skews.length > 0;
    this.#liveness = new LivenessCheck(lab);
  }

  run(): Exploration {
    const startedAt = performance.now();
    const { maxStates = 2_000_000, until } = this.#options;
    this.#add(firstWorld(this.#lab.setting.cast, baseNow), -1, { who: "", does: "", said: "" });
    let cut = false;
    for (let state = 0; state < this.#parents.length; state += 1) {
      if (until && this.#broken.has(until)) break;
      cut = this.#parents.length > maxStates;
      if (cut) break;
      this.#follow(state);
    }
    return {
      states: this.#parents.length,
      steps: this.#steps,
      elapsedMs: performance.now() - startedAt,
      cut,
      broken: new Map([...this.#broken].map(([what, state]) => [what, this.#trace(state)])),
      example: this.#example === undefined ? undefined : this.#trace(this.#example),
    };
  }

  #follow(state: number): void {
    const world = this.#open.get(state);
    this.#open.delete(state);
    if (world === undefined) return;
    for (const step of stepsFrom(this.#lab, world)) {
      this.#steps += 1;
      const broken = brokenBy(world, step.world);
      const next = this.#add(step.world, state, step);
      if (broken !== undefined) this.#break(broken, next ?? this.#place(state, step));
    }
  }

  /** Takes a world in, and answers its number if it is new. */
  #add(world: World, parent: number, step: TraceStep): number | undefined {
    const plain = canonical(this.#lab, world);
    const text = encode(plain, this.#named);
    if (this.#seen.has(text)) return undefined;
    this.#seen.add(text);
    const state = this.#place(parent, step);
    const broken = brokenIn(plain);
    if (broken !== undefined) this.#break(broken, state);
    // Lost evidence and a needless question don't end the story; anything else does.
    if (broken === undefined || broken === "S6" || broken === "L2") this.#open.set(state, plain);
    if (broken === undefined && this.#lab.setting.liveness) {
      const stuck = this.#liveness.brokenFrom(plain);
      if (stuck !== undefined) this.#break(stuck, state);
    }
    const ended = plain.told.done !== 0 && plain.workers.every(({ place }) => place === "ended");
    if (ended) this.#example ??= state;
    return state;
  }

  #place(parent: number, { who, does, said }: TraceStep): number {
    const text = `${who}\t${does}\t${said}`;
    let word = this.#numbers.get(text);
    if (word === undefined) {
      word = this.#lexicon.push({ who, does, said }) - 1;
      this.#numbers.set(text, word);
    }
    this.#words.push(word);
    return this.#parents.push(parent) - 1;
  }

  #break(what: Invariant, state: number): void {
    if (!this.#broken.has(what)) this.#broken.set(what, state);
  }

  #trace(last: number): readonly TraceStep[] {
    const trace: TraceStep[] = [];
    for (let state = last; state > 0; state = this.#parents[state] ?? 0) {
      const word = this.#lexicon[this.#words[state] ?? 0];
      if (word !== undefined) trace.push(word);
    }
    return trace.toReversed();
  }
}
