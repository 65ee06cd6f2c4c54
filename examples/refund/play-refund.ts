/**
 * The story: the refund lands but its call times out, the worker is redeployed, and the complaint is
 * read once more and worded differently. Three attempts, one refund.
 *
 * @module
 */
import Database from "better-sqlite3";
import { type Flows, type RunId, type RunState, createFlows, createGuard } from "nevertwice";
import { SqliteStore } from "nevertwice/sqlite";
import { type ProviderClient, createProviderClient, startFakeProvider } from "nevertwice/testing";
import { type Decision, type Ticket, issueRefund, refundTicketWith } from "./refund-ticket.ts";

/** What there is in the end. */
export interface RefundStory {
  /** Effects in the provider's own ledger. */
  readonly refunds: number;
  readonly totalMinor: number;
  /** How often the model was asked, by run. */
  readonly prompts: Readonly<Record<string, number>>;
  /** Events in the outbox, by type. */
  readonly events: readonly string[];
  readonly refundIds: readonly string[];
}

const tenant = "acme";
const ticket: Ticket = { ticketId: "5521", orderId: "8812", text: "The parcel arrived broken." };
const firstRun = { tenant, runId: "ticket-5521" };
const secondRun = { tenant, runId: "ticket-5521-reopened" };

/** Plays the story on a SQLite file that is new. `tell` gets one line per turn. */
export async function playRefund(file: string, tell: (line: string) => void): Promise<RefundStory> {
  const provider = await startFakeProvider();
  const client = createProviderClient({ url: provider.url });
  const prompts: Record<string, number> = {};
  const database = new Database(file);
  try {
    // The refund takes effect, and its answer comes long after the caller has given up.
    provider.fault({ replyDelayMs: 20_000 });
    const before = await startWorker(database, client, firstRun, prompts);
    await before.flows.run(before.flow, firstRun, ticket);
    tell("worker 1: the model decided once; the run waits for a manager");
    await approve(before.flows, firstRun);
    await before.flows.workOnce();
    const doubt = await before.flows.read(firstRun);
    tell(`worker 1: the call timed out; the run ${waiting(doubt)}`);

    const after = await startWorker(database, client, firstRun, prompts);
    await workUntilDone(after.flows, firstRun);
    tell("worker 2, after the redeploy: looked before it sent, found the refund, went on");

    const again = await after.flows.start(after.flow, firstRun, ticket);
    tell(`the ticket was delivered again: the same run, ${again.status}`);
    const reopened = await startWorker(database, client, secondRun, prompts);
    await reopened.flows.run(reopened.flow, secondRun, ticket);
    await approve(reopened.flows, secondRun);
    await workUntilDone(reopened.flows, secondRun);
    tell("a new run read the complaint again and decided in other words: the stored refund");

    const ledger = provider.ledger();
    const events = await after.store.outbox.list({
      tenant,
      status: null,
      beforePosition: null,
      limit: 100,
    });
    return {
      refunds: ledger.length,
      totalMinor: ledger.reduce((sum, { body }) => sum + Number(body["amountMinor"]), 0),
      prompts,
      events: events.map(({ type }) => type),
      refundIds: await Promise.all(
        [firstRun, secondRun].map(async (run) => refundIdOf(await after.flows.read(run))),
      ),
    };
  } finally {
    client.close();
    await provider.close();
    database.close();
  }
}

/** Everything that a process makes anew when it starts. */
async function startWorker(
  database: Database.Database,
  client: ProviderClient,
  { runId }: RunId,
  prompts: Record<string, number>,
) {
  const store = new SqliteStore(database);
  await store.migrate();
  const refund = issueRefund(client);
  const guard = await createGuard({ store, tools: [refund] });
  const model = async ({ ticketId, orderId }: Ticket): Promise<Decision> => {
    const asked = (prompts[runId] ?? 0) + 1;
    prompts[runId] = asked;
    const reason = `${runId}, worded for the ${asked}. time`;
    return { ticketId, orderId, amountMinor: 48_000, currency: "EUR", reason };
  };
  const flow = refundTicketWith(model, refund);
  const flows = createFlows({ store, guard, flows: [flow] });
  return { store, flow, flows };
}

/** A manager looks at what is asked, and says yes to exactly that. */
async function approve(flows: Flows, { tenant: of, runId }: RunId): Promise<void> {
  const open = await flows.openApprovals({ tenant: of });
  const approval = open.find((each) => each.runId === runId);
  if (approval === undefined) throw new Error(`nobody asked for an approval of ${runId}`);
  const { name, version, fingerprint } = approval;
  const decision = "approve" as const;
  const why = "the photo shows it";
  await flows.decide({
    tenant: of,
    runId,
    name,
    version,
    fingerprint,
    decision,
    by: "lead@acme",
    why,
  });
}

/** As `flows.work` does in a service, until this one run has ended. */
async function workUntilDone(flows: Flows, run: RunId): Promise<void> {
  const over = new AbortController();
  const working = flows.work({ signal: over.signal, everyMs: 100 });
  try {
    for (;;) {
      const { status } = await flows.read(run);
      if (status === "DONE" || status === "FAILED") return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    over.abort();
    await working;
  }
}

function waiting({ run }: RunState): string {
  return `waits (${run.waitsFor ?? run.status})`;
}

function refundIdOf(state: RunState): string {
  if (state.status === "DONE") return (state.output as { refundId: string }).refundId;
  const why = state.status === "FAILED" ? state.error.message : (state.run.waitsFor ?? "");
  throw new Error(`the run ${state.run.runId} is ${state.status}: ${why}`);
}
