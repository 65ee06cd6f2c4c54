/** A worker of the crash matrix: a process that plays parts, stands still in them, and dies. */
import {
  type Guard,
  type GuardOptions,
  type Outcome,
  type Point,
  type PointName,
  type Tool,
  createGuard,
  isNeverTwiceError,
} from "../../src/index.ts";
import { createProviderClient } from "../../src/testing/fake-provider/index.ts";
import { dieHere } from "../support/die-here.ts";
import { passThroughGuard } from "../support/pass-through.ts";
import type { StoreInspection } from "../../src/ledger/store.ts";
import { interceptStore, movableRuntime } from "../support/store-faults.ts";
import type { Place } from "./cells.ts";
import { type WatchedPlace, type Watcher, openWatched } from "../support/watched-store.ts";
import type { Ending, Job, News, Order, Part } from "./job.ts";
import { refundOf, refundTool } from "./tool.ts";

/** A part under way: notes what it comes by, and stands still where it is told to. */
class Stage implements Watcher {
  readonly points: PointName[] = [];
  readonly statements: string[] = [];
  sql = 0;
  readonly stands: Promise<"stands">;
  readonly #at: Place | undefined;
  readonly #deadly: boolean;
  readonly #released: Promise<void>;
  #arrive = (): void => {};
  #release = (): void => {};
  #open = false;
  #begun = false;

  constructor(at: Place | undefined, deadly: boolean) {
    this.#at = at;
    this.#deadly = deadly;
    this.stands = new Promise((resolve) => (this.#arrive = () => resolve("stands")));
    this.#released = new Promise((resolve) => (this.#release = resolve));
  }

  reach({ name }: Point): Promise<void> | void {
    this.points.push(name);
    const at = this.#at;
    return at !== undefined && "point" in at && at.point === name ? this.#stand() : undefined;
  }

  before(): Promise<void> | void {
    this.sql += 1;
    return this.#standAtSql("before");
  }

  after(): Promise<void> | void {
    return this.#standAtSql("after");
  }

  /** What was needed to set up doesn't count. */
  begin(): void {
    this.sql = 0;
    this.#begun = true;
  }

  release(): void {
    this.#open = true;
    this.#release();
  }

  #standAtSql(when: "before" | "after"): Promise<void> | void {
    const at = this.#at;
    const here = this.#begun && at !== undefined && "statement" in at && at.when === when;
    return here && at.statement === this.sql ? this.#stand() : undefined;
  }

  #stand(): Promise<void> | void {
    if (this.#open) return;
    if (this.#deadly) dieHere();
    this.#arrive();
    return this.#released;
  }
}

/** What the parts of a job share. */
interface Floor {
  readonly job: Job;
  readonly watched: WatchedPlace;
  readonly client: ReturnType<typeof createProviderClient>;
  readonly runtime: ReturnType<typeof movableRuntime>;
  /** One does for all parts. */
  readonly inspection: Promise<StoreInspection>;
}

async function openFloor(job: Job): Promise<Floor> {
  const watched = await openWatched(job.place);
  return {
    job,
    watched,
    client: createProviderClient({ url: job.providerUrl }),
    runtime: movableRuntime(),
    inspection: watched.storeFor({ before: () => {}, after: () => {} }).inspect(),
  };
}

async function perform(job: Job): Promise<void> {
  const floor = await openFloor(job);
  const standing = new Map<number, { stage: Stage; ending: Promise<Ending> }>();
  for (const [index, part] of job.parts.entries()) {
    const isLast = index === job.parts.length - 1;
    const stage = new Stage(part.standAt, isLast && job.end === "die");
    const ending = play(floor, part, stage);
    const first = await Promise.race([stage.stands, ending]);
    if (first === "stands") {
      standing.set(index, { stage, ending });
      await tell({ type: "stands", index });
    } else await tell({ type: "ended", index, ending: first });
  }
  if (job.end === "die") dieHere();
  if (job.end === "stop") {
    await tell({ type: "all-stand" });
    floor.runtime.move(await stoppedMs());
    for (const { stage } of standing.values()) stage.release();
    for (const [index, { ending }] of standing) {
      await tell({ type: "ended", index, ending: await ending });
    }
  }
  floor.client.close();
  await floor.watched.close();
  await tell({ type: "finished" });
}

async function play(floor: Floor, part: Part, stage: Stage): Promise<Ending> {
  const { job, client, runtime, inspection } = floor;
  const tool = refundTool(client, job.kind, part.id);
  const own = floor.watched.storeFor(stage);
  const store = interceptStore(
    Object.assign(own, { inspect: () => inspection }),
    (method, call) => {
      stage.statements.push(method);
      return call();
    },
  );
  const create = job.passThrough ? pointedPassThrough : createGuard;
  const guard = await create({
    store,
    tools: [tool],
    runtime,
    onPoint: (point) => stage.reach(point),
  });
  stage.begin();
  const { told, effectId } = await (part.act === "sweep"
    ? sweepBy(guard)
    : callBy(guard, tool, part.id));
  const { points, statements, sql } = stage;
  return { told, effectId, points, statements, sql };
}

type Told = Pick<Ending, "told" | "effectId">;

async function callBy(guard: Guard, tool: Tool, id: number): Promise<Told> {
  try {
    const { replayed, value } = await guard.run(tool, refundOf(id), { tenant: "acme" });
    return { told: replayed ? "REPLAYED" : "EXECUTED", effectId: effectIdOf(value) };
  } catch (error) {
    return { told: isNeverTwiceError(error) ? error.code : String(error), effectId: undefined };
  }
}

function effectIdOf(value: unknown): string | undefined {
  return typeof value === "object" && value !== null && "id" in value
    ? String(value.id)
    : undefined;
}

async function sweepBy(guard: Guard): Promise<Told> {
  const swept = await guard.sweep();
  return { told: swept.map(({ outcome }) => outcome).join(), effectId: undefined };
}

/** The pass-through comes by two points: around the effect that it doesn't guard. */
async function pointedPassThrough(options: GuardOptions): Promise<Guard> {
  const guard = await passThroughGuard(options);
  const run = async (tool: Tool, args: unknown, context: { tenant: string }) => {
    const here = { tenant: context.tenant, key: "" };
    await options.onPoint?.({ name: "before-write", ...here });
    const outcome: Outcome<unknown> = await guard.run(tool, args, context);
    await options.onPoint?.({ name: "after-execute", ...here });
    return outcome;
  };
  return { ...guard, run: run as Guard["run"] };
}

let goOn: (stoppedMs: number) => void = () => {};

/** Resolves when this process has been stopped and may go on: with how long the stop is said to have been. */
function stoppedMs(): Promise<number> {
  return new Promise((resolve) => (goOn = resolve));
}

/** Resolves when it is written: what a process has said before it dies must arrive. */
function tell(news: News): Promise<void> {
  return new Promise((resolve) => {
    process.send?.(news, undefined, undefined, () => resolve());
  });
}

process.on("disconnect", () => process.exit(0));
process.on("message", (order: Order) => {
  if (order.type === "go-on") return goOn(order.stoppedMs);
  perform(order.job).catch((error: unknown) =>
    tell({ type: "broken", message: error instanceof Error ? String(error.stack) : String(error) }),
  );
});
await tell({ type: "ready" });
