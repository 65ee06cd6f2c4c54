/**
 * What an agent is told where a call that passes through has no answer: nothing is recorded of it, so a
 * repeat runs again, and the text says so (R29).
 */
import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { sqliteSuite } from "../support/stores.ts";
import { connectOldAgent } from "./support/asked-agent.ts";
import { callTool } from "./support/gateway-world.ts";
import { refundServer } from "./support/servers.ts";
import { folder, startBefore } from "./support/suite-world.ts";

async function openShop() {
  const place = folder();
  const script = join(place, "server.mjs");
  const allowStart = (): void => symlinkSync(refundServer(), script);
  allowStart();
  const server = `{ command: "${process.execPath}", args: ["${script}"], env: { LEDGER_FOLDER: "${place}" } }`;
  const { gateway } = await startBefore(sqliteSuite, server);
  let asked = 0;
  const agent = await connectOldAgent(gateway, () => {
    asked += 1;
    return { action: "accept", content: { sure: true } };
  });
  const ledger = join(place, "ledger.jsonl");
  return {
    /** The process goes on; another one can't be started. */
    forbidStart: () => rmSync(script),
    allowStart,
    set: (flag: string) => writeFileSync(join(place, flag), ""),
    refund: () => callTool(agent, "issue_refund", { order_id: "8812", amount_minor: 48_000 }),
    effects: () =>
      existsSync(ledger) ? readFileSync(ledger, "utf8").trim().split("\n").length : 0,
    asked: () => asked,
  };
}

it("an answer that got lost leaves the outcome unknown, and the text owns up to the repeat", async () => {
  const shop = await openShop();
  shop.set("die-after-effect");
  shop.forbidStart();
  await expect(shop.refund()).rejects.toThrow(
    "The server's answer got lost (the connection ended): whether the request was carried out is not known. It is not guarded here, so the same request would run again.",
  );
  expect(shop.effects()).toBe(1);
  await expect(shop.refund()).rejects.toThrow(
    "Nothing was sent: the server suite is not connected. The same request is safe.",
  );
  expect(shop.effects()).toBe(1);
  shop.allowStart();
  await expect.poll(() => shop.refund().then(() => "answered", String)).toBe("answered");
  expect(shop.effects()).toBe(2);
});

it("a server that asks without an end has carried nothing out, and the call says so", async () => {
  const shop = await openShop();
  shop.set("ask-ever");
  await expect(shop.refund()).rejects.toThrow(
    "The server asked back 16 times, and its last question is left without an answer. By its own word it has not carried the request out. The same request is safe: it begins anew.",
  );
  expect([shop.asked(), shop.effects()]).toEqual([16, 0]);
});
