/**
 * The recorded steps of a run, and whether the flow's code still takes them. Pure.
 *
 * @module
 */
import { NeverTwiceError } from "../base/errors.ts";
import type { StepKind, StepRecord } from "../ledger/runs.ts";

/** Where a step stands when the flow's code comes to it. */
export interface Visit {
  readonly position: number;
  /** Another step is under way. */
  readonly concurrent: boolean;
  readonly recorded: StepRecord | undefined;
}

/** Kinds without an effect of their own: of two that race, the slower one may be left behind. */
const mayBeLeft: ReadonlySet<StepKind> = new Set(["approve", "sleep"]);

/**
 * The flow's code ended: what is under way by now would have its effect when the run is told as done.
 *
 * @throws {NeverTwiceError} STEP_INVALID
 */
export function checkNoneLeft(run: string, underWay: ReadonlyMap<string, StepKind>): void {
  const [step] = [...underWay].find(([, kind]) => !mayBeLeft.has(kind)) ?? [];
  if (step === undefined) return;
  throw new NeverTwiceError(
    "STEP_INVALID",
    `The flow's code ended while the step "${step}" of the run ${run} was under way, so what it does is not part of the run's result. Await each step.`,
    { details: { run, step } },
  );
}

/** What of the run is recorded, and which of it the code has come to in this pass. */
export class StepLog {
  readonly #run: string;
  readonly #recorded: ReadonlyMap<string, StepRecord>;
  readonly #visited = new Set<string>();
  readonly #underWay = new Map<string, StepKind>();
  #nextPosition: number;

  constructor(run: string, steps: readonly StepRecord[]) {
    this.#run = run;
    this.#recorded = new Map(steps.map((step) => [step.name, step]));
    this.#nextPosition = Math.max(0, ...steps.map(({ position }) => position + 1));
  }

  get steps(): readonly StepRecord[] {
    return [...this.#recorded.values()];
  }

  /**
   * Comes to a step.
   *
   * @throws {NeverTwiceError} STEP_INVALID for a name that this run has already, FLOW_CHANGED when
   * the record holds another kind of step there, or steps that should have come before.
   */
  visit(name: string, kind: StepKind): Visit {
    if (this.#visited.has(name)) throw this.#nameTaken(name);
    const recorded = this.#recorded.get(name);
    if (recorded !== undefined && recorded.kind !== kind) {
      throw this.changed(`the step "${name}" is recorded as ${recorded.kind} and is ${kind} now`);
    }
    const concurrent = this.#underWay.size > 0;
    const skipped = this.#skipped(recorded, concurrent);
    if (skipped !== undefined) {
      throw this.changed(`"${skipped.name}" is recorded next, and the code comes to "${name}"`);
    }
    this.#visited.add(name);
    this.#underWay.set(name, kind);
    return { position: recorded?.position ?? this.#nextPosition++, concurrent, recorded };
  }

  /** A visited step is over. */
  leave(name: string): void {
    this.#underWay.delete(name);
  }

  /** True when a step of the kind, or the named one of it, is under way in this pass; one that waits is. */
  isUnderWay(kind: StepKind, name?: string): boolean {
    if (name !== undefined) return this.#underWay.get(name) === kind;
    return [...this.#underWay.values()].includes(kind);
  }

  /**
   * The code ended.
   *
   * @throws {NeverTwiceError} STEP_INVALID when a step is under way that nobody awaited, FLOW_CHANGED when
   * the code did not come to a recorded step.
   */
  checkComplete(): void {
    checkNoneLeft(this.#run, this.#underWay);
    const missed = this.steps.find((step) => !this.#visited.has(step.name));
    if (missed !== undefined) {
      throw this.changed(`"${missed.name}" is recorded, and the code ends without coming to it`);
    }
  }

  changed(how: string): NeverTwiceError {
    return new NeverTwiceError(
      "FLOW_CHANGED",
      `The flow's code has changed since the run ${this.#run} began: ${how}. The run did not go on, and nothing new was sent. ` +
        "Register the code that it began with under its version, and the new code under a higher one.",
      { details: { run: this.#run } },
    );
  }

  /** A recorded step that this one jumps over. Steps that ran beside others may come in any order. */
  #skipped(recorded: StepRecord | undefined, concurrent: boolean): StepRecord | undefined {
    if (concurrent || recorded?.concurrent === true) return undefined;
    const end = recorded?.position ?? Number.POSITIVE_INFINITY;
    return this.steps.find(
      (step) => step.position < end && !step.concurrent && !this.#visited.has(step.name),
    );
  }

  #nameTaken(name: string): NeverTwiceError {
    return new NeverTwiceError(
      "STEP_INVALID",
      `The run ${this.#run} comes to a second step called "${name}". A step is recorded under its name: give each its own, e.g. with what it is about.`,
      { details: { run: this.#run, step: name } },
    );
  }
}
