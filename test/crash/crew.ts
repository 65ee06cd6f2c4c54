/**
 * Processes for the crash matrix. A process that is killed serves once, so some are always started
 * ahead; and they run one bundled file of plain JavaScript, because start-up is what costs.
 */
import childProcess, { type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterAll } from "vitest";
import { bundleWorker } from "../support/bundle.ts";
import type { Ending, Job, News, Order } from "./job.ts";

/** How a part ended: it stood still and its process died there, or it came to its end. */
export type Fate = { readonly kind: "died" } | { readonly kind: "ended"; readonly ending: Ending };

/** What happens while a worker is stopped, and how long its stop is said to have been. */
export interface Stop {
  readonly stoppedMs: number;
  meanwhile(): Promise<void>;
}

/** A crew of so many hands, for one test file. */
export class Crew {
  readonly #hands: number;
  readonly #bundle: Promise<string>;
  readonly #ready: Promise<Hand>[] = [];
  readonly #waiting: (() => void)[] = [];
  #busy = 0;
  /** Processes started so far. */
  started = 0;

  constructor(hands = 2) {
    this.#hands = hands;
    this.#bundle = bundleWorker("crash/worker.ts");
    afterAll(() => this.#close());
  }

  /** Has a process play the parts; the fates are theirs, in order. `stop` belongs to a job that stops. */
  async perform(job: Job, stop?: Stop): Promise<readonly Fate[]> {
    if (this.#busy >= this.#hands) await new Promise<void>((go) => this.#waiting.push(go));
    this.#busy += 1;
    const hand = await (this.#ready.shift() ?? this.#start());
    // The next ones start while this one works.
    while (job.end !== "live" && this.#ready.length < this.#hands) this.#ready.push(this.#start());
    try {
      const fates = await hand.perform(job, stop);
      if (hand.isAlive) this.#ready.unshift(Promise.resolve(hand));
      return fates;
    } catch (error) {
      await hand.kill();
      throw error;
    } finally {
      this.#busy -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #start(): Promise<Hand> {
    const file = await this.#bundle;
    this.started += 1;
    const hand = new Hand(childProcess.fork(file, [], { execArgv: [] }));
    await hand.ready;
    return hand;
  }

  async #close(): Promise<void> {
    const hands = await Promise.allSettled(this.#ready);
    for (const hand of hands) if (hand.status === "fulfilled") await hand.value.kill();
  }
}

/** One process. */
class Hand {
  readonly ready: Promise<void>;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  #hear: (news: News) => void = () => {};

  constructor(child: ChildProcess) {
    this.#child = child;
    this.#gone = once(child, "exit");
    this.ready = new Promise((resolve, reject) => {
      child.on("message", (news: News) => (news.type === "ready" ? resolve() : this.#hear(news)));
      child.once("exit", () => reject(new Error("a worker ended before it had begun")));
    });
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async perform(job: Job, stop: Stop | undefined): Promise<readonly Fate[]> {
    const fates: Fate[] = job.parts.map(() => ({ kind: "died" }));
    const heardOf = new Set<number>();
    const finished = new Promise<void>((resolve, reject) => {
      this.#hear = (news) => {
        if (news.type === "stands" || news.type === "ended") heardOf.add(news.index);
        if (news.type === "ended") fates[news.index] = { kind: "ended", ending: news.ending };
        else if (news.type === "all-stand") this.#holdUp(stop).catch(reject);
        else if (news.type === "finished") resolve();
        else if (news.type === "broken") reject(new Error(`a worker broke: ${news.message}`));
      };
    });
    this.#child.send({ type: "job", job } satisfies Order);
    await Promise.race([finished, this.#gone]);
    const killed = this.#child.signalCode === "SIGKILL";
    if (job.end === "die" ? !killed : !this.isAlive) {
      throw new Error(`a worker ended with ${this.#child.signalCode ?? this.#child.exitCode}`);
    }
    // Only the last part may have died without a word: it did so in the very turn of its place.
    const missing = job.parts.length - heardOf.size;
    if (missing > (job.end === "die" ? 1 : 0)) throw new Error(`${missing} parts were not played`);
    return fates;
  }

  async #holdUp(stop: Stop | undefined): Promise<void> {
    if (stop === undefined)
      throw new Error("the job stops, and nothing is said to happen meanwhile");
    this.#child.kill("SIGSTOP");
    await stop.meanwhile();
    this.#child.send({ type: "go-on", stoppedMs: stop.stoppedMs } satisfies Order);
    this.#child.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    if (this.isAlive) this.#child.kill("SIGKILL");
    await this.#gone;
  }
}
