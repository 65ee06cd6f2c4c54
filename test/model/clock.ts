/** The clocks: the true one, the database's, and those of workers where a negative run lets them count. */
import type { Lab } from "./setting.ts";
import type { World } from "./state.ts";

/** The database's clock: ahead of its later self until it has stepped back. */
export function dbNow(lab: Lab, world: World): number {
  return world.now + (world.steppedBack ? 0 : lab.setting.faults.clockBack);
}

/** The clock that a worker's statements use: the database's (R9), or its own where that rule is off. */
export function clockOf(lab: Lab, world: World, worker: number): number {
  const skew = lab.off.has("database-clock") ? (lab.setting.faults.skews[worker] ?? 0) : 0;
  return dbNow(lab, world) + skew;
}
