/**
 * Cases of late looks, for stores that have them: `Store.lateLooks` is an optional part of the port.
 *
 * @module
 */
import { hours, minutes } from "../../base/duration.ts";
import { NeverTwiceError } from "../../base/errors.ts";
import type { LateLooks } from "../../ledger/late-looks.ts";
import { type StoreCase, storeCase } from "./case.ts";
import { operationIn, toolName, withIncident } from "./params.ts";
import type { Scene } from "./scene.ts";

const stage = { tool: toolName, afterMs: hours(1) };
const lease = { leaseMs: minutes(5), beginMs: hours(24) };
const start = { settledAtMs: 0, tenant: "", key: "" };

/** A late look asks a provider once, misses no closed operation, and repeats none. */
export const lateLooks: readonly StoreCase[] = [
  looksCase(
    "a stage of late looks is one worker's, until its lease ends or it is passed",
    "two at one stage",
    async (looks, scene) => {
      const first = await looks.claim({ ...stage, ...lease });
      scene.is("a new stage's key", first?.key, "");
      const { readAtMs = 0, settledAtMs = 0 } = first ?? {};
      scene.is("how far back it begins", readAtMs - settledAtMs, hours(25));
      const again = async () => (await looks.claim({ ...stage, ...lease })) !== undefined;
      scene.is("taken while it is another's", await again(), false);
      const other = await looks.claim({ ...stage, tool: "other", ...lease });
      scene.holds("another tool's stage is free", other !== undefined);
      await scene.advance(lease.leaseMs - 1);
      scene.is("taken before the lease ends", await again(), false);
      await scene.advance(1);
      scene.is("taken when the lease is over", await again(), true);
      await looks.pass({ ...stage, settledAtMs: readAtMs, tenant: "acme", key: "k" });
      scene.is("taken when it was passed", await again(), true);
    },
  ),
  looksCase(
    "a stage of late looks never goes back",
    "a position that goes back",
    async (looks, scene) => {
      const { readAtMs = 0 } = (await looks.claim({ ...stage, ...lease })) ?? {};
      const far = { settledAtMs: readAtMs, tenant: "acme", key: "k" };
      await looks.pass({ ...stage, ...far });
      await looks.pass({ ...stage, ...far, key: "j" });
      await looks.pass({ ...stage, ...far, settledAtMs: readAtMs - 1, key: "z" });
      const { settledAtMs, tenant, key } = (await looks.claim({ ...stage, ...lease })) ?? {};
      scene.is("how far it has come", { settledAtMs, tenant, key }, far);
    },
  ),
  looksCase(
    "late looks find what is closed, oldest first and page by page, and nothing else",
    "closed operations missed",
    async (looks, scene) => {
      const { store } = scene;
      for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW", "DONE"] as const)
        await operationIn(store, status, status);
      await operationIn(store, "other", "FAILED", { tool: "other" });
      await withIncident(store, await operationIn(store, "flagged", "FAILED"));
      for (const key of ["b", "c", "a"]) await operationIn(store, key, "FAILED");
      await scene.advance(1);
      const last = await operationIn(store, "0", "FAILED");
      const asked = { tool: toolName, untilMs: last.readAtMs + 1, all: false, limit: 3 };
      const first = await looks.find({ ...asked, ...start });
      const { settledAtMs, tenant, key } = first.at(-1) ?? { ...start };
      const rest = await looks.find({ ...asked, settledAtMs: settledAtMs ?? 0, tenant, key });
      const keysOf = (rows: readonly { key: string }[]) => rows.map((row) => row.key);
      scene.is("the first page", keysOf(first), ["a", "b", "c"]);
      scene.is("the second page", keysOf(rest), ["0"]);
      const early = await looks.find({ ...asked, ...start, untilMs: last.readAtMs });
      scene.is("what closed before", keysOf(early), ["a", "b", "c"]);
      const all = await looks.find({ ...asked, ...start, all: true, limit: 9 });
      scene.is("what was sent once, too", keysOf(all), ["DONE", "a", "b", "c", "0"]);
    },
  ),
];

function looksCase(
  name: string,
  fault: string,
  play: (looks: LateLooks, scene: Scene) => Promise<void>,
): StoreCase {
  return storeCase(
    name,
    { rule: "R22", fault, needsClock: true, needsLateLooks: true },
    async (scene) => {
      const looks = scene.store.lateLooks;
      if (looks !== undefined) return play(looks, scene);
      throw new NeverTwiceError(
        "CONFIGURATION_INVALID",
        `The case "${name}" is for stores with \`lateLooks\`, an optional part of the port, and this one has none. Skip the cases with \`needsLateLooks\`.`,
      );
    },
  );
}
