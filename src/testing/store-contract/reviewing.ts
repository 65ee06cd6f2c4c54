/**
 * Cases of a person's decisions.
 *
 * @module
 */
import type { OperationRecord } from "../../ledger/record.ts";
import { type Status, statuses } from "../../ledger/status.ts";
import type { ResolveParams } from "../../ledger/store.ts";
import { storeCase } from "./case.ts";
import {
  completeParams,
  fencedBy,
  made,
  operationIn,
  quietMs,
  resolveParams,
  retentionMs,
  takenOver,
  withIncident,
} from "./params.ts";
import type { Scene } from "./scene.ts";

const noResult = { resultKind: null, result: null, providerId: null } as const;
/** The four decisions as the guard puts them to the store. */
const decisions = {
  happened: { status: "DONE" },
  "did not happen": { ...noResult, status: "FAILED", error: '{"message":"no"}' },
  "run again": { ...noResult, status: "UNKNOWN", runAgain: true },
  "look again": { ...noResult, status: "UNKNOWN" },
} as const satisfies Record<string, Partial<ResolveParams>>;
type Decision = keyof typeof decisions;
const decisionNames: readonly Decision[] = [
  "happened",
  "did not happen",
  "run again",
  "look again",
];

/** Which decisions a row allows, once everything is quiet. */
function allowedFor(status: Status, isFlagged: boolean): readonly Decision[] {
  if (status === "NEEDS_REVIEW") return decisionNames;
  if (!isFlagged) return [];
  if (status === "DONE") return ["happened"];
  return status === "FAILED" ? ["happened", "did not happen"] : decisionNames;
}

interface Situation {
  readonly seen: OperationRecord;
  readonly decision: Decision;
  readonly isAllowed: boolean;
  readonly what: string;
}

/** An operation for every status, with and without an incident, and every decision. */
async function everySituation(scene: Scene): Promise<readonly Situation[]> {
  const situations: Situation[] = [];
  for (const status of statuses) {
    for (const isFlagged of [false, true]) {
      for (const decision of decisionNames) {
        const what = `"${decision}" about ${status}${isFlagged ? " with an incident" : ""}`;
        const row = await operationIn(scene.store, what, status);
        const seen = isFlagged ? await withIncident(scene.store, row) : row;
        const isAllowed = allowedFor(status, isFlagged).includes(decision);
        situations.push({ seen, decision, isAllowed, what });
      }
    }
  }
  return situations;
}

/** A decision is bound to the version looked at, and "no" to the quiet time (R30). */
export const reviewing = [
  storeCase(
    "a decision is recorded where a person is asked for one, once everything is quiet",
    { rule: "R30", fault: "decision lost", needsClock: true },
    async (scene) => {
      const situations = await everySituation(scene);
      await scene.advance(quietMs + 1);
      for (const { seen, decision, what } of situations.filter(({ isAllowed }) => isAllowed)) {
        const change = decisions[decision];
        const row = await scene.store.resolve(resolveParams(seen, change));
        scene.has(what, row, {
          status: change.status,
          version: seen.version + 1,
          journalSeq: seen.journalSeq + 1,
          reviewReason: null,
          incident: null,
        });
        const last = (await scene.events(seen.key)).at(-1);
        scene.is("the journal's last event", last, "review.resolved");
      }
    },
  ),
  storeCase(
    "a decision about anything else is refused, at any time",
    { rule: "R30", fault: "settled outcome decided again", needsClock: true },
    async (scene) => {
      const situations = await everySituation(scene);
      const refused = situations
        .filter(({ isAllowed }) => !isAllowed)
        .map(({ seen, decision, what }) => {
          const params = resolveParams(seen, decisions[decision]);
          return [what, () => scene.store.resolve(params)] as const;
        });
      await scene.refusesAll("at once", refused);
      await scene.advance(retentionMs);
      await scene.refusesAll("much later", refused);
    },
  ),
  storeCase(
    '"it did not happen" is refused until everything is quiet, "it happened" never',
    { rule: "R30", fault: "too early for a no", needsClock: true },
    async (scene) => {
      const situations = await everySituation(scene);
      await scene.advance(quietMs);
      const allowed = situations.filter(({ isAllowed }) => isAllowed);
      const saysNo = (decision: Decision): boolean =>
        decision === "did not happen" || decision === "run again";
      const early = allowed
        .filter(({ decision }) => saysNo(decision))
        .map(({ seen, decision, what }) => {
          const params = resolveParams(seen, decisions[decision]);
          return [what, () => scene.store.resolve(params)] as const;
        });
      await scene.refusesAll("before everything is quiet", early);
      for (const { seen, decision, what } of allowed) {
        if (saysNo(decision)) continue;
        const { status } = decisions[decision];
        const params = resolveParams(seen, decisions[decision]);
        scene.has(what, await scene.store.resolve(params), { status });
      }
    },
  ),
  storeCase(
    "a decision about another version than the row's is refused",
    { rule: "R30", fault: "version ignored" },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      const now = await withIncident(scene.store, seen);
      await scene.refuses("the version before", () => scene.store.resolve(resolveParams(seen)));
      const ahead = resolveParams({ ...now, version: now.version + 1 });
      await scene.refuses("a version to come", () => scene.store.resolve(ahead));
      const decided = await scene.store.resolve(resolveParams(now));
      scene.has("the row's own version", decided, { status: "DONE" });
    },
  ),
  storeCase(
    "of two reviewers at the same time one decides",
    { rule: "R30", fault: "review race", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(quietMs + 1);
      const [one, two] = [await scene.another(), await scene.another()];
      const rows = await Promise.all([
        one.resolve(resolveParams(seen, decisions["happened"])),
        two.resolve(resolveParams(seen, decisions["did not happen"])),
      ]);
      const decided = rows.filter((row) => row !== undefined);
      scene.is("how many decided", decided.length, 1);
      const { status, version } = await scene.row(seen);
      scene.has("the row of the one who did", decided[0], { status, version });
    },
  ),
  storeCase(
    "evidence that came in meanwhile beats the decision",
    { rule: "R30", fault: "evidence overwritten", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(quietMs + 1);
      made("complete", await scene.store.complete(completeParams("key")));
      const no = resolveParams(seen, decisions["did not happen"]);
      await scene.refuses("it did not happen", () => scene.store.resolve(no));
    },
  ),
  storeCase(
    '"it happened" stores the result, and keeps one that is there already',
    { rule: "R30", fault: "result lost in review" },
    async (scene) => {
      const byHand = { resultKind: "json", result: '{"id":"by-hand"}', status: "DONE" } as const;
      const waiting = await operationIn(scene.store, "waiting", "NEEDS_REVIEW");
      scene.has("in review", await scene.store.resolve(resolveParams(waiting)), {
        ...byHand,
        providerId: "by-hand",
      });
      const failed = await operationIn(scene.store, "failed", "FAILED");
      const flagged = await withIncident(scene.store, failed);
      scene.has("after FAILED", await scene.store.resolve(resolveParams(flagged)), byHand);
      const done = await operationIn(scene.store, "done", "DONE");
      const { resultKind, result, providerId } = done;
      const twice = await withIncident(scene.store, done);
      const kept = { status: "DONE", resultKind, result, providerId } as const;
      scene.has("after DONE", await scene.store.resolve(resolveParams(twice)), kept);
    },
  ),
  storeCase(
    '"run again" opens a generation of its own, in which nothing was sent',
    { rule: "R30", fault: "run again under the old key", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(quietMs + 1);
      const params = resolveParams(seen, decisions["run again"]);
      scene.has("the row", await scene.store.resolve(params), {
        status: "UNKNOWN",
        generation: seen.generation + 1,
        attempts: seen.attempts,
        attemptsInGeneration: 0,
        firstArmedAtMs: null,
        settledAtMs: null,
      });
    },
  ),
  storeCase(
    '"look again" changes nothing about what was sent, and counts the sweeps anew',
    { rule: "R30", fault: "look again forgets the attempt" },
    async (scene) => {
      const { owner } = await takenOver(scene.store, "key");
      const escalate = { ...fencedBy(owner), reason: "why", detail: "{}" };
      const seen = made("escalate", await scene.store.escalate(escalate));
      const { generation, attempts, attemptsInGeneration, firstArmedAtMs, wireKey, token } = seen;
      const params = resolveParams(seen, decisions["look again"]);
      scene.has("the row", await scene.store.resolve(params), {
        status: "UNKNOWN",
        generation,
        attempts,
        attemptsInGeneration,
        firstArmedAtMs,
        wireKey,
        token,
        settledAtMs: null,
        sweeps: 0,
      });
    },
  ),
  storeCase(
    "an operation whose decision was to look or run again is due at once",
    { rule: "R22", fault: "decision not acted on", needsClock: true },
    async (scene) => {
      for (const decision of ["look again", "run again"] as const) {
        const longLease = { leaseMs: quietMs * 10 };
        const seen = await operationIn(scene.store, decision, "NEEDS_REVIEW", longLease);
        await scene.advance(quietMs + 1);
        made("resolve", await scene.store.resolve(resolveParams(seen, decisions[decision])));
        const due = await scene.store.findDue({ tools: [seen.tool], limit: 10 });
        const keys = due.map((row) => row.key);
        scene.holds(`"${decision}" is due`, keys.includes(decision));
      }
    },
  ),
  storeCase(
    '"it did not happen" stores the reviewer\'s error',
    { rule: "R30", fault: "error lost in review", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(quietMs + 1);
      const params = resolveParams(seen, decisions["did not happen"]);
      scene.has("the row", await scene.store.resolve(params), {
        status: "FAILED",
        error: '{"message":"no"}',
        resultKind: null,
        result: null,
      });
    },
  ),
  storeCase(
    "a row that can't be read is repaired by a final decision only",
    { rule: "R23", fault: "damaged row runs again", needsClock: true },
    async (scene) => {
      const seen = await operationIn(scene.store, "key", "NEEDS_REVIEW");
      await scene.advance(quietMs + 1);
      for (const decision of ["run again", "look again"] as const) {
        const params = resolveParams(seen, { ...decisions[decision], repair: true });
        await scene.refuses(decision, () => scene.store.resolve(params));
      }
      const repaired = await scene.store.resolve(resolveParams(seen, { repair: true }));
      scene.has("the repaired row", repaired, { status: "DONE", arguments: "{}" });
    },
  ),
];
