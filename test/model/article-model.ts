/**
 * The article's own pseudo code, taken literally: the window is counted from the claim and checked by the
 * worker, every write is fenced by the token alone, and the caller is answered from a local variable. It
 * is here to show what each of the repaired protocol's rules is for.
 */
import { answering } from "./answers.ts";
import { clockOf } from "./clock.ts";
import { lookUpAnswers } from "./provider-model.ts";
import { type Lab, forEver } from "./setting.ts";
import { type Row, type Step, type World, changed, itemAt } from "./state.ts";
import { claimRow, takeOverRow } from "./store-model.ts";

export function articleSteps(lab: Lab, world: World, index: number): Step[] {
  switch (itemAt(world.workers, index).place) {
    case "idle":
      return [claim(lab, world, index)];
    case "take-over":
      return [takeOver(lab, world, index)];
    case "look":
      return look(lab, world, index);
    case "check":
      return [check(lab, world, index)];
    case "send":
      return [send(world, index)];
    case "wait":
      return settle(world, index);
    case "act":
      return [complete(world, index, itemAt(world.workers, index).found, "records what it found")];
    case "insert":
    case "again":
    case "write":
    case "late":
    case "revisit":
    case "ended":
      return [];
  }
}

function told(index: number, does: string, said: string, world: World, regular = true): Step {
  return { who: `worker ${index + 1}`, does, said, regular, world };
}

/** A write fenced by the token alone: the row as it is then, changed only by its owner. */
function written({ row, workers }: World, index: number, change: Partial<Row>): Row | null {
  return row !== null && row.token === itemAt(workers, index).token ? { ...row, ...change } : row;
}

function claim(lab: Lab, world: World, index: number): Step {
  const { row } = world;
  const now = clockOf(lab, world, index);
  if (row === null) {
    const token = lab.off.has("global-tokens") ? 1 : world.tokens + 1;
    const claimed = { owner: index, token, payload: 1, leaseMs: lab.terms.leaseMs };
    const made = claimRow(now, { ...claimed, arm: false, quietMs: 0 });
    const worker = { place: "send", armed: true, token } as const;
    const next = changed({ ...world, row: made, tokens: token }, index, { worker });
    return told(index, "claims", "a new row", next);
  }
  if (row.status === "DONE") {
    return told(index, "claims", "DONE", answering(world, index, "done", row.result));
  }
  if (row.status === "FAILED")
    return told(index, "claims", "FAILED", answering(world, index, "failed"));
  if (row.status === "IN_PROGRESS" && row.leaseUntil > now) {
    return told(index, "claims", "409, still running", answering(world, index, "in-progress"));
  }
  const worker = { place: "take-over", token: row.token, createdAt: row.createdAt } as const;
  const seen = row.status === "IN_PROGRESS" ? "IN_PROGRESS, its lease over" : row.status;
  return told(index, "claims", seen, changed(world, index, { worker }));
}

function takeOver(lab: Lab, world: World, index: number): Step {
  const { token } = itemAt(world.workers, index);
  const newToken = lab.off.has("global-tokens") ? token + 1 : world.tokens + 1;
  const by = { token, owner: index, newToken, leaseMs: lab.terms.leaseMs };
  const row = takeOverRow(world.row, clockOf(lab, world, index), by, lab.off);
  if (row === undefined)
    return told(index, "takes over", "lost, 409", answering(world, index, "in-progress"));
  const owned = { ...row, result: 0 };
  const place = lab.setting.provider.lookUp === "none" ? "check" : "look";
  const next = changed({ ...world, row: owned, tokens: newToken }, index, {
    worker: { place, token: newToken },
  });
  return told(index, "takes over", `was ${world.row?.status}`, next);
}

function look(lab: Lab, world: World, index: number): Step[] {
  return lookUpAnswers(lab, world).map(({ finding, effect, said }) => {
    const worker =
      finding.kind === "succeeded"
        ? ({ place: "act", found: effect } as const)
        : ({ place: "check" } as const);
    return told(index, "looks up", said, changed(world, index, { worker }));
  });
}

function check(lab: Lab, world: World, index: number): Step {
  const { createdAt } = itemAt(world.workers, index);
  const { retention, kind } = lab.setting.provider;
  const endless = kind === "keyed" ? retention >= forEver : lab.setting.mode !== "strict";
  const spanMs = kind === "keyed" ? retention : 0;
  if (endless || clockOf(lab, world, index) < createdAt + spanMs) {
    const next = changed(world, index, { worker: { place: "send", armed: true } });
    return told(index, "checks the window", "inside: may send again", next);
  }
  const row = written(world, index, { status: "NEEDS_REVIEW" });
  return told(
    index,
    "checks the window",
    "outside: asks a person",
    answering({ ...world, row }, index, "review"),
  );
}

function send(world: World, index: number): Step {
  const message = { state: "flying", sentAt: world.now, wire: 0, payload: 1 } as const;
  const next = changed(world, index, { worker: { place: "wait" }, message });
  return told(index, "SENDS", "the request is on its way", { ...next, bound: [1, 0, 0, 0] });
}

function settle(world: World, index: number): Step[] {
  const { state, reply, effect } = itemAt(world.messages, index);
  const steps: Step[] = [];
  if (state === "over" && reply === "ok") {
    steps.push(complete(world, index, effect, `gets effect ${effect}`));
  }
  if (state === "over" && (reply === "declined" || reply === "exists")) {
    const row = written(world, index, { status: "FAILED" });
    const next = answering({ ...world, row }, index, "failed");
    const said = row === world.row ? "fenced off, raises FAILED all the same" : "FAILED";
    steps.push(told(index, `gets "${reply}"`, said, next));
  }
  const row = written(world, index, { status: "UNKNOWN" });
  steps.push(
    told(
      index,
      "stops waiting",
      "marks it unknown",
      answering({ ...world, row }, index, "unknown"),
      false,
    ),
  );
  return steps;
}

function complete(world: World, index: number, effect: number, does: string): Step {
  const row = written(world, index, { status: "DONE", result: effect });
  const said = row !== world.row ? "DONE" : "fenced off (no row), returns its result all the same";
  return told(index, does, said, answering({ ...world, row }, index, "done", effect));
}
