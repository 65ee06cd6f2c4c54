/** Plays cells on a store of their own, and judges them by the provider's ledger, the row and the journal. */
import { onTestFinished } from "vitest";
import type { OperationRecord } from "../../src/index.ts";
import { findChainFault } from "../../src/ledger/journal.ts";
import { findRecordFault } from "../../src/ledger/record.ts";
import { type FakeProvider, startFakeProvider } from "../../src/testing/fake-provider/index.ts";
import { ageOperations } from "../support/ageing.ts";
import type { OpenStore, StoreSuite } from "../support/stores.ts";
import { placeOf } from "../support/worker-place.ts";
import {
  type Cell,
  type Death,
  type Expected,
  type Kind,
  expectedInTheEnd,
  expectedOf,
  leftOf,
  nameOf,
  pathAfter,
} from "./cells.ts";
import type { Crew, Fate } from "./crew.ts";
import type { Ending, Job, Part } from "./job.ts";
import { behaviours, longMs, orderOf } from "./tool.ts";
import { wholeList } from "../support/worker-params.ts";

/** What became of a cell. */
export interface Verdict {
  readonly name: string;
  readonly effects: number;
  readonly status: string;
  /** What is not as it must be; empty for a good end. */
  readonly faults: readonly string[];
}

/** How to play. */
export interface PlayOptions {
  readonly crew: Crew;
  /** How many cells share a process; each stands at its place when the process is killed. */
  readonly perProcess: number;
  readonly passThrough?: boolean;
}

/** A cell under way. */
interface Game {
  readonly id: number;
  readonly cell: Cell;
  readonly faults: string[];
}

interface Scene extends PlayOptions {
  readonly opened: OpenStore;
  readonly provider: FakeProvider;
  readonly kind: Kind;
}

/** Plays cells, all of one line. */
export async function play(
  suite: StoreSuite,
  cells: readonly Cell[],
  options: PlayOptions,
): Promise<readonly Verdict[]> {
  const [kind = "keyed", ...others] = new Set(cells.map((cell) => cell.kind));
  if (others.length > 0) throw new Error("the cells are of several kinds");
  const provider = await startFakeProvider({ behaviour: behaviours[kind] });
  onTestFinished(() => provider.close());
  const scene: Scene = { ...options, opened: await suite.open(), provider, kind };
  const games = cells.map((cell, index): Game => ({ id: index + 1, cell, faults: [] }));
  await killWorkers(scene, games);
  await age(scene);
  const stopped = games.filter((game) => game.cell.last === "stopped");
  const killed = games.filter((game) => game.cell.last === "killed");
  await finish(scene, killed);
  // One after the other: each needs a second process meanwhile.
  for (const some of inProcesses(scene, stopped)) await finishWhileStopped(scene, some);
  await repeat(scene, games);
  const rows = await rowsById(scene);
  return Promise.all(games.map((game) => judge(scene, game, rows.get(game.id))));
}

/** First the first deaths of all cells, then, past their leases, the second ones. */
async function killWorkers(scene: Scene, games: readonly Game[]): Promise<void> {
  for (const round of [0, 1]) {
    const dying = games.filter(({ cell }) => killsOf(cell)[round] !== undefined);
    if (dying.length === 0) return;
    if (round > 0) await age(scene);
    await Promise.all(
      inProcesses(scene, dying, round).map(async (some) => {
        const parts = some.map((game) => partOf(game, killsOf(game.cell)[round]));
        noteUnreached(some, await perform(scene, parts, "die"));
      }),
    );
  }
}

function killsOf({ deaths, last }: Cell): readonly Death[] {
  return last === "killed" ? deaths : deaths.slice(0, -1);
}

function partOf({ id }: Game, death: Death | undefined): Part {
  return { id, act: death?.act ?? "call", standAt: death?.at };
}

function noteUnreached(games: readonly Game[], fates: readonly Fate[]): void {
  for (const [index, { faults }] of games.entries()) {
    const fate = fates[index];
    if (fate?.kind !== "ended") continue;
    faults.push(`a worker never came to its place, and ended with ${fate.ending.told}`);
  }
}

/** Everything that is stored gets older, by the database's own clock, and so does the provider. */
async function age({ opened, provider }: Scene): Promise<void> {
  await ageOperations(opened, longMs);
  provider.advance(longMs);
}

/** Somebody comes after the workers, and takes the expected path to the expected end. */
async function finish(scene: Scene, games: readonly Game[]): Promise<void> {
  const endings = await live(
    scene,
    games.map(({ id, cell }) => ({ id, act: cell.finish })),
  );
  for (const [index, game] of games.entries()) {
    const { cell, faults } = game;
    const ending = endings[index];
    if (ending === undefined) faults.push("nobody finished it");
    else if (scene.passThrough !== true) {
      faults.push(...findPathFaults(cell, ending), ...findFinishFaults(scene, game, ending));
    }
  }
}

function findPathFaults(cell: Cell, { points, statements, sql }: Ending): string[] {
  const [came, expected] = [
    { points, statements, sql },
    pathAfter(cell, leftOf(cell), cell.finish),
  ].map(
    ({ points: at, statements: by, sql: count }) => `${at.join()} by ${by.join()}, ${count} SQL`,
  );
  return came === expected ? [] : [`who finished it came by ${came}, and not by ${expected}`];
}

/** Of a sweep only what was in doubt is expected to be settled: nobody sweeps what was never sent. */
function findFinishFaults(scene: Scene, game: Game, ending: Ending): string[] {
  const { cell } = game;
  const expected = expectedOf(cell);
  if (cell.finish === "call") return findAnswerFaults(scene, game, ending, expected);
  const inDoubt = ["armed", "effect"].includes(leftOf(cell));
  const told = inDoubt ? expected.status : "";
  return ending.told === told ? [] : [`the sweeper told "${ending.told}", and not "${told}"`];
}

/** A call that ends well tells of the one effect; in doubt it says so. */
function findAnswerFaults(
  { provider }: Scene,
  { id }: Game,
  { told, effectId }: Ending,
  { status }: Expected,
): string[] {
  const good = status === "DONE" ? ["EXECUTED", "REPLAYED"] : ["NEEDS_REVIEW"];
  if (!good.includes(told)) return [`a call was told ${told}, and not ${good.join(" or ")}`];
  const [effect] = effectsOf(provider, id);
  return status === "DONE" && effectId !== effect?.effectId
    ? [`a call was told of the effect ${effectId}, and there is ${effect?.effectId}`]
    : [];
}

/** One process stands at all these places; it is stopped, others finish, and it goes on. */
async function finishWhileStopped(scene: Scene, games: readonly Game[]): Promise<void> {
  let before: ReadonlyMap<number, OperationRecord> = new Map();
  const parts = games.map((game) => partOf(game, game.cell.deaths.at(-1)));
  const fates = await perform(scene, parts, "stop", {
    stoppedMs: longMs,
    meanwhile: async () => {
      await age(scene);
      await finish(scene, games);
      before = await rowsById(scene);
    },
  });
  const after = await rowsById(scene);
  for (const [index, game] of games.entries()) {
    const fate = fates[index];
    if (fate?.kind !== "ended") game.faults.push("the stopped worker never ended");
    else
      game.faults.push(...findAnswerFaults(scene, game, fate.ending, expectedInTheEnd(game.cell)));
    const [was, is] = [before.get(game.id), after.get(game.id)];
    if (was?.status === "DONE" && outcomeText(was) !== outcomeText(is)) {
      game.faults.push("the stopped worker changed a settled operation");
    }
    if (was?.token !== is?.token || was?.attempts !== is?.attempts) {
      game.faults.push("the stopped worker acted under a stale token");
    }
  }
}

function outcomeText(row: OperationRecord | undefined): string {
  return JSON.stringify([row?.status, row?.resultKind, row?.result, row?.error, row?.providerId]);
}

/** Whoever calls once more is told the same as it will be told for ever. */
async function repeat(scene: Scene, games: readonly Game[]): Promise<void> {
  const endings = await live(
    scene,
    games.map(({ id }) => ({ id, act: "call" })),
  );
  for (const [index, game] of games.entries()) {
    const ending = endings[index];
    if (ending === undefined) game.faults.push("nobody called once more");
    else game.faults.push(...findAnswerFaults(scene, game, ending, expectedInTheEnd(game.cell)));
  }
}

async function judge(scene: Scene, game: Game, row: OperationRecord | undefined): Promise<Verdict> {
  const { cell, id, faults } = game;
  const expected = expectedInTheEnd(cell);
  const effects = effectsOf(scene.provider, id).length;
  if (effects !== expected.effects) faults.push(`${effects} effects, and not ${expected.effects}`);
  if (row?.status !== expected.status) {
    faults.push(`the row is ${row?.status ?? "missing"}, and not ${expected.status}`);
  }
  if (row !== undefined) {
    const { tenant, key, incident } = row;
    const lines = await scene.opened.store.readJournal({ tenant, key, after: null, limit: 1000 });
    const chain = findChainFault(lines);
    if (incident !== null) faults.push(`an incident: ${incident}`);
    const fault = findRecordFault(row);
    if (fault !== undefined) faults.push(`the row is corrupt: ${fault}`);
    if (chain !== undefined) faults.push(`the journal's line ${chain.seq}: ${chain.reason}`);
    if (lines.length !== row.journalSeq) faults.push("the journal lacks its last lines");
  }
  return { name: nameOf(cell), effects, status: row?.status ?? "missing", faults };
}

function effectsOf(provider: FakeProvider, id: number) {
  return provider.ledger().filter((effect) => effect.body["orderId"] === orderOf(id));
}

/** The stored operations, by the number of their cell. */
async function rowsById({ opened }: Scene): Promise<ReadonlyMap<number, OperationRecord>> {
  const rows = await opened.store.list(wholeList);
  return new Map(rows.map((row) => [Number(row.tool.replace("refund_", "")), row]));
}

async function live(
  scene: Scene,
  parts: readonly Part[],
): Promise<readonly (Ending | undefined)[]> {
  if (parts.length === 0) return [];
  const fates = await perform(scene, parts, "live");
  return fates.map((fate) => (fate.kind === "ended" ? fate.ending : undefined));
}

function perform(
  { crew, opened, provider, kind, passThrough = false }: Scene,
  parts: readonly Part[],
  end: Job["end"],
  stop?: Parameters<Crew["perform"]>[1],
): Promise<readonly Fate[]> {
  const place = placeOf(opened);
  return crew.perform({ place, providerUrl: provider.url, kind, passThrough, parts, end }, stop);
}

/** Shares the cells out. At a statement on SQLite nobody can wait, so that each has a process of its own. */
function inProcesses(
  { perProcess, opened }: Scene,
  games: readonly Game[],
  round?: number,
): readonly (readonly Game[])[] {
  const alone = ({ cell }: Game): boolean => {
    const at = round === undefined ? undefined : killsOf(cell)[round]?.at;
    return opened.kind === "sqlite" && at !== undefined && "statement" in at;
  };
  const together = games.filter((game) => !alone(game));
  const shares = Array.from({ length: Math.ceil(together.length / perProcess) }, (_, index) =>
    together.slice(index * perProcess, (index + 1) * perProcess),
  );
  return [...shares, ...games.filter(alone).map((game) => [game])];
}
