/**
 * A worker, seen from the stage: a child process that can be listened to and killed.
 *
 * @module
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import type { PointName } from "../../guard/environment.ts";
import { siblingScript } from "../../testing/sibling-script.ts";
import type { Answer, Job, WorkerEvent } from "./job.ts";

type EventOf<Name extends WorkerEvent["event"]> = Extract<WorkerEvent, { event: Name }>;

/** On a busy machine the news of what happened may be later than the answer that came after it. */
const newsWithinMs = 10_000;

/** A worker at its job. */
export class WorkerProcess {
  readonly processId: number;
  readonly #child: ChildProcess;
  readonly #gone: Promise<unknown>;
  readonly #events: WorkerEvent[] = [];
  #answer: Answer | undefined;
  readonly #waiting: (() => void)[] = [];
  #ended = false;

  constructor(job: Job) {
    this.#child = spawn(process.execPath, siblingScript(import.meta.url, "worker"), {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.processId = this.#child.pid ?? 0;
    this.#gone = once(this.#child, "close");
    this.#child.once("close", () => {
      this.#ended = true;
      this.#wake();
    });
    const { stdin, stdout } = this.#child;
    // A worker that is killed can't read on; that is no error of ours.
    stdin?.on("error", () => {});
    stdin?.write(`${JSON.stringify(job)}\n`);
    if (stdout === null) return;
    createInterface({ input: stdout }).on("line", (line) => {
      const event = JSON.parse(line) as WorkerEvent;
      if (event.event === "told") this.#answer = event.answer;
      else this.#events.push(event);
      this.#wake();
    });
  }

  /** Waits for the next event of a kind; those before it are passed over. */
  async next<Name extends WorkerEvent["event"]>(
    name: Name,
    fits: (event: EventOf<Name>) => boolean = () => true,
  ): Promise<EventOf<Name>> {
    for (;;) {
      const event = this.#events.shift();
      if (event?.event === name && fits(event as EventOf<Name>)) return event as EventOf<Name>;
      if (event !== undefined) continue;
      if (this.#answer !== undefined) throw tooEarly(this.#answer);
      await this.#news();
    }
  }

  /** Waits until the call is at this point. */
  async at(point: PointName): Promise<void> {
    await this.next("point", ({ name }) => name === point);
  }

  /** Waits for something that must come before the answer. */
  async before<T>(happening: Promise<T>): Promise<T> {
    const answered = this.#answered().then(async (answer): Promise<never> => {
      await pause(newsWithinMs, undefined, { ref: false });
      throw tooEarly(answer);
    });
    // The answer comes in the end, too.
    answered.catch(() => {});
    return Promise.race([happening, answered]);
  }

  /** Waits for the answer, and for the process to end. */
  async told(): Promise<Answer> {
    const answer = await this.#answered();
    await this.#gone;
    return answer;
  }

  /** SIGKILL: nothing is finished, nothing is written down. Resolves when it is gone. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#gone;
  }

  async #answered(): Promise<Answer> {
    while (this.#answer === undefined) await this.#news();
    return this.#answer;
  }

  async #news(): Promise<void> {
    if (this.#ended) throw new Error("a worker ended before it was told anything");
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function tooEarly(answer: Answer): Error {
  return new Error(`a worker was told "${answer.text}" before the story had got that far`);
}
