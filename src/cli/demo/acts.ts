/**
 * The two acts: the same ticket, the same faults, the same provider; once without and once with the
 * guard.
 *
 * @module
 */
import type { RemoteProvider } from "../../testing/fake-provider/index.ts";
import { shortKey } from "../text.ts";
import { exactSeconds } from "../times.ts";
import type { Backstage } from "./backstage.ts";
import type { DemoStore } from "./demo-store.ts";
import type { Answer, Job, Mode } from "./job.ts";
import type { Actor, Stage } from "./stage.ts";
import { type Decision, decide, money, tenant, ticketId } from "./story.ts";
import { WorkerProcess } from "./worker-process.ts";

/** What an act is played with. */
export interface Props {
  readonly stage: Stage;
  readonly backstage: Backstage;
  readonly provider: RemoteProvider;
  /** Null in the bare act. */
  readonly demoStore: DemoStore | null;
}

/** How long worker 3 waits for the outcome of a worker that may be dead. */
const patienceMs = 20_000;
const readingTimeMs = 500;

/** Plays one act: three attempts. */
export async function playAct(props: Props): Promise<void> {
  const { stage } = props;
  await timeOut(props);
  await stage.paragraph(readingTimeMs);
  if (props.demoStore === null) await dieInCall(props);
  else await dieAfterLookUp(props, props.demoStore);
  await stage.paragraph(readingTimeMs);
  await decideAgain(props);
}

/** Attempt 1: the refund goes through, and its answer is lost. */
async function timeOut(props: Props): Promise<void> {
  const { stage, provider } = props;
  stage.say("orchestrator", `Ticket ${ticketId} goes to worker 1.`);
  await provider.fault({ gate: "answer-1", before: "reply" });
  const worker = startWorker(props, { decision: null, reading: 1 });
  const { decision } = await worker.next("decided");
  stage.say("agent", `Reads the complaint and decides: ${refundText(decision)}`, { decision });
  await sayCalling(props, worker, "worker 1");
  // Parked there, the request has taken effect.
  await worker.before(provider.parked("answer-1"));
  const { effectId } = await newestRefund(provider);
  stage.say(
    "provider",
    `Books ${effectId}: ${money(decision.amountMinor)}. Its answer gets lost on the way back.`,
    { effectId },
  );
  sayTold(stage, "worker 1", await worker.told());
  await provider.release("answer-1");
}

/** Attempt 2, bare: the retry's request arrives, and the worker is killed while it waits. */
async function dieInCall(props: Props): Promise<void> {
  const { stage, provider } = props;
  stage.say("orchestrator", "That looks like a failure: the call is retried, by worker 2.");
  await provider.fault({ gate: "answer-2", before: "reply" });
  const worker = startWorker(props, { decision: decide(1), reading: 1 });
  await sayCalling(props, worker, "worker 2");
  await worker.before(provider.parked("answer-2"));
  const { effectId, body } = await newestRefund(provider);
  const amount = money(Number(body["amountMinor"]));
  stage.say("provider", `A key it has never seen. Books ${effectId}: ${amount}.`, { effectId });
  await sayKilled(stage, worker, "in the middle of the call");
  await provider.release("answer-2");
}

/** Attempt 2, guarded: the retry looks first; the worker is killed before it can write down what it saw. */
async function dieAfterLookUp(props: Props, { store }: DemoStore): Promise<void> {
  const { stage, provider } = props;
  stage.say("orchestrator", "The same call is safe, so it is retried, by worker 2.");
  const asked = (await provider.lookUps()).length;
  const worker = startWorker(props, { decision: decide(1), reading: 1, holdAt: "after-look-up" });
  await sayCalling(props, worker, "worker 2");
  await worker.at("after-take-over");
  const { token } = await onlyOperation(store);
  stage.say(
    "worker 2",
    `Finds the operation UNKNOWN and takes it over, with fencing token ${token}. It looks before it sends.`,
    { token },
  );
  await worker.at("after-look-up");
  const lookUps = (await provider.lookUps()).slice(asked);
  const { effectId } = await newestRefund(provider);
  stage.say("provider", `Is asked for refunds with this operation's tag, and finds ${effectId}.`, {
    lookUps: lookUps.length,
  });
  await sayKilled(stage, worker, "before it can write that down");
}

/** Attempt 3: a new worker, and an agent that reads the complaint afresh. */
async function decideAgain(props: Props): Promise<void> {
  const { stage, demoStore } = props;
  stage.say("orchestrator", "Worker 3 is started and begins with the ticket.");
  const worker = startWorker(props, { decision: null, reading: 2, waitMs: patienceMs });
  const { decision } = await worker.next("decided");
  stage.say("agent", `Reads the complaint again and decides again: ${refundText(decision)}`, {
    decision,
  });
  await sayCalling(props, worker, "worker 3");
  if (demoStore !== null) await sayLease(stage, demoStore);
  sayTold(stage, "worker 3", await worker.told());
}

/** The dead worker still owns the operation; only time tells that it is dead. */
async function sayLease(stage: Stage, { store }: DemoStore): Promise<void> {
  const { status, leaseUntilMs, readAtMs } = await onlyOperation(store);
  const leftMs = Math.max(0, leaseUntilMs - readAtMs);
  if (status !== "IN_PROGRESS") return;
  stage.say(
    "worker 3",
    leftMs > 0
      ? `Finds it ${status}: worker 2 owns it by a lease that runs for another ${exactSeconds(leftMs)}, and nobody can know that it is dead. Waits.`
      : `Finds it ${status}, owned by worker 2, whose lease is over.`,
    { status, leaseLeftMs: leftMs },
  );
}

type JobPart = Pick<Job, "decision" | "reading"> & Partial<Pick<Job, "holdAt" | "waitMs">>;

function startWorker({ provider, backstage, demoStore }: Props, part: JobPart): WorkerProcess {
  const mode: Mode = demoStore === null ? "bare" : "guarded";
  const store =
    demoStore === null ? null : { location: demoStore.location, schema: demoStore.schema };
  const worker = new WorkerProcess({
    mode,
    providerUrl: provider.url,
    store,
    holdAt: null,
    waitMs: 0,
    ...part,
  });
  backstage.add(() => worker.kill());
  return worker;
}

async function sayCalling({ stage }: Props, worker: WorkerProcess, who: Actor): Promise<void> {
  const { idempotencyKey } = await worker.next("calling");
  const { processId } = worker;
  stage.say(
    who,
    idempotencyKey === null
      ? `Process ${processId} calls issue_refund through the guard.`
      : `Process ${processId} calls issue_refund; inside, a new key is made: ${idempotencyKey.slice(0, 8)}…`,
    { processId, idempotencyKey },
  );
}

async function sayKilled(stage: Stage, worker: WorkerProcess, when: string): Promise<void> {
  await worker.kill();
  const { processId } = worker;
  stage.say("orchestrator", `Kills process ${processId} (SIGKILL) ${when}.`, {
    processId,
    signal: "SIGKILL",
  });
}

function sayTold(stage: Stage, who: Actor, answer: Answer): void {
  const code = answer.kind === "error" ? `${answer.code}. ` : "";
  const text =
    answer.key === null ? answer.text : answer.text.replace(answer.key, shortKey(answer.key));
  stage.say(who, `Is told: ${code}${text}`, { answer });
}

async function newestRefund(
  provider: RemoteProvider,
): Promise<Awaited<ReturnType<RemoteProvider["ledger"]>>[number]> {
  const newest = (await provider.ledger()).at(-1);
  if (newest === undefined) throw new Error("the provider booked nothing");
  return newest;
}

async function onlyOperation(
  store: DemoStore["store"],
): Promise<Awaited<ReturnType<DemoStore["store"]["list"]>>[number]> {
  const [operation] = await store.list({
    tenant,
    status: null,
    operation: null,
    review: false,
    limit: 1,
    after: null,
  });
  if (operation === undefined) throw new Error("no operation was recorded");
  return operation;
}

function refundText({ amountMinor, orderId, reason }: Decision): string {
  return `refund ${money(amountMinor)} for order ${orderId}, "${reason}".`;
}
