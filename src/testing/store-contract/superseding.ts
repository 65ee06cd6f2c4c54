/**
 * Cases of a changed mind.
 *
 * @module
 */
import { storeCase } from "./case.ts";
import { intentParams, made, operationIn, withIncident } from "./params.ts";

/** An intent replaces one that is settled, and is the only one to do so (R25). */
export const superseding = [
  storeCase(
    "an intent is not replaced while it is unsettled",
    { rule: "R25", fault: "unsettled intent replaced" },
    async (scene) => {
      for (const status of ["IN_PROGRESS", "UNKNOWN", "NEEDS_REVIEW"] as const) {
        await operationIn(scene.store, status, status);
        const replace = intentParams(status);
        await scene.refuses(status, () => scene.store.recordIntent(replace));
      }
    },
  ),
  storeCase(
    "an intent is not replaced while evidence contradicts its outcome",
    { rule: "R25", fault: "doubtful intent replaced" },
    async (scene) => {
      await withIncident(scene.store, await operationIn(scene.store, "key", "FAILED"));
      await scene.refuses("an incident", () => scene.store.recordIntent(intentParams("key")));
    },
  ),
  storeCase(
    "a settled intent is replaced by one other, and saying so twice is the same",
    { rule: "R25", fault: "two successors" },
    async (scene) => {
      for (const status of ["DONE", "FAILED"] as const) {
        const { readAtMs: _, ...settled } = await operationIn(scene.store, status, status);
        const replace = intentParams(status, { supersededBy: "new" });
        scene.has("the row", await scene.store.recordIntent(replace), {
          ...settled,
          supersededBy: "new",
          version: settled.version + 1,
          journalSeq: settled.journalSeq + 1,
        });
        const again = await scene.store.recordIntent(replace);
        scene.has("the row when it is said again", again, { supersededBy: "new" });
        const other = intentParams(status, { supersededBy: "another" });
        await scene.refuses("another successor", () => scene.store.recordIntent(other));
        const last = (await scene.events(status)).at(-1);
        scene.is("the journal's last event", last, "intent.recorded");
      }
    },
  ),
  storeCase(
    "of two intents that replace one at the same time one does",
    { rule: "R25", fault: "successors race" },
    async (scene) => {
      const settled = await operationIn(scene.store, "key", "DONE");
      const [one, two] = [await scene.another(), await scene.another()];
      const rows = await Promise.all([
        one.recordIntent(intentParams("key", { supersededBy: "one" })),
        two.recordIntent(intentParams("key", { supersededBy: "two" })),
      ]);
      const won = rows.filter((row) => row !== undefined);
      scene.is("how many replaced it", won.length, 1);
      const { supersededBy } = await scene.row(settled);
      scene.is("the one told", made("recordIntent", won[0]).supersededBy, supersededBy);
    },
  ),
];
