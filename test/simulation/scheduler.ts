/**
 * The scheduler owns order and time. Everything that an actor does beyond its own memory is parked
 * here until it is picked; a crash is an actor whose parked calls are never picked again.
 */
import type { Runtime } from "../../src/base/runtime.ts";
import type { Checker } from "./checker.ts";
import type { EventKind } from "./plan.ts";

/** Something that may happen next. */
export interface Choice {
  readonly kind: EventKind;
  readonly label: string;
  run(): Promise<void> | void;
}

interface Timer {
  readonly actor: Actor;
  readonly dueAtMs: number;
  readonly callback: () => void;
}

/** One process at work on one invocation. */
export interface Actor {
  readonly name: string;
  /** A sweep instead of a call. */
  readonly sweeps: boolean;
  /** Of its tenant's operation. */
  readonly checker: Checker;
  readonly amountMinor: number;
  /** How often it gets its turn: a small one is a paused process. */
  readonly weight: number;
  state: "waiting" | "running" | "ended" | "crashed";
  /** Requests that it wrote to the socket. */
  sent: number;
}

/** A call of an actor, parked at one of its two halves. */
interface ParkedCall {
  readonly actor: Actor;
  readonly label: string;
  readonly kind: "apply" | "acknowledge";
  run(): Promise<void> | void;
  /** Ends the call with an error instead; absent where that can't be. */
  readonly refuse?: () => void;
}

export class Scheduler {
  /** True time: of the provider, of monotonic clocks, and, but for a step, of the database. */
  nowMs = 1_000_000;
  databaseStepMs = 0;
  readonly log: string[] = [];
  readonly #parked = new Set<ParkedCall>();
  readonly #timers = new Set<Timer>();

  note(text: string): void {
    this.log.push(`${String(this.nowMs - 1_000_000).padStart(7)} ${text}`);
  }

  databaseMs(): number {
    return this.nowMs + this.databaseStepMs;
  }

  runtimeOf(actor: Actor, randomId: () => string): Runtime {
    return {
      monotonicMs: () => this.nowMs,
      randomId,
      after: (spanMs, callback) => {
        const timer: Timer = { actor, dueAtMs: this.nowMs + spanMs, callback };
        this.#timers.add(timer);
        return () => this.#timers.delete(timer);
      },
    };
  }

  /**
   * A call in two halves: `apply` does the work, `acknowledge` tells the actor. Between them anything
   * may happen, and either may be lost.
   */
  call<T>(actor: Actor, label: string, work: () => Promise<T> | T, lost: () => Error): Promise<T> {
    return new Promise((resolve, reject) => {
      const park = (half: ParkedCall): void => {
        if (actor.state !== "crashed") this.#parked.add(half);
      };
      const acknowledge = (settle: () => void): void =>
        park({ actor, label, kind: "acknowledge", run: settle, refuse: () => reject(lost()) });
      const apply = async (): Promise<void> => {
        try {
          const value = await work();
          acknowledge(() => resolve(value));
        } catch (error) {
          acknowledge(() => reject(error));
        }
      };
      park({ actor, label, kind: "apply", run: apply, refuse: () => reject(lost()) });
    });
  }

  /** Parked calls and due timers of living actors. */
  choices(): { choice: Choice; actor: Actor }[] {
    const calls = [...this.#parked].flatMap((parked) => {
      const { actor, label, kind } = parked;
      const take = (run: () => Promise<void> | void) => (): Promise<void> | void => {
        this.#parked.delete(parked);
        return run();
      };
      const refuse = parked.refuse;
      const lossKind: EventKind = kind === "apply" ? "refuse" : "lose-acknowledgement";
      return [
        {
          actor,
          choice: { kind, label: `${actor.name}: ${label} ${kind}`, run: take(() => parked.run()) },
        },
        ...(refuse === undefined
          ? []
          : [
              {
                actor,
                choice: {
                  kind: lossKind,
                  label: `${actor.name}: ${label} ${lossKind}`,
                  run: take(refuse),
                },
              },
            ]),
      ];
    });
    const due = [...this.#timers].filter((timer) => timer.dueAtMs <= this.nowMs);
    const timers = due.map((timer) => ({
      actor: timer.actor,
      choice: {
        kind: "fire-timer" as const,
        label: `${timer.actor.name}: timer`,
        run: () => {
          this.#timers.delete(timer);
          timer.callback();
        },
      },
    }));
    return [...calls, ...timers];
  }

  /** When the next timer of a living actor is due. */
  nextTimerMs(): number | undefined {
    const due = [...this.#timers].map((timer) => timer.dueAtMs);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  crash(actor: Actor): void {
    actor.state = "crashed";
    for (const parked of this.#parked) if (parked.actor === actor) this.#parked.delete(parked);
    for (const timer of this.#timers) if (timer.actor === actor) this.#timers.delete(timer);
  }
}

/** Lets every promise that can go on go on. */
export function settleMicrotasks(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
