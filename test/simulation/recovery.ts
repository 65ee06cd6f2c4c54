/**
 * What follows when all faults have stopped: what is in flight lands or is gone, and somebody goes on.
 * Something must come of it (L1, L3, L5), and a person who is asked must have an answer to give (L4).
 */
import type { Store } from "../../src/index.ts";
import { type Checker, isFinal } from "./checker.ts";
import type { Crew } from "./crew.ts";
import type { Network } from "./network.ts";
import { type Plan, spans } from "./plan.ts";
import type { Random } from "./random.ts";
import { review } from "./reviewer.ts";
import { type Actor, type Scheduler, settleMicrotasks } from "./scheduler.ts";

export interface Recovering {
  readonly plan: Plan;
  readonly scheduler: Scheduler;
  readonly network: Network;
  readonly store: Store;
  readonly crew: Crew;
  readonly checker: Checker;
  readonly random: Random;
}

const maxTries = 8;

/** Says what a caller is told at last. */
export async function recover(lab: Recovering): Promise<string> {
  if (lab.plan.recovery === "sweeps") await sweepUntilSettled(lab);
  const told = await callUntilFinal(lab, "last call");
  if (told !== "NEEDS_REVIEW") return told;
  await letPass(lab);
  await lab.checker.observe();
  // Evidence that came meanwhile wins over any reviewer (R14).
  if (lab.checker.inReview !== undefined) await decideAtLast(lab);
  const after = await callUntilFinal(lab, "call after review");
  if (after === "NEEDS_REVIEW") lab.checker.violate("L4: decided, and still in review");
  return told;
}

async function decideAtLast(lab: Recovering): Promise<void> {
  const decided = await review(lab.store, lab.checker, "did-not-happen");
  lab.scheduler.note(`        decided at last: ${decided}`);
  if (!["happened", "did-not-happen"].includes(decided))
    lab.checker.violate(`L4: a reviewer who waited is refused: ${decided}`);
  await lab.checker.observe();
}

async function callUntilFinal(lab: Recovering, name: string): Promise<string> {
  for (let told = "", tries = 1; ; tries += 1) {
    await letPass(lab);
    const before = lab.checker.answers.length;
    await runAlone(lab, actorOf(lab, `${name} ${tries}`, false));
    told = lab.checker.answers.slice(before).at(-1) ?? "nothing";
    if (isFinal(told) || tries === maxTries) return told;
  }
}

/** What was sent and is in doubt must be settled, or given to a person, by sweeps alone. */
async function sweepUntilSettled(lab: Recovering): Promise<void> {
  for (let tries = 1; tries <= maxTries && inDoubt(lab.checker); tries += 1) {
    await letPass(lab);
    // A failed look-up is asked again after a while that grows.
    lab.scheduler.nowMs += 120_000 * tries;
    await runAlone(lab, actorOf(lab, `last sweep ${tries}`, true));
  }
  if (inDoubt(lab.checker))
    lab.checker.violate(`L5: sweeps leave it ${String(lab.checker.row?.status)}`);
}

function inDoubt({ row }: Checker): boolean {
  if (row === undefined) return false;
  return row.status === "UNKNOWN" || (row.status === "IN_PROGRESS" && row.attempts > 0);
}

function actorOf({ checker }: Recovering, name: string, sweeps: boolean): Actor {
  return { name, sweeps, weight: 1, checker, amountMinor: 48_000, state: "waiting", sent: 0 };
}

/** Lets what is in flight land, and time pass until it is certain that nothing is. */
async function letPass(lab: Recovering): Promise<void> {
  while (lab.network.choices().length > 0) {
    await lab.random.pick(lab.network.choices()).run();
    await settleMicrotasks();
  }
  lab.scheduler.nowMs +=
    spans.lease + spans.flight + spans.lag + spans.margin + spans.sendWithin + 1000;
}

async function runAlone(lab: Recovering, actor: Actor): Promise<void> {
  lab.crew.start(actor, false);
  for (let step = 0; step < 200; step += 1) {
    await settleMicrotasks();
    if (actor.state !== "running") break;
    const calls = lab.scheduler.choices().map(({ choice }) => choice);
    const [next] = [...calls, ...lab.network.choices()].filter(
      ({ kind }) => !/refuse|lose|drop/.test(kind),
    );
    if (next !== undefined) await next.run();
    else lab.scheduler.nowMs = Math.max(lab.scheduler.nowMs, lab.scheduler.nextTimerMs() ?? 0);
  }
  await lab.checker.observe();
}
