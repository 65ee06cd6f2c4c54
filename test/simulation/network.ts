/**
 * The way to the provider and back: a request lands any time within its flight bound, or never, and so
 * does its reply; neither knows whether the sender still lives.
 */
import { ProviderRules, type RequestStory } from "../../src/testing/fake-provider/index.ts";
import { type EventKind, type Plan, spans } from "./plan.ts";
import type { Random } from "./random.ts";
import type { Actor, Choice, Scheduler } from "./scheduler.ts";

/** What a refused or broken call throws. */
export class ProviderRefusal extends Error {
  readonly status: number | undefined;

  constructor(message: string, status?: number) {
    super(message);
    this.status = status;
  }
}

interface Message {
  readonly actor: Actor;
  readonly sentAtMs: number;
  readonly body: string;
  readonly key: string;
  readonly tag: string;
  resolve(value: unknown): void;
  reject(error: Error): void;
}

interface Answered {
  readonly message: Message;
  readonly status: number;
  readonly body: unknown;
}

export class Network {
  readonly rules: ProviderRules;
  readonly #plan: Plan;
  readonly #random: Random;
  readonly #scheduler: Scheduler;
  readonly #flying = new Set<Message>();
  readonly #answered = new Set<Answered>();

  constructor(plan: Plan, random: Random, scheduler: Scheduler) {
    this.rules = new ProviderRules({ behaviour: plan.behaviour });
    this.#plan = plan;
    this.#random = random;
    this.#scheduler = scheduler;
  }

  /** Writes a request to the socket, in this very turn. */
  send(actor: Actor, request: { body: string; key: string; tag: string }): Promise<unknown> {
    actor.sent += 1;
    const sentAtMs = this.#scheduler.nowMs;
    return new Promise((resolve, reject) => {
      this.#flying.add({ ...request, actor, sentAtMs, resolve, reject });
    });
  }

  /** Time may not pass beyond this while requests are in flight: F holds. */
  latestMs(): number {
    return Math.min(...[...this.#flying].map((message) => message.sentAtMs + spans.flight));
  }

  choices(): Choice[] {
    const flying = [...this.#flying].flatMap((message) => {
      const label = `request of ${message.actor.name}`;
      return [
        this.#choice("deliver", label, () => this.#deliver(message)),
        this.#choice("drop-request", label, () => void this.#flying.delete(message)),
      ];
    });
    const answered = [...this.#answered].flatMap((answer) => {
      const label = `reply ${answer.status} to ${answer.message.actor.name}`;
      return [
        this.#choice("reply", label, () => this.#reply(answer)),
        this.#choice("drop-reply", label, () => void this.#answered.delete(answer)),
      ];
    });
    return [...flying, ...answered];
  }

  #choice(kind: EventKind, label: string, run: () => void): Choice {
    return { kind, label: `${label}: ${kind}`, run };
  }

  #deliver(message: Message): void {
    this.#flying.delete(message);
    const before = this.rules.ledger().length;
    this.#drawFault();
    const story = this.rules.create(
      {
        operation: "refund",
        key: message.key,
        tag: message.tag,
        account: null,
        bodyText: message.body,
        headers: {},
      },
      this.#scheduler.nowMs,
    );
    const reply = tell(story);
    const landed = this.rules.ledger().length - before;
    if (landed > 0) this.#scheduler.note(`        EFFECT ${this.rules.ledger().length}`);
    this.#answered.add({ message, ...reply });
  }

  #drawFault(): void {
    const { decline, serverError } = this.#plan;
    const drawn = this.#random.next();
    if (drawn < decline) this.rules.fault({ decline: true });
    else if (drawn < decline + serverError) {
      this.rules.fault({ status: 500, effect: this.#random.chance(0.6) });
    } else this.rules.fault({ pass: true });
  }

  #reply(answer: Answered): void {
    this.#answered.delete(answer);
    const { message, status, body } = answer;
    if (status < 300) message.resolve(body);
    else message.reject(new ProviderRefusal(`answered ${status}`, status));
  }
}

function tell(story: RequestStory): { status: number; body: unknown } {
  const step = story.next();
  if (step.done !== true) throw new Error("the simulated provider never waits");
  const reply = step.value;
  if (reply.kind === "cut") return { status: 0, body: null };
  return { status: reply.answer.status, body: reply.answer.body };
}
