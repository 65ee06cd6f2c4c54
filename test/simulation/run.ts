/**
 * One seeded run: the real guard on the real SQLite statements, a simulated provider, and one scheduler.
 */
import Database from "better-sqlite3";
import { z } from "zod";
import {
  type Guard,
  type Outcome,
  type Store,
  type Tool,
  createGuard,
  defineTool,
  isNeverTwiceError,
  resolve,
} from "../../src/index.ts";
import { NeverTwiceError } from "../../src/index.ts";
import { SqliteStore } from "../../src/stores/sqlite/index.ts";
import { Checker } from "./checker.ts";
import { Network, ProviderRefusal } from "./network.ts";
import { type Plan, drawPlan, spans } from "./plan.ts";
import { Random } from "./random.ts";
import { type Actor, type Choice, Scheduler, settleMicrotasks } from "./scheduler.ts";

/** What a run came to. */
export interface RunResult {
  readonly seed: number;
  readonly violations: readonly string[];
  /** `DONE`, `OPERATION_FAILED`, `NEEDS_REVIEW`: what a caller is told when all faults have stopped. */
  readonly end: string;
  readonly effects: number;
  readonly plan: Plan;
  readonly log: readonly string[];
}

/** Makes a fresh, migrated database for each run, so that a seed says all there is to know of it. */
export class Laboratory {
  readonly #template: Buffer;

  private constructor(template: Buffer) {
    this.#template = template;
  }

  static async open(): Promise<Laboratory> {
    const database = new Database(":memory:");
    await new SqliteStore(database).migrate();
    return new Laboratory(database.serialize());
  }

  async run(seed: number): Promise<RunResult> {
    const database = new Database(this.#template);
    let clock = (): number => 0;
    const store = new SqliteStore(database, { configure: false, clock: () => clock() });
    const run = new SimulatedRun(seed, store);
    clock = () => run.scheduler.databaseMs();
    const result = await run.play();
    database.close();
    return result;
  }
}

class SimulatedRun {
  readonly scheduler = new Scheduler();
  readonly #seed: number;
  readonly #store: Store;
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #network: Network;
  readonly #checker: Checker;
  readonly #tenant: string;
  readonly #actors: Actor[];
  #stepsBack = 0;
  #ids = 0;

  constructor(seed: number, store: Store) {
    this.#seed = seed;
    this.#store = store;
    this.#random = new Random(seed);
    this.#plan = drawPlan(this.#random);
    this.#tenant = "acme";
    this.#network = new Network(this.#plan, this.#random, this.scheduler);
    this.#checker = new Checker(store, this.#tenant, this.#network.rules);
    const names = [
      ...Array.from({ length: this.#plan.invocations }, (_, index) => `call ${index + 1}`),
      ...Array.from({ length: this.#plan.sweeps }, (_, index) => `sweep ${index + 1}`),
    ];
    this.#actors = names.map((name) => ({
      name,
      weight: this.#random.logUniform(0.01, 1),
      state: "waiting",
      sent: 0,
    }));
  }

  async play(): Promise<RunResult> {
    for (
      let step = 0;
      step < this.#plan.steps && this.#checker.violations.length === 0;
      step += 1
    ) {
      const choice = this.#choose();
      if (choice === undefined) break;
      this.scheduler.note(choice.label);
      await choice.run();
      await settleMicrotasks();
      await this.#checker.observe();
    }
    const end = this.#checker.violations.length === 0 ? await this.#recover() : "violated";
    await this.#checker.finish(end);
    return {
      seed: this.#seed,
      violations: this.#checker.violations,
      end,
      effects: this.#network.rules.ledger().length,
      plan: this.#plan,
      log: this.scheduler.log,
    };
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
      choices.push({
        kind: "start",
        label: `${waiting.name} starts`,
        run: () => this.#start(waiting, true),
      });
    }
    for (const actor of this.#actors.filter(({ state }) => state === "running")) {
      choices.push({
        kind: "crash",
        label: `${actor.name} crashes`,
        run: () => this.scheduler.crash(actor),
      });
    }
    for (const kind of ["short-tick", "long-tick"] as const) choices.push(...this.#tick(kind));
    if (this.#stepsBack === 0) {
      const run = (): void => {
        this.#stepsBack += 1;
        this.scheduler.databaseStepMs -= spans.margin;
      };
      choices.push({ kind: "step-back", label: "the database's clock steps back", run });
    }
    if (this.#plan.reviewer && this.#checker.inReview !== undefined) {
      choices.push({ kind: "review", label: "a reviewer decides", run: () => this.#review() });
    }
    return choices;
  }

  #tick(kind: "short-tick" | "long-tick"): Choice[] {
    const wanted =
      kind === "short-tick"
        ? [50, 200, 600]
        : [spans.lease, spans.flight + spans.lag, 9000, spans.retention];
    const spanMs = Math.min(
      this.#random.pick(wanted),
      this.#network.latestMs() - this.scheduler.nowMs,
    );
    if (spanMs <= 0) return [];
    return [{ kind, label: `${spanMs} ms pass`, run: () => void (this.scheduler.nowMs += spanMs) }];
  }

  #start(actor: Actor, faulty: boolean): void {
    actor.state = "running";
    const isSweep = actor.name.startsWith("sweep");
    const amountMinor = this.#plan.changedPayload && actor.name === "call 2" ? 30_000 : 48_000;
    const work = async (): Promise<void> => {
      const guard = await this.#guardOf(actor, faulty);
      if (isSweep) {
        await guard.sweep();
        return;
      }
      const args = { orderId: "8812", amountMinor, reason: `in the words of ${actor.name}` };
      await this.#told(
        actor,
        amountMinor,
        guard.run(this.#toolOf(actor), args, { tenant: this.#tenant }),
      );
    };
    work().then(
      () => this.#ended(actor),
      (error: unknown) => {
        if (!isNeverTwiceError(error))
          this.#checker.violate(`${actor.name} threw ${String((error as Error).stack)}`);
        this.#ended(actor);
      },
    );
  }

  #ended(actor: Actor): void {
    if (actor.state === "running") actor.state = "ended";
  }

  async #told(
    actor: Actor,
    amountMinor: number,
    running: Promise<Outcome<unknown>>,
  ): Promise<void> {
    try {
      const outcome = await running;
      this.scheduler.note(
        `        ${actor.name} is told ${outcome.replayed ? "REPLAYED" : "EXECUTED"}`,
      );
      this.#checker.toldDone(outcome, amountMinor);
    } catch (error) {
      if (!isNeverTwiceError(error)) throw error;
      this.scheduler.note(`        ${actor.name} is told ${error.code}`);
      this.#checker.toldError(error.code, actor.sent);
    }
  }

  #guardOf(actor: Actor, faulty: boolean): Promise<Guard> {
    const runtime = this.scheduler.runtimeOf(actor, () => `id-${(this.#ids += 1)}`);
    const store = faulty ? this.#parkedStore(actor) : this.#store;
    return createGuard({
      store,
      tools: [this.#toolOf(actor)],
      runtime,
      accept: ["file=:memory:", "synchronous=NORMAL", "synchronous=OFF"],
    });
  }

  /** The real store, each call of which waits for its turn and may be lost on either way. */
  #parkedStore(actor: Actor): Store {
    return new Proxy(this.#store, {
      get: (target, name: keyof Store) => {
        if (name === "inspect") return () => target.inspect();
        return (params: never) =>
          this.scheduler.call<unknown>(
            actor,
            name,
            () => (target[name] as (given: never) => Promise<unknown>)(params),
            () => new NeverTwiceError("STORE_UNAVAILABLE", "the connection broke"),
          );
      },
    });
  }

  readonly #tools = new Map<Actor, Tool>();

  #toolOf(actor: Actor): Tool {
    const known = this.#tools.get(actor);
    if (known !== undefined) return known;
    const { lookUp } = this.#plan;
    const tool = defineTool({
      name: "issue_refund",
      kind: "non-idempotent",
      arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
      intent: ({ args }) => `refund:${args.orderId}`,
      businessArguments: ["orderId", "amountMinor"],
      contract: {
        ...this.#plan.contract,
        classify: (error) =>
          error instanceof ProviderRefusal && error.status === 402 ? "definitive" : "unknown",
        providerId: (effect) => (effect as { id: string }).id,
        ...(lookUp === null
          ? {}
          : { lookUp: { ...lookUp, find: ({ key }: { key: string }) => this.#find(actor, key) } }),
      },
      execute: (args, call) => {
        call.beforeWrite();
        return this.#network.send(actor, {
          body: JSON.stringify(args),
          key: call.wireKey,
          tag: call.key,
        });
      },
    });
    this.#tools.set(actor, tool);
    return tool;
  }

  #find(actor: Actor, tag: string): Promise<never> {
    const work = (): unknown => {
      const reply = this.#network.rules.find({ tag }, this.scheduler.nowMs);
      if (reply.kind === "cut") throw new Error("the connection was cut");
      const effects = reply.answer.body as { id: string; status: "succeeded" | "pending" }[];
      if (effects.length === 0) return { answer: "absent" };
      return {
        answer: "found",
        effects: effects.map((effect) => ({
          status: effect.status,
          result: effect,
          providerId: effect.id,
        })),
      };
    };
    return this.scheduler.call(
      actor,
      "look up",
      work,
      () => new Error("look-up lost"),
    ) as Promise<never>;
  }

  /** Truthful about what is there now; the store refuses a "no" that comes too early. */
  async #review(): Promise<void> {
    const seen = this.#checker.inReview;
    if (seen === undefined) return;
    const [effect] = this.#network.rules.ledger();
    const { tenant, key, version } = seen;
    const common = {
      tenant,
      key,
      version,
      by: "reviewer",
      why: "looked at the provider's console",
    };
    const no = this.#random.pick(["did-not-happen", "run-again", "look-again"] as const);
    try {
      if (effect === undefined) await resolve(this.#store, { ...common, decision: no });
      else {
        const result = {
          ...effect.body,
          id: effect.effectId,
          operation: "refund",
          status: "succeeded",
        };
        await resolve(this.#store, {
          ...common,
          decision: "happened",
          result,
          providerId: effect.effectId,
        });
      }
      this.scheduler.note(`        decided: ${effect === undefined ? no : "happened"}`);
    } catch (error) {
      if (!isNeverTwiceError(error)) throw error;
      this.scheduler.note(`        refused: ${error.code}`);
    }
  }

  /** Faults stop; what is in flight lands or is gone; somebody keeps calling. Something must come of it (L1). */
  async #recover(): Promise<string> {
    for (const actor of this.#actors) if (actor.state === "running") this.scheduler.crash(actor);
    for (let told = "", tries = 1; ; tries += 1) {
      while (this.#network.choices().length > 0) {
        const kinds = this.#network.choices();
        await this.#random.pick(kinds).run();
      }
      this.scheduler.nowMs +=
        spans.lease + spans.flight + spans.lag + spans.margin + spans.sendWithin + 1000;
      const actor: Actor = { name: `last call ${tries}`, weight: 1, state: "waiting", sent: 0 };
      const before = this.#checker.answers.length;
      this.#start(actor, false);
      await this.#runAlone(actor);
      await this.#checker.observe();
      told = this.#checker.answers.slice(before).at(-1) ?? "nothing";
      const final = ["DONE", "OPERATION_FAILED", "NEEDS_REVIEW", "PAYLOAD_MISMATCH"].includes(told);
      if (final || tries === 8) return told;
    }
  }

  async #runAlone(actor: Actor): Promise<void> {
    for (let step = 0; step < 200; step += 1) {
      await settleMicrotasks();
      if (actor.state !== "running") return;
      const calls = this.scheduler.choices().map(({ choice }) => choice);
      const [next] = [...calls, ...this.#network.choices()].filter(
        ({ kind }) => !/refuse|lose|drop/.test(kind),
      );
      if (next !== undefined) await next.run();
      else this.scheduler.nowMs = Math.max(this.scheduler.nowMs, this.scheduler.nextTimerMs() ?? 0);
    }
  }
}
