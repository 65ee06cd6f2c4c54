import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import {
  createProviderClient,
  type ProviderError,
  spawnFakeProvider,
  startFakeProvider,
} from "../../src/testing/fake-provider/index.ts";
import { HOUR_MS, refund, errorOf } from "./fake-provider-harness.ts";

describe("a process of its own", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "fake-provider-"));
  });

  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  test("is controlled over HTTP like the one in this process", async () => {
    const remote = await spawnFakeProvider({ behaviour: { lookUpLagMs: 5 } });
    const remoteClient = createProviderClient({ url: remote.url });
    await remote.behave({ lookUpLagMs: 0, retentionMs: HOUR_MS });
    await remote.faultAlways({ gate: "g", before: "reply" });
    await remote.fault({ decline: true });
    await errorOf(remoteClient.createEffect(refund));
    const reply = remoteClient.createEffect({ ...refund, key: "k1" });
    await remote.parked("g", 1);
    expect(await remote.count("refund")).toBe(1);
    await remote.release("g");
    await reply;
    await expect(remote.release("g")).rejects.toThrow("409");
    await remote.faultAlways(null);
    await remote.advance(HOUR_MS);
    await remoteClient.createEffect({ ...refund, key: "k1" });
    await remoteClient.findEffects({ key: "k1" });
    expect(await remote.ledger()).toHaveLength(2);
    expect(await remote.arrivals()).toHaveLength(3);
    expect(await remote.lookUps()).toHaveLength(1);
    expect(await remote.counters()).toMatchObject({ effects: 2, replays: 0, errors: 1 });
    await remote.reset();
    expect(await remote.count()).toBe(0);
    remoteClient.close();
    await remote.stop();
    await remote.stop();
    expect((await errorOf(remoteClient.createEffect(refund))).code).toBe("REFUSED");
  });

  test("killed with a ledger file, it keeps its effects and its keys", async () => {
    const ledgerFile = join(folder, "ledger.jsonl");
    const first = await spawnFakeProvider({ ledgerFile });
    const remoteClient = createProviderClient({ url: first.url });
    const key = "k1";
    const effect = await remoteClient.createEffect({ ...refund, key });
    await first.fault({ decline: true }, { status: 500, effect: true, saved: false });
    await errorOf(remoteClient.createEffect({ ...refund, key: "declined" }));
    await errorOf(remoteClient.createEffect({ ...refund, key: "freed" }));
    await first.fault({ gate: "g" });
    const parked = errorOf(remoteClient.createEffect({ ...refund, key: "parked" }));
    await first.parked("g");
    const before = await first.ledger();
    await first.kill();
    expect(await parked).toMatchObject({ code: "ECONNRESET", wroteBytes: true });

    appendFileSync(ledgerFile, '{"effectId":"cut sho');
    const second = await spawnFakeProvider({ ledgerFile, port: Number(new URL(first.url).port) });
    expect(second.url).toBe(first.url);
    expect(await second.ledger()).toEqual(before);
    expect(await remoteClient.createEffect({ ...refund, key })).toEqual(effect);
    const declined = await errorOf(remoteClient.createEffect({ ...refund, key: "declined" }));
    expect(declined.code).toBe("card_declined");
    expect((await remoteClient.createEffect({ ...refund, key: "freed" })).id).toBe("eff_3");
    expect((await remoteClient.createEffect({ ...refund, key: "parked" })).id).toBe("eff_4");
    await second.stop();
    remoteClient.close();
    const lines = readFileSync(ledgerFile, "utf8").trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { effectId: string }).effectId)).toEqual([
      "eff_1",
      "eff_2",
      "eff_3",
      "eff_4",
    ]);
  });

  test("dies with its parent, however that dies", async () => {
    const module = new URL("../../src/testing/fake-provider/index.ts", import.meta.url);
    const program = `
      const { spawnFakeProvider } = await import(${JSON.stringify(module.href)});
      console.log((await spawnFakeProvider()).url);
    `;
    const flags = ["--import", "tsx", "--input-type=module", "-e", program];
    const parent = spawn(process.execPath, flags, { stdio: ["ignore", "pipe", "inherit"] });
    const [url] = await once(createInterface({ input: parent.stdout }), "line");
    const orphanClient = createProviderClient({ url: String(url) });
    await orphanClient.createEffect(refund);
    parent.kill("SIGKILL");
    const outcome = async (): Promise<unknown> =>
      orphanClient.createEffect(refund).catch((error: ProviderError) => error.code);
    await expect.poll(outcome).toBe("REFUSED");
    orphanClient.close();
  });

  test("an effect whose key verdict was lost with the process is still known by its key", async () => {
    const ledgerFile = join(folder, "ledger.jsonl");
    const first = await startFakeProvider({ ledgerFile });
    const firstClient = createProviderClient({ url: first.url });
    const effect = await firstClient.createEffect({ ...refund, key: "k1" });
    firstClient.close();
    await first.close();
    rmSync(`${ledgerFile}.keys`);
    const second = await startFakeProvider({ ledgerFile });
    const secondClient = createProviderClient({ url: second.url });
    expect(await secondClient.createEffect({ ...refund, key: "k1" })).toEqual(effect);
    expect(second.count()).toBe(1);
    second.reset();
    expect(readFileSync(ledgerFile, "utf8")).toBe("");
    secondClient.close();
    await second.close();
  });
});
