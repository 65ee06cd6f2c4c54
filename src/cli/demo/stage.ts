/**
 * What the audience sees: a timeline, line by line as it happens.
 *
 * @module
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Output } from "../output.ts";
import { wrap } from "../text.ts";

/** Who does something. */
export type Actor = "agent" | "orchestrator" | "worker 1" | "worker 2" | "worker 3" | "provider";

/** One thing that happened. */
export interface Moment {
  /** Since the act began. */
  readonly atMs: number;
  readonly who: Actor;
  readonly what: string;
  /** Facts for machines. */
  readonly facts: Readonly<Record<string, unknown>>;
}

const timeWidth = 8;
const actorWidth = 12;
const margin = timeWidth + actorWidth + 4;

/** The stage of one act. */
export class Stage {
  readonly output: Output;
  readonly moments: Moment[] = [];
  readonly #speed: number;
  #startedAtMs = Number.NaN;

  constructor(output: Output, speed: number) {
    this.output = output;
    this.#speed = speed;
  }

  /** Says what happened, at once. */
  say(who: Actor, what: string, facts: Readonly<Record<string, unknown>> = {}): void {
    // The act begins with its first moment.
    if (this.moments.length === 0) this.#startedAtMs = performance.now();
    const atMs = Math.round(performance.now() - this.#startedAtMs);
    this.moments.push({ atMs, who, what, facts });
    if (this.output.json) return;
    const { dim } = this.output.colours;
    const time = `${(atMs / 1000).toFixed(2)} s`.padStart(timeWidth);
    const [first = "", ...more] = wrap(what, this.output.width - margin);
    this.output.line(`${dim(time)}  ${this.#colour(who)(who.padEnd(actorWidth))}  ${first}`);
    for (const line of more) this.output.line(`${" ".repeat(margin)}${line}`);
  }

  /** Time to read; never in the middle of a call. */
  async breathe(spanMs: number): Promise<void> {
    if (!this.output.json) await sleep(spanMs / this.#speed);
  }

  /** A blank line, and time to read. */
  async paragraph(spanMs: number): Promise<void> {
    if (!this.output.json) this.output.line();
    await this.breathe(spanMs);
  }

  #colour(who: Actor): (text: string) => string {
    const { cyan, magenta, yellow } = this.output.colours;
    if (who === "provider") return yellow;
    if (who === "agent") return magenta;
    return who === "orchestrator" ? (text) => text : cyan;
  }
}
