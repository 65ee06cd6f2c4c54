/**
 * The processes of a run: each works on one invocation, or one sweep, with the real guard on a store
 * every call of which waits for its turn and may be lost on either way.
 */
import { z } from "zod";
import {
  type Guard,
  NeverTwiceError,
  type Outcome,
  type Store,
  type Tool,
  createGuard,
  defineTool,
  isNeverTwiceError,
} from "../../src/index.ts";
import type { Checker } from "./checker.ts";
import { type Network, ProviderRefusal } from "./network.ts";
import { type Plan, spans } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Actor, Scheduler } from "./scheduler.ts";
import { findWriteFault } from "./write-checker.ts";

/** What the crew works in. */
export interface Workplace {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly random: Random;
  readonly store: Store;
  /** One per tenant. */
  readonly checkers: readonly Checker[];
}

export class Crew {
  readonly #place: Workplace;
  readonly #tools = new Map<Actor, Tool>();
  readonly #lastArmMs = new Map<Actor, number>();
  #ids = 0;

  constructor(place: Workplace) {
    this.#place = place;
  }

  /** Starts an actor; with faults, its calls of the store are parked one by one. */
  start(actor: Actor, faulty: boolean): void {
    actor.state = "running";
    this.#work(actor, faulty).then(
      () => this.#ended(actor),
      (error: unknown) => {
        if (!isNeverTwiceError(error))
          actor.checker.violate(`${actor.name} threw ${String((error as Error).stack)}`);
        this.#ended(actor);
      },
    );
  }

  #ended(actor: Actor): void {
    if (actor.state === "running") actor.state = "ended";
  }

  async #work(actor: Actor, faulty: boolean): Promise<void> {
    const guard = await this.#guardOf(actor, faulty);
    if (actor.sweeps) {
      await guard.sweep();
      return;
    }
    const { amountMinor } = actor;
    const args = { orderId: "8812", amountMinor, reason: `in the words of ${actor.name}` };
    const identity = { tenant: actor.checker.tenant };
    await this.#told(actor, guard.run(this.#toolOf(actor), args, identity));
  }

  async #told(actor: Actor, running: Promise<Outcome<unknown>>): Promise<void> {
    const note = (told: string): void =>
      this.#place.scheduler.note(`        ${actor.name} is told ${told}`);
    try {
      const outcome = await running;
      note(outcome.replayed ? "REPLAYED" : "EXECUTED");
      await actor.checker.toldDone(outcome, actor.amountMinor);
    } catch (error) {
      if (!isNeverTwiceError(error)) throw error;
      note(error.code);
      await actor.checker.toldError(error.code, actor.sent);
    }
  }

  #guardOf(actor: Actor, faulty: boolean): Promise<Guard> {
    return createGuard({
      store: this.#watchedStore(actor, faulty),
      tools: [this.#toolOf(actor)],
      runtime: this.#place.scheduler.runtimeOf(actor, () => `id-${(this.#ids += 1)}`),
      accept: ["file=:memory:", "synchronous=NORMAL", "synchronous=OFF"],
    });
  }

  #watchedStore(actor: Actor, faulty: boolean): Store {
    const { scheduler, store } = this.#place;
    return new Proxy(store, {
      get: (target, name: keyof Store) => {
        if (name === "inspect") return () => target.inspect();
        return (params: Record<string, unknown>) => {
          const work = (): Promise<unknown> => this.#call(actor, name, params);
          const lost = (): Error =>
            new NeverTwiceError("STORE_UNAVAILABLE", "the connection broke");
          return faulty ? scheduler.call(actor, name, work, lost) : work();
        };
      },
    });
  }

  /** The real statement, and a look at what it did. */
  async #call(actor: Actor, name: keyof Store, params: Record<string, unknown>): Promise<unknown> {
    const { store, checkers, scheduler } = this.#place;
    const statement = store[name] as (given: unknown) => Promise<unknown>;
    const checker = checkers.find(({ key }) => key === params["key"]);
    if (checker === undefined) return statement.call(store, params);
    const before = await checker.read();
    const answer = await statement.call(store, params);
    const after = await checker.read();
    const arms = name === "arm" || (name === "claim" && params["arm"] === true);
    if (arms && answer !== undefined) this.#lastArmMs.set(actor, scheduler.nowMs);
    const nowMs = scheduler.databaseMs();
    const fault = findWriteFault({ name, params, before, after, answer, nowMs });
    if (fault !== undefined) checker.violate(fault);
    return answer;
  }

  #toolOf(actor: Actor): Tool {
    const known = this.#tools.get(actor);
    if (known !== undefined) return known;
    const { plan } = this.#place;
    const find = ({ key }: { key: string }): Promise<never> => this.#find(actor, key);
    const tool = defineTool({
      name: "issue_refund",
      kind: "non-idempotent",
      arguments: z.object({ orderId: z.string(), amountMinor: z.int(), reason: z.string() }),
      intent: ({ args }) => `refund:${args.orderId}`,
      businessArguments: ["orderId", "amountMinor"],
      contract: {
        ...plan.contract,
        classify: (error) =>
          error instanceof ProviderRefusal && error.status === 402 ? "definitive" : "unknown",
        providerId: (effect) => (effect as { id: string }).id,
        ...(plan.lookUp === null ? {} : { lookUp: { ...plan.lookUp, find } }),
      },
      execute: async (args, call) => {
        if (plan.connects) await this.#connect(actor);
        call.beforeWrite();
        return this.#send(actor, {
          body: JSON.stringify(args),
          key: call.wireKey,
          tag: call.key,
        });
      },
    });
    this.#tools.set(actor, tool);
    return tool;
  }

  #connect(actor: Actor): Promise<void> {
    const lost = (): Error => new Error("no connection");
    return this.#place.scheduler.call(actor, "connect", () => undefined, lost);
  }

  #send(actor: Actor, request: { body: string; key: string; tag: string }): Promise<unknown> {
    const { scheduler, network } = this.#place;
    const sinceArmMs = scheduler.nowMs - (this.#lastArmMs.get(actor) ?? -Infinity);
    if (sinceArmMs > spans.sendWithin)
      actor.checker.violate(`S7: sent ${sinceArmMs} ms after it was armed`);
    return network.send(actor, request);
  }

  #find(actor: Actor, tag: string): Promise<never> {
    const { network, scheduler, plan, random } = this.#place;
    const work = (): unknown => {
      if (random.chance(plan.lookUpFails)) throw new Error("the search is down");
      const reply = network.rules.find({ tag }, scheduler.nowMs);
      if (reply.kind === "cut") throw new Error("the connection was cut");
      const effects = reply.answer.body as { id: string; status: "succeeded" | "pending" }[];
      if (effects.length === 0) return { answer: "absent" };
      const found = effects.map((effect) => ({
        status: effect.status,
        result: effect,
        providerId: effect.id,
      }));
      return { answer: "found", effects: found };
    };
    const lost = (): Error => new Error("look-up lost");
    return scheduler.call(actor, "look up", work, lost) as Promise<never>;
  }
}
