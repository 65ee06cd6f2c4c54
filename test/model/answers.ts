/** What callers are told, from the stored row. */
import { type Answer, type World, changed, endedWorker } from "./state.ts";

/** The worker tells its caller, and ends. */
export function answering(
  world: World,
  index: number,
  kind: Answer["kind"],
  effect = 0,
  recorded = true,
): World {
  return changed(world, index, { worker: endedWorker, answer: { kind, effect, recorded } });
}

/** The token is stale: what the row says is the answer (R12, R16). */
export function answeringStale(world: World, index: number): World {
  const { row } = world;
  if (row === null) return answering(world, index, "lease-lost");
  switch (row.status) {
    case "DONE":
      return answering(world, index, "done", row.result);
    case "FAILED":
      return answering(world, index, row.incident ? "review" : "failed");
    case "NEEDS_REVIEW":
      return answering(world, index, "review");
    case "UNKNOWN":
      return answering(world, index, "unknown");
    case "IN_PROGRESS":
      return answering(world, index, "lease-lost");
  }
}
