/** Explores one configuration and says whether it came out as it has to. */
import { type Configuration, configurations } from "./configurations.ts";
import { type Exploration, type TraceStep, explore } from "./explore.ts";
import type { Invariant } from "./invariants.ts";
import { settingOf } from "./setting.ts";

/** A configuration that grows beyond this is not explored to its end, which counts as a failure. */
const maxStates = 400_000;

export interface Verdict {
  readonly configuration: Configuration;
  readonly exploration: Exploration;
  readonly asExpected: boolean;
  /** The way to what had to be broken, or was against expectation. */
  readonly counterexample: {
    readonly what: Invariant;
    readonly trace: readonly TraceStep[];
  } | null;
  /** In a few words. */
  readonly result: string;
}

/** A sound one has to be explored to its end; a negative one until it is caught. */
export function judge(configuration: Configuration): Verdict {
  const { breaks, setting } = configuration;
  const exploration = explore(settingOf(setting), { maxStates, until: breaks });
  const { broken, cut } = exploration;
  const what = breaks !== null && broken.has(breaks) ? breaks : [...broken.keys()][0];
  const trace = what === undefined ? undefined : broken.get(what);
  const counterexample = what === undefined || trace === undefined ? null : { what, trace };
  const asExpected =
    breaks === null ? counterexample === null && !cut : counterexample?.what === breaks;
  return {
    configuration,
    exploration,
    asExpected,
    counterexample,
    result: resultOf(configuration, exploration, counterexample),
  };
}

function resultOf(
  { breaks }: Configuration,
  { cut }: Exploration,
  counterexample: Verdict["counterexample"],
): string {
  if (counterexample === null) {
    if (cut) return "NOT EXPLORED TO ITS END";
    return breaks === null ? "sound" : `NOT CAUGHT, ${breaks} holds`;
  }
  const { what, trace } = counterexample;
  const steps = `${what} in ${trace.length} steps`;
  if (breaks === null) return `BROKEN: ${steps}`;
  return what === breaks ? `caught: ${steps}` : `${breaks} EXPECTED, ${steps}`;
}

export function findConfiguration(name: string): Configuration | undefined {
  return configurations.find((configuration) => configuration.name === name);
}

/** Names that may have been meant, nearest first. */
export function namesNear(name: string): string[] {
  const wanted = name.toLowerCase();
  const scored = configurations.map((each) => ({
    name: each.name,
    distance: distanceOf(wanted, each.name.toLowerCase()),
  }));
  return scored
    .toSorted((one, other) => one.distance - other.distance)
    .slice(0, 5)
    .map((each) => each.name);
}

/** Changed letters between two names; a part of a name is near to it. */
function distanceOf(wanted: string, name: string): number {
  if (wanted !== "" && name.includes(wanted)) return 0;
  let row = Array.from({ length: name.length + 1 }, (_, index) => index);
  for (const [line, letter] of wanted.split("").entries()) {
    const next = [line + 1];
    for (const [column, other] of name.split("").entries()) {
      const [left = 0, above = 0, diagonal = 0] = [next[column], row[column + 1], row[column]];
      next.push(Math.min(left + 1, above + 1, diagonal + Number(letter !== other)));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
