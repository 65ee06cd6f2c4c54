/**
 * What the standbys of a server mean for what it acknowledges (R27).
 *
 * @module
 */
import type { SqlRow } from "../shared/statement.ts";

/**
 * Every standby that is attached. A subscriber of logical replication and a backup under way can't be
 * promoted. For a role without the right to see them there is a row for each, and nothing in it.
 */
const standbyQuery = `
select application_name as name, sync_state as state
from pg_stat_replication
where state is distinct from 'backup'
  and pid not in (
    select active_pid from pg_replication_slots where slot_type = 'logical' and active_pid is not null
  )
order by application_name`;

/** Says in sentences what an operator should know of the standbys, and what couldn't be seen of them. */
export async function standbyWarnings(
  run: (text: string) => Promise<SqlRow[]>,
  settings: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  try {
    return warningsOf(await run(standbyQuery), settings);
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return [`the standbys can't be seen (${error.message}): ${howToSee}`];
  }
}

function warningsOf(
  standbys: readonly SqlRow[],
  settings: Readonly<Record<string, string>>,
): readonly string[] {
  const hidden = standbys.filter(({ state }) => state === null).length;
  if (hidden > 0) {
    const some = hidden === 1 ? "a standby is" : `${hidden} standbys are`;
    return [`${some} attached, but this role can't see whether writes wait for it: ${howToSee}`];
  }
  const warnings = standbys.flatMap(({ name, state }) => {
    const kind = behind[String(state)];
    return kind === undefined ? [] : [`the standby ${name} is ${kind}: ${whatItLoses}`];
  });
  const awaited = settings["synchronous_standby_names"] ?? "";
  if (awaited !== "" && !standbys.some(({ state }) => state === "sync" || state === "quorum")) {
    warnings.push(
      `no standby that synchronous_standby_names asks for (${awaited}) is attached: every write waits for it`,
    );
  }
  return warnings;
}

/** By `sync_state`: standbys that no write waits for. */
const behind: Readonly<Record<string, string>> = {
  async: "asynchronous",
  potential: "asynchronous as long as another one is there",
};
const whatItLoses =
  "promoting it can lose acknowledged claims, and with them the only trace of a request";
const howToSee = "grant it pg_monitor, or look at sync_state in pg_stat_replication yourself";

/** The server understood, and didn't show: no right, or it has no such view. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && "code" in error && String(error.code).startsWith("42");
}
