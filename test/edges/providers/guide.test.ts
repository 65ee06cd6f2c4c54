/**
 * The program of docs/guides/providers.md runs as it stands, and refunds once.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { programFolder } from "../../support/program-folder.ts";
import { startStripe } from "../../support/providers/stripe.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

it("the refund of the guide happens once, whatever the words", async () => {
  const guide = readFileSync(join(root, "docs/guides/providers.md"), "utf8");
  const code = /```ts\n([\s\S]*?)```/.exec(guide)?.[1] ?? "";
  const counterpart = await startStripe();
  const { hostname, port } = new URL(counterpart.url);
  const where = `{ protocol: "http", host: "${hostname}", port: "${port}", telemetry: false }`;
  const folder = programFolder("providers");
  try {
    const store = `
import Database from "better-sqlite3";
import { SqliteStore } from ${JSON.stringify(join(root, "src/stores/sqlite/index.ts"))};
export async function openStore() {
  const store = new SqliteStore(new Database(${JSON.stringify(join(folder, "guide.sqlite"))}));
  await store.migrate();
  return store;
}`;
    const runnable = code
      .replace(
        '"nevertwice/providers/stripe"',
        JSON.stringify(join(root, "src/edges/providers/stripe.ts")),
      )
      .replace('"nevertwice"', JSON.stringify(join(root, "src/index.ts")))
      .replace('new Stripe(process.env["STRIPE_KEY"] ?? "")', `new Stripe("sk_test_1", ${where})`);
    writeFileSync(join(folder, "store.ts"), store);
    writeFileSync(join(folder, "main.ts"), runnable);
    const { run } = (await import(pathToFileURL(join(folder, "main.ts")).href)) as {
      run: (args: object, ticketId: string) => Promise<{ replayed: boolean; value: unknown }>;
    };
    const args = { paymentIntent: "pi_8812", amountMinor: 48_000, reason: "Parcel arrived broken" };
    const first = await run(args, "5521");
    const second = await run({ ...args, reason: "in other words" }, "5521");
    expect([first.replayed, second.replayed]).toEqual([false, true]);
    expect(second.value).toEqual(first.value);
    expect(counterpart.effects).toHaveLength(1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await counterpart.close();
  }
});
