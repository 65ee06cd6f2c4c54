/**
 * Cases of the journal.
 *
 * @module
 */
import { type JournalLine, findChainFault } from "../../ledger/journal.ts";
import type { OperationRecord } from "../../ledger/record.ts";
import { storeCase } from "./case.ts";
import {
  armParams,
  claimParams,
  completeParams,
  fencedBy,
  incidentParams,
  intentParams,
  leaseMs,
  made,
  operationIn,
  quietMs,
  releaseParams,
  resolveParams,
  retentionMs,
  takeOverParams,
  unknownParams,
} from "./params.ts";
import type { Scene } from "./scene.ts";

/** Every write and its line are one, in one chain per operation (R12). */
export const journal = [
  storeCase(
    "the journal tells every event of a long life, in order and in one unbroken chain",
    { rule: "R12", fault: "journal missing", needsClock: true },
    async (scene) => {
      await liveLong(scene, async () => {});
      const lines = await scene.lines("key");
      const told = lines.map((line) => `${line.seq} ${line.event} ${line.status}`);
      scene.is("the lines", told, [
        "1 operation.claimed IN_PROGRESS",
        "2 operation.repeated IN_PROGRESS",
        "3 operation.armed IN_PROGRESS",
        "4 operation.renewed IN_PROGRESS",
        "5 operation.released IN_PROGRESS",
        "6 operation.armed IN_PROGRESS",
        "7 operation.unknown UNKNOWN",
        "8 operation.taken-over IN_PROGRESS",
        "9 operation.resent IN_PROGRESS",
        "10 review.opened NEEDS_REVIEW",
        "11 review.resolved FAILED",
        "12 operation.incident FAILED",
        "13 review.resolved DONE",
        "14 intent.recorded DONE",
        "15 operation.purged DONE",
      ]);
      const details = lines.slice(0, 14).map((line) => line.detail);
      const given = Array.from({ length: 14 }, () => liveDetail);
      scene.is("the details that were given", details, given);
      scene.is("a fault in the chain", findChainFault(lines), undefined);
    },
  ),
  storeCase(
    "after every write the journal's last line tells of just the row that was written",
    { rule: "R12", fault: "line apart from its row", needsClock: true },
    async (scene) => {
      await liveLong(scene, async (row) => {
        const lines = await scene.lines("key");
        const { journalSeq, status, token, attempts } = row;
        scene.is("how many lines there are", lines.length, journalSeq);
        const last = lines.at(-1);
        scene.is(
          `the last line, ${last?.event}`,
          { status: last?.status, token: last?.token, attempts: last?.attempts },
          { status, token, attempts },
        );
      });
    },
  ),
  storeCase(
    "the first two lines of a claim that arms are chained too",
    { rule: "R12", fault: "chain broken at the claim" },
    async (scene) => {
      const row = await operationIn(scene.store, "key", "IN_PROGRESS");
      const lines = await scene.lines("key");
      scene.is("a fault in the chain", findChainFault(lines), undefined);
      const told = lines.map(({ seq, attempts, token }) => ({ seq, attempts, token }));
      const { token } = row;
      const expected = [
        { seq: 1, attempts: 0, token },
        { seq: 2, attempts: 1, token },
      ];
      scene.is("the lines", told, expected);
    },
  ),
  storeCase(
    "what two connections write to one operation at the same time is one chain without a gap",
    { rule: "R12", fault: "chain forks" },
    async (scene) => {
      const { store } = scene;
      const [one, two] = [await scene.another(), await scene.another()];
      await operationIn(store, "key", "UNKNOWN");
      const writes = Array.from({ length: 16 }, (_, at) => {
        const by = at % 2 === 0 ? one : two;
        const flag = incidentParams("key", { incident: `evidence ${at}` });
        return at % 4 < 2 ? by.claim(claimParams("key")) : by.recordIncident(flag);
      });
      await Promise.all(writes);
      const lines = await scene.lines("key");
      scene.is("how many lines there are", lines.length, 3 + 16);
      scene.is("a fault in the chain", findChainFault(lines), undefined);
    },
  ),
  storeCase(
    "the journal is read in pages, by tenant, key and seq, that miss nothing and repeat nothing",
    { rule: "R12", fault: "journal pages wrong" },
    async (scene) => {
      for (const key of ["b", "a", "c"]) await operationIn(scene.store, key, "UNKNOWN");
      await scene.store.claim(claimParams("a", { tenant: "zeta", arm: false }));
      const whole = { tenant: null, key: null, after: null, limit: 100 };
      const all = await scene.store.readJournal(whole);
      const order = all.map((line) => `${line.tenant} ${line.key}${line.seq}`);
      const acme = ["a", "b", "c"].flatMap((key) => [1, 2, 3].map((seq) => `acme ${key}${seq}`));
      scene.is("the order", order, [...acme, "zeta a1"]);
      const paged: JournalLine[] = [];
      for (let page = all; page.length > 0 && paged.length <= all.length; paged.push(...page)) {
        page = await scene.store.readJournal({ ...whole, after: paged.at(-1) ?? null, limit: 2 });
        scene.holds("a page has two lines at most", page.length <= 2);
      }
      scene.is("what the pages hold together", paged, all);
      const keyed = await scene.store.readJournal({ ...whole, tenant: "acme", key: "b" });
      scene.is("the lines of one key", keyed, all.slice(3, 6));
    },
  ),
];

const liveDetail =
  '{"text":"Gr\u00fc\u00dfe, \u{1f600}, \\"quoted\\", \\n and \\u0000 \u2028 \ufffd"}';

/** Takes the operation `key` through every write that there is; `wrote` sees each row as returned. */
async function liveLong(
  scene: Scene,
  wrote: (row: OperationRecord) => Promise<void>,
): Promise<void> {
  const { store } = scene;
  const detail = liveDetail;
  const keep = async (
    method: string,
    writing: Promise<OperationRecord | undefined>,
  ): Promise<OperationRecord> => {
    const row = made(method, await writing);
    await wrote(row);
    return row;
  };
  const claimed = await keep("claim", store.claim(claimParams("key", { arm: false, detail })));
  await keep("claim", store.claim(claimParams("key", { detail })));
  const armed = await keep("arm", store.arm(armParams(claimed, { detail })));
  await keep("renew", store.renew({ ...fencedBy(claimed), leaseMs, detail }));
  await keep("release", store.release(releaseParams(armed, { detail })));
  await keep("arm", store.arm(armParams(claimed, { detail })));
  const doubt = unknownParams(claimed, { detail });
  const unknown = await keep("markUnknown", store.markUnknown(doubt));
  const taken = await keep("takeOver", store.takeOver(takeOverParams(unknown, { detail })));
  const resent = await keep("arm", store.arm(armParams(taken, { detail })));
  const escalate = { ...fencedBy(resent), reason: "why", detail };
  const waiting = await keep("escalate", store.escalate(escalate));
  await scene.advance(quietMs + 1);
  const refusal = { status: "FAILED", resultKind: null, result: null, providerId: null } as const;
  const no = resolveParams(waiting, { ...refusal, error: '{"message":"no"}', detail });
  await keep("resolve", store.resolve(no));
  const flagged = await keep(
    "recordIncident",
    store.recordIncident(incidentParams("key", { detail })),
  );
  await keep("resolve", store.resolve(resolveParams(flagged, { detail })));
  await keep("recordIntent", store.recordIntent(intentParams("key", { detail })));
  await scene.advance(retentionMs + 1);
  scene.is("how many operations are purged", await store.purge({ limit: 1 }), 1);
  await keep("read", store.read({ tenant: "acme", key: "key" }));
}

/** For an operation that completes: success told as what it was. */
export const completions = [
  storeCase(
    "a completion's line tells the event and the detail that it was given",
    { rule: "R12", fault: "completion badly told" },
    async (scene) => {
      for (const event of ["operation.completed", "operation.found"] as const) {
        await operationIn(scene.store, event, "IN_PROGRESS");
        const complete = completeParams(event, { event, detail: liveDetail });
        made("complete", await scene.store.complete(complete));
        const lines = await scene.lines(event);
        const last = lines.at(-1);
        const told = { event: last?.event, status: last?.status, detail: last?.detail };
        scene.is("the last line", told, { event, status: "DONE", detail: liveDetail });
        scene.is("a fault in the chain", findChainFault(lines), undefined);
      }
    },
  ),
];
