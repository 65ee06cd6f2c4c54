/**
 * One seeded run: the real guard on the real SQLite statements, a simulated provider, and one scheduler.
 */
import Database from "better-sqlite3";
import type { Store } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { Checker } from "./checker.ts";
import { Crew } from "./crew.ts";
import { Network } from "./network.ts";
import { type Plan, drawPlan, spans } from "./plan.ts";
import { Random } from "./random.ts";
import { recover } from "./recovery.ts";
import { type No, review } from "./reviewer.ts";
import { type Actor, type Choice, Scheduler, settleMicrotasks } from "./scheduler.ts";

/** What a run came to. */
export interface RunResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** `DONE`, `OPERATION_FAILED`, `NEEDS_REVIEW`: what a caller is told when all faults have stopped. */
  readonly end: string;
  /** Of the first tenant. */
  readonly effects: number;
  readonly plan: Plan;
  readonly log: readonly string[];
}

/**
 * One database for many runs, emptied before each, so that a seed says all there is to know of its run
 * and statements are prepared once.
 */
export class Laboratory {
  readonly #database: Database.Database;
  readonly #store: Store;
  #clock = (): number => 0;

  private constructor() {
    this.#database = new Database(":memory:");
    this.#store = new SqliteStore(this.#database, {
      configure: false,
      clock: () => this.#clock(),
    });
  }

  static async open(): Promise<Laboratory> {
    const laboratory = new Laboratory();
    await laboratory.#store.migrate();
    laboratory.#database.exec("drop trigger nevertwice_journal_no_delete");
    return laboratory;
  }

  async run(seed: number): Promise<RunResult> {
    this.#database.exec(
      "delete from nevertwice_operations; delete from nevertwice_journal; delete from sqlite_sequence",
    );
    const run = new SimulatedRun(seed, this.#store);
    this.#clock = () => run.scheduler.databaseMs();
    return run.play();
  }
}

class SimulatedRun {
  readonly scheduler = new Scheduler();
  readonly #seed: number;
  readonly #store: Store;
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #network: Network;
  readonly #checkers: readonly Checker[];
  readonly #crew: Crew;
  readonly #actors: Actor[];
  #stepsBack = 0;

  constructor(seed: number, store: Store) {
    this.#seed = seed;
    this.#store = store;
    this.#random = new Random(seed);
    const plan = drawPlan(this.#random);
    this.#plan = plan;
    this.#network = new Network(plan, this.#random, this.scheduler);
    const tenants = plan.secondTenant ? ["acme", "globex"] : ["acme"];
    const { rules } = this.#network;
    this.#checkers = tenants.map((tenant) => new Checker(store, tenant, rules));
    const { scheduler } = this;
    const checkers = this.#checkers;
    this.#crew = new Crew({
      plan,
      scheduler,
      network: this.#network,
      random: this.#random,
      store,
      checkers,
    });
    this.#actors = [
      ...Array.from({ length: plan.invocations }, (_, index) => this.#actor("call", index)),
      ...Array.from({ length: plan.sweeps }, (_, index) => this.#actor("sweep", index)),
    ];
  }

  #actor(kind: "call" | "sweep", index: number): Actor {
    const other = this.#plan.changedPayload && kind === "call" && index === 1;
    return {
      name: `${kind} ${index + 1}`,
      sweeps: kind === "sweep",
      weight: this.#random.logUniform(0.01, 1),
      checker: this.#checkers[index % this.#checkers.length] as Checker,
      amountMinor: other ? 30_000 : 48_000,
      state: "waiting",
      sent: 0,
    };
  }

  async play(): Promise<RunResult> {
    for (let step = 0; step < this.#plan.steps && !this.#violated(); step += 1) {
      const choice = this.#choose();
      if (choice === undefined) break;
      this.scheduler.note(choice.label);
      await choice.run();
      await settleMicrotasks();
      for (const checker of this.#checkers) await checker.observe();
    }
    const end = this.#violated() ? "violated" : await this.#finish();
    return {
      seed: this.#seed,
      violations: this.#checkers.flatMap(({ violations }) => violations),
      end,
      effects: this.#checkers[0]?.effects().length ?? 0,
      plan: this.#plan,
      log: this.scheduler.log,
    };
  }

  /** Stops all faults, and says what the first tenant's caller is told then. */
  async #finish(): Promise<string> {
    for (const actor of this.#actors) if (actor.state === "running") this.scheduler.crash(actor);
    const ends: string[] = [];
    for (const checker of this.#checkers) {
      const end = await recover({
        plan: this.#plan,
        scheduler: this.scheduler,
        network: this.#network,
        store: this.#store,
        crew: this.#crew,
        checker,
        random: this.#random,
      });
      await checker.finish(end);
      ends.push(end);
    }
    return ends[0] ?? "nothing";
  }

  #violated(): boolean {
    return this.#checkers.some(({ violations }) => violations.length > 0);
  }

  #choose(): Choice | undefined {
    const { weights } = this.#plan;
    const options = [
      ...this.scheduler
        .choices()
        .map(({ choice, actor }) => ({ choice, weight: weights[choice.kind] * actor.weight })),
      ...this.#network.choices().map((choice) => ({ choice, weight: weights[choice.kind] })),
      ...this.#ownChoices().map((choice) => ({ choice, weight: weights[choice.kind] })),
    ].filter(({ weight }) => weight > 0);
    if (options.length === 0) return undefined;
    return options[this.#random.weighted(options.map(({ weight }) => weight))]?.choice;
  }

  #ownChoices(): Choice[] {
    const choices: Choice[] = [];
    const waiting = this.#actors.find((actor) => actor.state === "waiting");
    if (waiting !== undefined) {
      const run = (): void => this.#crew.start(waiting, true);
      choices.push({ kind: "start", label: `${waiting.name} starts`, run });
    }
    for (const actor of this.#actors.filter(({ state }) => state === "running")) {
      const run = (): void => this.scheduler.crash(actor);
      choices.push({ kind: "crash", label: `${actor.name} crashes`, run });
    }
    choices.push(
      ...this.#tick("short-tick", [50, 200, 600]),
      ...this.#tick("long-tick", [spans.lease, spans.flight + spans.lag, 9000, spans.retention]),
      ...this.#tick("edge-tick", this.#edges()),
    );
    if (this.#stepsBack === 0) {
      const run = (): void => {
        this.#stepsBack += 1;
        this.scheduler.databaseStepMs -= spans.margin;
      };
      choices.push({ kind: "step-back", label: "the database's clock steps back", run });
    }
    const inReview = this.#checkers.find((checker) => checker.inReview !== undefined);
    if (this.#plan.reviewer && inReview !== undefined) {
      const run = (): Promise<void> => this.#review(inReview);
      choices.push({ kind: "review", label: "a reviewer decides", run });
    }
    return choices;
  }

  async #review(checker: Checker): Promise<void> {
    const no: No = this.#random.pick(["did-not-happen", "run-again", "look-again"]);
    this.scheduler.note(`        decided: ${await review(this.#store, checker, no)}`);
  }

  #tick(kind: Choice["kind"], wanted: readonly number[]): Choice[] {
    const ahead = wanted.filter((spanMs) => spanMs > 0);
    if (ahead.length === 0) return [];
    const mayMs = this.#network.latestMs() - this.scheduler.nowMs;
    const spanMs = Math.min(this.#random.pick(ahead), mayMs);
    if (spanMs <= 0) return [];
    return [{ kind, label: `${spanMs} ms pass`, run: () => void (this.scheduler.nowMs += spanMs) }];
  }

  /** How long it is until something about a row changes: faults live at the edges. */
  #edges(): number[] {
    const nowMs = this.scheduler.databaseMs();
    const windowMs = spans.retention - spans.flight - spans.sendWithin - spans.margin;
    return this.#checkers.flatMap(({ row }) => {
      if (row === undefined) return [];
      const firstMs = row.firstArmedAtMs ?? row.createdAtMs;
      const edges = [
        row.leaseUntilMs,
        row.quietUntilMs,
        firstMs + windowMs,
        firstMs + spans.retention,
      ];
      return edges.flatMap((edgeMs) => [edgeMs - 50 - nowMs, edgeMs + 1 - nowMs]);
    });
  }
}
