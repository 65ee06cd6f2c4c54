/**
 * A worker of the demo, as a process of its own: reads one job from standard input, makes one call,
 * says on standard output what happens, and ends. It ends as well when its standard input closes,
 * which happens however the demo dies.
 *
 * @module
 */
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { NeverTwiceError } from "../../base/errors.ts";
import { createGuard } from "../../guard/create-guard.ts";
import { type ProviderClient, createProviderClient } from "../../testing/fake-provider/index.ts";
import { type OpenStore, openStore } from "../open-store.ts";
import type { Answer, Job, WorkerEvent } from "./job.ts";
import { bareRefund, guardedRefund } from "./refund-tool.ts";
import { type Decision, decide, tenant, ticketId } from "./story.ts";

const input = createInterface({ input: process.stdin });
input.once("line", (line) => void start(JSON.parse(line) as Job));
input.once("close", () => process.exit(1));

async function start(job: Job): Promise<void> {
  const answer = await answerOf(() => work(job));
  process.stdout.write(format({ event: "told", answer }), () => process.exit(0));
}

async function work(job: Job): Promise<Answer> {
  const client = createProviderClient({ url: job.providerUrl });
  const call = await prepareCall(job, client);
  const decision = job.decision ?? decide(job.reading);
  if (job.decision === null) tell({ event: "decided", decision });
  return call(decision);
}

type Call = (decision: Decision) => Promise<Answer>;

/** Everything that takes time is made ready before, as in a worker that has been up for long. */
async function prepareCall(job: Job, client: ProviderClient): Promise<Call> {
  if (job.store === null) return (decision) => callBare(client, decision);
  const { location, schema } = job.store;
  const opened = await openStore(
    { store: location, ...(schema === null ? {} : { schema }) },
    "ready",
  );
  return guardedCall(job, client, opened);
}

async function callBare(client: ProviderClient, decision: Decision): Promise<Answer> {
  const idempotencyKey = randomUUID();
  tell({ event: "calling", idempotencyKey });
  const refund = await bareRefund(client, decision, idempotencyKey);
  return {
    kind: "refund",
    effectId: refund.id,
    replayed: false,
    key: idempotencyKey,
    text: `The provider refunded it: ${refund.id}, ${refund.status}.`,
  };
}

async function guardedCall(job: Job, client: ProviderClient, opened: OpenStore): Promise<Call> {
  const tool = guardedRefund(client);
  const guard = await createGuard({
    store: opened.store,
    tools: [tool],
    onPoint: ({ name }) => {
      tell({ event: "point", name });
      return name === job.holdAt ? new Promise<void>(() => {}) : undefined;
    },
  });
  return async (decision) => {
    tell({ event: "calling", idempotencyKey: null });
    const onInProgress = job.waitMs === 0 ? "conflict" : { waitMs: job.waitMs };
    const outcome = await guard.run(tool, decision, {
      tenant,
      trusted: { ticketId },
      onInProgress,
    });
    const { value, replayed, key, text } = outcome;
    return { kind: "refund", effectId: value.id, replayed, key, text };
  };
}

async function answerOf(call: () => Promise<Answer>): Promise<Answer> {
  try {
    return await call();
  } catch (error) {
    const { message } = error as Error;
    const key = error instanceof NeverTwiceError ? (error.key ?? null) : null;
    const code = (error as { code?: unknown }).code;
    return { kind: "error", code: typeof code === "string" ? code : "ERROR", key, text: message };
  }
}

function tell(event: WorkerEvent): void {
  process.stdout.write(format(event));
}

function format(event: WorkerEvent): string {
  return `${JSON.stringify(event)}\n`;
}
