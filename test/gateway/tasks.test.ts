/**
 * Tasks of the protocol: not passed on, for their ids are made by attempts. A call that asks for one
 * is a plain call under the guard; a tool that runs as a task only is held; a task in place of a result
 * is a doubt, and never an outcome.
 */
import { expect, it } from "vitest";
import { buildCatalogue } from "../../src/gateway/catalogue.ts";
import { readConfig } from "../../src/gateway/config/load-config.ts";
import {
  type ToolAnswer,
  gatewayScenario,
  lookedUp,
  textOf,
  toldBy,
} from "./support/gateway-world.ts";

gatewayScenario(
  "a call that asks for a task is a plain call, and takes effect once",
  {},
  async (world) => {
    const params = {
      name: "issue_refund",
      arguments: { order_id: "8812", amount_minor: 48_000 },
      task: { ttl: 60_000 },
    };
    const call = async (): Promise<ToolAnswer> =>
      (await world.agent.callTool(params)) as unknown as ToolAnswer;
    const answers = [await call(), await call()];
    world.assertEffects(1);
    expect(answers.map(toldBy)).toEqual(["DONE", "REPLAYED"]);
  },
);

for (const flag of ["task", "task-type"]) {
  gatewayScenario(
    `a ${flag} in place of a result is no outcome, and the effect is found by looking`,
    { policy: lookedUp },
    async (world) => {
      world.set(flag);
      const first = await world.refund();
      expect(toldBy(first)).toBe("OUTCOME_UNKNOWN");
      expect(textOf(first)).not.toMatch(/fail|try again/i);
      expect(toldBy(await world.refund())).toBe("REPLAYED");
      world.assertEffects(1);
    },
  );
}

it("a tool that runs as a task only is held; one that may is shown without that", () => {
  const text = `
context: { tenant: { value: acme } }
unlisted: pass
upstreams: { shop: { command: shop } }`;
  const shown = (taskSupport: string): unknown => {
    const definition = { name: "pay", inputSchema: {}, execution: { taskSupport } };
    const listings = new Map([["shop", [definition]]]);
    const connections = new Map([["shop", { name: "shop" } as never]]);
    const config = readConfig("/etc/nevertwice.yaml", text, {});
    return buildCatalogue(config, new Map(), listings, connections).entries.get("pay");
  };
  expect(shown("required")).toMatchObject({
    verdict: "refused",
    refusal: {
      code: "TOOL_HELD",
      message: expect.stringContaining("runs it as a task only, and tasks are not passed on"),
    },
  });
  expect(shown("optional")).toMatchObject({ verdict: "pass" });
  expect(shown("optional")).not.toHaveProperty("shown.execution");
});
