/**
 * The guard's program up to the send, a step per statement and per look-up: claim, decide, take over,
 * look up, decide next, arm (`src/guard/guard.ts`, `reconcile.ts`, `arm.ts`). Between any two steps a
 * worker may pause for ever, which is how it crashes.
 */
import type { Finding, NextStep } from "../../src/ledger/decide.ts";
import { answering, answeringStale } from "./answers.ts";
import { keepsStale } from "./canonical.ts";
import { clockOf } from "./clock.ts";
import { lookUpAnswers } from "./provider-model.ts";
import { complete, sendSteps, settleFailed } from "./send-model.ts";
import type { Lab } from "./setting.ts";
import { type Row, type Step, type Worker, type World, changed, itemAt } from "./state.ts";
import {
  acquisitionOf,
  armRow,
  claimRow,
  escalateRow,
  fingerprintOf,
  markUnknownRow,
  recordOf,
  takeOverRow,
} from "./store-model.ts";

/** Everything that a worker may do next. */
export function workerSteps(lab: Lab, world: World, index: number): Step[] {
  const worker = itemAt(world.workers, index);
  switch (worker.place) {
    case "idle":
      return worker.kind === "sweeper" ? sweep(lab, world, index) : claim(lab, world, index);
    case "insert":
      return [told(index, "inserts its row", "done", create(lab, world, index))];
    case "again":
      return [meet(lab, world, index, "reads the row again")];
    case "take-over":
      return takeOver(lab, world, index);
    case "look":
      return look(lab, world, index);
    case "revisit":
      return revisit(lab, world, index);
    case "act":
      return act(lab, world, index);
    case "send":
    case "write":
    case "wait":
    case "late":
      return sendSteps(lab, world, index);
    case "check":
    case "ended":
      return [];
  }
}

function told(index: number, does: string, said: string, world: World, regular = true): Step {
  return { who: `worker ${index + 1}`, does, said, regular, world };
}

function claim(lab: Lab, world: World, index: number): Step[] {
  if (world.row !== null) return [meet(lab, world, index, "claims")];
  if (lab.off.has("claim-atomic")) {
    const next = changed(world, index, { worker: { place: "insert" } });
    return [told(index, "looks for the row", "there is none", next)];
  }
  const created = create(lab, world, index);
  const armed = created.row?.attempts === 1 ? ", armed as attempt 1" : "";
  const steps = [told(index, "claims", `a new row${armed}`, created)];
  if (lab.setting.faults.lostAnswers) {
    // The claim is made again, and its own row recognised by its acquisition (R8).
    const lost = changed(created, index, { worker: { place: "again" } });
    steps.push(told(index, "claims", "the answer is lost; the row is there", lost, false));
  }
  return steps;
}

/** The claim's insert. */
function create(lab: Lab, world: World, index: number): World {
  const { terms, quietMs, off } = lab;
  const token = off.has("global-tokens") ? 1 : world.tokens + 1;
  const { payload } = itemAt(world.workers, index);
  // As in guard/claim.ts: a strict tool arms separately.
  const arms = terms.policy.mode !== "strict";
  const row = claimRow(clockOf(lab, world, index), {
    owner: index,
    token,
    payload,
    leaseMs: terms.leaseMs,
    arm: arms,
    quietMs,
  });
  const next = { ...world, row, tokens: token };
  return changed(next, index, {
    worker: arms ? armedAs(world, row) : { place: "act", act: "arm", ...ownerOf(row) },
  });
}

function ownerOf(row: Row): Partial<Worker> {
  const { token, attempts, attemptsInGeneration } = row;
  return { token, attempts, attemptsInGeneration };
}

function armedAs(world: World, row: Row): Partial<Worker> {
  return { place: "send", armed: true, armedAt: world.now, wire: row.wire, ...ownerOf(row) };
}

/** A row is there: what the real `decide` says of it. */
function meet(lab: Lab, world: World, index: number, does: string): Step {
  const { row } = world;
  const worker = itemAt(world.workers, index);
  if (row === null)
    return told(
      index,
      does,
      "there is no row",
      changed(world, index, { worker: { place: "idle" } }),
    );
  const record = recordOf(row, clockOf(lab, world, index));
  const call = { fingerprint: fingerprintOf(worker.payload), acquisitionId: acquisitionOf(index) };
  const decision = lab.rules.decide(record, call);
  const seen = `${row.status}${row.incident ? " with an incident" : ""}`;
  const end = (kind: Parameters<typeof answering>[2], effect = 0): Step =>
    told(index, does, `${seen} → ${decision.kind}`, answering(world, index, kind, effect));
  const go = (change: Partial<Worker>): Step =>
    told(index, does, `${seen} → ${decision.kind}`, changed(world, index, { worker: change }));
  switch (decision.kind) {
    case "corrupt":
      throw new Error(`the model made a row that can't be read: ${decision.reason}`);
    case "mismatch":
    case "expired":
    case "failed":
    case "in-progress":
      return end(decision.kind);
    case "replay":
      return end("done", row.result);
    case "review":
      return row.attempts === 0 || row.incident || lab.setting.lookUp === null
        ? end("review")
        : go({ place: "revisit" });
    case "execute":
      return row.attempts === 0
        ? go({ place: "act", act: "arm", ...ownerOf(row) })
        : go({
            ...armedAs(world, row),
            armedAt: worker.armedAt === 0 ? world.now : worker.armedAt,
          });
    case "take-over":
      return go({ place: "take-over", token: row.token, createdAt: row.createdAt });
  }
}

/** find-due.sql, at any time from due on. */
function sweep(lab: Lab, world: World, index: number): Step[] {
  const { row } = world;
  if (row === null || row.incident) return [];
  const over = row.leaseUntil <= clockOf(lab, world, index) && row.attempts > 0;
  if (row.status !== "UNKNOWN" && !(row.status === "IN_PROGRESS" && over)) return [];
  const next = changed(world, index, { worker: { place: "take-over", token: row.token } });
  return [told(index, "sweeps", `finds it due: ${row.status}`, next)];
}

function takeOver(lab: Lab, world: World, index: number): Step[] {
  const worker = itemAt(world.workers, index);
  const now = clockOf(lab, world, index);
  const newToken = lab.off.has("global-tokens") ? worker.token + 1 : world.tokens + 1;
  const by = { token: worker.token, owner: index, newToken, leaseMs: lab.terms.leaseMs };
  const row = takeOverRow(world.row, now, by, lab.off);
  if (row === undefined) {
    const refused =
      worker.kind === "sweeper"
        ? answering(world, index, "skipped")
        : changed(world, index, { worker: { place: "again", armedAt: 0 } });
    return [told(index, "takes over", "refused: the row has changed", refused)];
  }
  const next = { ...world, row, tokens: newToken };
  const was = world.row?.status;
  const owner = { ...ownerOf(row), lookedAt: now };
  if (row.attemptsInGeneration === 0) {
    const nothing = { kind: "unsure", reason: "nothing was sent" } as const;
    const owned = changed(next, index, { worker: owner });
    return [decided(lab, owned, index, nothing, 0, now, "takes over", `${was}, nothing was sent`)];
  }
  if (lab.setting.lookUp !== null) {
    const looks = changed(next, index, { worker: { place: "look", ...owner } });
    return [told(index, "takes over", `${was}, ${row.attempts} armed`, looks)];
  }
  const finding = { kind: "unsure", reason: "the provider has no look-up" } as const;
  const owned = changed(next, index, { worker: owner });
  return [decided(lab, owned, index, finding, 0, now, "takes over", `${was}, no look-up`)];
}

function look(lab: Lab, world: World, index: number): Step[] {
  const { lookedAt } = itemAt(world.workers, index);
  return lookUpAnswers(lab, world).map(({ finding, effect, said, regular }) => ({
    // As in guard/reconcile.ts: the time of the take-over is the bound for the look-up's start.
    ...decided(lab, world, index, finding, effect, lookedAt, "looks up", said),
    regular,
  }));
}

/** The real `decideNext` says what is next. */
function decided(
  lab: Lab,
  world: World,
  index: number,
  finding: Finding,
  found: number,
  nowMs: number,
  does: string,
  said: string,
): Step {
  const next = decideNext(lab, world, index, finding, nowMs);
  const why = next.kind === "review" || next.kind === "wait" ? ` (${next.reason})` : "";
  const final = finding.kind === "absent" && finding.final;
  const worker = { place: "act", act: next.kind, finding: finding.kind, final, found } as const;
  return told(index, does, `${said} → ${next.kind}${why}`, changed(world, index, { worker }));
}

function decideNext(
  lab: Lab,
  world: World,
  index: number,
  finding: Finding,
  nowMs: number,
): NextStep {
  const worker = itemAt(world.workers, index);
  const { row } = world;
  if (row === null) return { kind: "wait", untilMs: nowMs, reason: "the row is gone" };
  // A stale worker decides on what it saw; whatever it decides, its writes are refused.
  const stale = keepsStale(lab) && row.token !== worker.token;
  const { attempts, attemptsInGeneration } = stale ? worker : row;
  const record = recordOf({ ...row, attempts, attemptsInGeneration }, nowMs);
  const times = { startedAtMs: worker.lookedAt, nowMs };
  return lab.rules.decideNext(record, finding, lab.terms.policy, times);
}

/** A person has been asked; evidence that is there by now wins (R30). */
function revisit(lab: Lab, world: World, index: number): Step[] {
  return lookUpAnswers(lab, world).map(({ finding, effect, said, regular }) => {
    const next =
      finding.kind === "succeeded"
        ? complete(lab, world, index, effect)
        : answering(world, index, "review");
    return told(index, "looks up, though in review", said, next, regular);
  });
}

function act(lab: Lab, world: World, index: number): Step[] {
  const worker = itemAt(world.workers, index);
  const now = clockOf(lab, world, index);
  const write = (does: string, row: Row | undefined, kind: "unknown" | "review"): Step[] =>
    row === undefined
      ? [told(index, does, "refused: not the owner", answeringStale(world, index))]
      : [told(index, does, "done", answering({ ...world, row }, index, kind))];
  switch (worker.act) {
    case "complete":
      return [told(index, "records what it found", "", complete(lab, world, index, worker.found))];
    case "fail": {
      const lookedAt = worker.finding === "absent" ? worker.lookedAt : null;
      return [settleFailed(lab, world, index, lookedAt)];
    }
    case "wait":
      return write("marks it unknown", markUnknownRow(world.row, now, worker.token), "unknown");
    case "review":
      return write("asks a person", escalateRow(world.row, now, worker.token), "review");
    case "arm":
    case "resend":
    case "renew-key":
      return arm(lab, world, index, worker.act);
    case "none":
      return [];
  }
}

function arm(lab: Lab, world: World, index: number, why: "arm" | "resend" | "renew-key"): Step[] {
  const worker = itemAt(world.workers, index);
  const now = clockOf(lab, world, index);
  const newGeneration = why === "renew-key";
  const seen = keepsStale(lab) ? worker : (world.row ?? worker);
  const does = { arm: "arms", resend: "arms a resend", "renew-key": "arms under a new key" }[why];
  const params = {
    token: worker.token,
    attempts: seen.attempts,
    leaseMs: lab.terms.leaseMs,
    quietMs: lab.quietMs,
    resendSpanMs: lab.resendSpan,
    newGeneration,
    lookedAt: why === "arm" ? null : worker.lookedAt,
    wire: wireOf(lab, world, newGeneration),
  };
  const row = armRow(world.row, now, params, lab.off);
  if (row !== undefined) {
    const armed = changed({ ...world, row }, index, { worker: armedAs(world, row) });
    const window = why === "resend" ? ", inside the key's window" : "";
    return [told(index, does, `attempt ${row.attempts}${window}`, armed)];
  }
  if (lab.off.has("arm-obeyed")) {
    const place = { place: "send", armed: false, armedAt: world.now, wire: params.wire } as const;
    const next = changed(world, index, { worker: place });
    return [told(index, does, "refused, and goes on", next)];
  }
  return [armRefused(lab, world, index, why, does)];
}

/** Refused: the token is stale, or by the new time the decision is another one. */
function armRefused(
  lab: Lab,
  world: World,
  index: number,
  why: "arm" | "resend" | "renew-key",
  does: string,
): Step {
  const { row } = world;
  const worker = itemAt(world.workers, index);
  const owner = row?.token === worker.token && row.status === "IN_PROGRESS";
  if (row === null || !owner || why === "arm") {
    return told(index, does, "refused: not the owner", answeringStale(world, index));
  }
  const now = clockOf(lab, world, index);
  const finding: Finding =
    worker.finding === "absent"
      ? { kind: "absent", final: worker.final }
      : { kind: "unsure", reason: "no answer" };
  return decided(lab, world, index, finding, 0, now, does, "refused by now");
}

/** Within a generation the wire key is the one captured at its first arm (R19). */
function wireOf(lab: Lab, world: World, newGeneration: boolean): number {
  const { row } = world;
  if (row === null) return 0;
  if (lab.off.has("one-wire-key")) return row.attempts;
  if (row.attemptsInGeneration > 0 && !newGeneration) return row.wire;
  return row.generation + Number(newGeneration);
}
