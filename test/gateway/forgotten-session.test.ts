/**
 * A server by HTTP that doesn't know the session of a call, or a proxy that says so: before the effect
 * and after it the words are the same, so they prove nothing (case 84).
 */
import { expect } from "vitest";
import { type Breakage, startProxy } from "./support/breaking-proxy.ts";
import { gatewayScenario, keyed, textOf, toldBy } from "./support/gateway-world.ts";
import { refundUrl } from "./support/servers.ts";

for (const session of ["session-1", undefined]) {
  const kind = session === undefined ? "without sessions" : "with sessions";
  gatewayScenario(
    `a 404 of a server ${kind} comes before the effect or after it, and is an unknown outcome`,
    {
      policy: keyed,
      serverUrl: async (folder) => {
        // Of each order the first send is broken; the second one passes.
        const fates: (Breakage | undefined)[] = ["404", undefined, "404 before"];
        const proxy = await startProxy(await refundUrl(folder), () => fates.shift(), session);
        return proxy.url.href;
      },
    },
    async (world) => {
      const texts: string[] = [];
      for (const order of ["after", "before"]) {
        const first = await world.refund({ order_id: order });
        expect(toldBy(first)).toBe("OUTCOME_UNKNOWN");
        texts.push(textOf(first).replaceAll(/[0-9a-f]{64}/g, "KEY"));
        await expect
          .poll(async () => toldBy(await world.refund({ order_id: order })), { interval: 100 })
          .toBe("REPLAYED");
      }
      expect(texts[0]).toBe(texts[1]);
      expect(texts[0]).not.toMatch(/fail|try again/i);
      expect(world.effects().map((effect) => effect["order_id"])).toEqual(["after", "before"]);
    },
  );
}
