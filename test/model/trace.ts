/** Traces and tables as people read them. */
import type { TraceStep } from "./explore.ts";
import { invariants } from "./invariants.ts";
import type { Verdict } from "./verdict.ts";

/** One step per line: number, clock, who, what, and what was said to it. */
export function traceText(trace: readonly TraceStep[]): string {
  let now = 0;
  const lines = trace.map(({ who, does, said }, index) => {
    if (who === "clock" && does === "ticks") now += 1;
    const clock = `t=${now}`.padEnd(5);
    const answer = said === "" ? "" : `: ${said}`;
    return `${String(index + 1).padStart(3)}. ${clock} ${who} ${does}${answer}`;
  });
  return lines.join("\n");
}

/** What there is to tell of one configuration. */
export function verdictText(verdict: Verdict): string {
  const { configuration, exploration, counterexample, result } = verdict;
  const { name, about, rule, breaks } = configuration;
  const head = [
    `${name}: ${about} (${rule})`,
    `${exploration.states} states, ${exploration.steps} steps, ${secondsOf(verdict)}: ${result}`,
  ];
  if (counterexample !== null) {
    const { what, trace } = counterexample;
    const told = breaks === null ? "" : ", as it has to";
    return [...head, "", `Breaks ${what}${told} (${invariants[what]}):`, traceText(trace)].join(
      "\n",
    );
  }
  const { example } = exploration;
  if (example === undefined) return [...head, "No trace ends in DONE."].join("\n");
  return [...head, "", "A shortest way to DONE:", traceText(example)].join("\n");
}

/** One line of the table. */
export function lineOf(verdict: Verdict): string {
  const { configuration, exploration, asExpected, result } = verdict;
  return [
    asExpected ? "ok " : "BAD",
    configuration.name.padEnd(28),
    configuration.group.padEnd(10),
    configuration.rule.padEnd(6),
    String(exploration.states).padStart(7),
    secondsOf(verdict).padStart(7),
    ` ${result}`,
  ].join(" ");
}

export const tableHead = `    ${"configuration".padEnd(28)} ${"group".padEnd(10)} ${"rule".padEnd(6)}  states    time  result`;

function secondsOf({ exploration }: Verdict): string {
  return `${(exploration.elapsedMs / 1000).toFixed(1)} s`;
}
