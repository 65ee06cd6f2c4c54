/** What neither a worker nor the provider does: time passes, clocks step, rows are purged or lost, people decide. */
import { purgeAfter } from "./canonical.ts";
import { dbNow } from "./clock.ts";
import { mustShow } from "./provider-model.ts";
import type { Lab } from "./setting.ts";
import { type Reviewer, type Step, type World, replaced } from "./state.ts";
import { purgeRow, recordOf, resolveRow } from "./store-model.ts";

/** No reviewer decides more often. */
const maxDecisions = 2;

export function environmentSteps(lab: Lab, world: World): Step[] {
  const { faults } = lab.setting;
  const steps: Step[] = [];
  if (!mustShow(lab, world)) {
    steps.push(of("clock", "ticks", { ...world, now: world.now + 1 }));
  }
  if (faults.clockBack > 0 && !world.steppedBack) {
    const does = `the database's clock steps back by ${faults.clockBack}`;
    steps.push(of("clock", does, { ...world, steppedBack: true }, false));
  }
  if (faults.rowLoss && !world.rowLost && world.row !== null) {
    const next = { ...world, row: null, rowLost: true };
    steps.push(of("store", "LOSES the row that it acknowledged", next, false));
  }
  return [...steps, ...purge(lab, world), ...reviews(lab, world)];
}

function of(who: string, does: string, world: World, regular = true, said = ""): Step {
  return { who, does, said, regular, world };
}

function purge(lab: Lab, world: World): Step[] {
  if (!lab.setting.purges || world.row === null) return [];
  const row = purgeRow(world.row, dbNow(lab, world), purgeAfter, lab.off);
  if (row === undefined) return [];
  const said = row === null ? "the row is deleted" : "a tombstone stays";
  return [of("store", "purges the row", { ...world, row }, false, said)];
}

function reviews(lab: Lab, world: World): Step[] {
  if (world.row === null || (world.row.status !== "NEEDS_REVIEW" && !world.row.incident)) {
    // A reviewer may still decide on what was looked at before.
    return world.reviewers.flatMap((reviewer, index) =>
      reviewer.looked ? decisions(lab, world, reviewer, index) : [],
    );
  }
  return world.reviewers.flatMap((reviewer, index) =>
    reviewer.looked
      ? decisions(lab, world, reviewer, index)
      : reviewer.decisions < maxDecisions
        ? [looks(lab, world, index)]
        : [],
  );
}

/** A person looks at the row and at the provider's own console, which hides nothing. */
function looks(lab: Lab, world: World, index: number): Step {
  const { row } = world;
  const saw = world.effects.findIndex(({ status }) => status !== "failed") + 1;
  const now = dbNow(lab, world);
  const quiet = row !== null && now > lab.rules.quietUntilMs(recordOf(row, now), lab.terms.bounds);
  const seen = { looked: true, version: row?.version ?? 0, saw, quiet };
  const reviewers = replaced(world.reviewers, index, seen);
  const said = saw === 0 ? "no effect is there" : `effect ${saw} is there`;
  return of(`reviewer ${index + 1}`, "looks", { ...world, reviewers }, false, said);
}

const statuses = {
  happened: "DONE",
  "did-not-happen": "FAILED",
  "run-again": "UNKNOWN",
  "look-again": "UNKNOWN",
} as const;

function decisions(lab: Lab, world: World, reviewer: Reviewer, index: number): Step[] {
  const who = `reviewer ${index + 1}`;
  const done = { looked: false, version: 0, saw: 0, quiet: false };
  const reviewers = replaced(world.reviewers, index, {
    ...done,
    decisions: reviewer.decisions + 1,
  });
  const forgets = of(who, "goes away undecided", { ...world, reviewers }, false);
  const made = lab.setting.reviewDecisions.flatMap((decision) => {
    if (!isHonest(lab, decision, reviewer)) return [];
    const resolution = {
      version: reviewer.version,
      status: statuses[decision],
      effect: reviewer.saw,
      runAgain: decision === "run-again",
    };
    const row = resolveRow(world.row, dbNow(lab, world), resolution, lab.off);
    if (row === undefined) return [];
    const told = decision === "did-not-happen" ? { ...world.told, failed: true } : world.told;
    const known = decision === "happened" ? world.known | (1 << reviewer.saw) : world.known;
    const next = { ...world, row, reviewers, told, known };
    return [of(who, `decides "${decision}"`, next, true, `now ${row.status}`)];
  });
  return [...made, forgets];
}

/** People say what they saw; "it did not happen" of a look that was late enough to tell. */
function isHonest(lab: Lab, decision: keyof typeof statuses, { saw, quiet }: Reviewer): boolean {
  switch (decision) {
    case "happened":
      return saw > 0;
    case "look-again":
      return true;
    case "did-not-happen":
    case "run-again":
      return saw === 0 && (quiet || lab.setting.reviewersLookEarly);
  }
}
