/**
 * What has no doubled effect to fear goes straight through and touches no row.
 */
import { expect } from "vitest";
import { z } from "zod";
import { type Tool, defineTool } from "../../src/index.ts";
import { interceptStore } from "../support/store-faults.ts";
import { scenario } from "../support/world.ts";

function passTool(kind: "read-only" | "convergent", execute: Tool["execute"]): Tool {
  const declaration = { name: `${kind} tool`, kind, execute };
  return defineTool({ ...declaration, arguments: z.object({ id: z.string() }) } as never);
}

for (const kind of ["read-only", "convergent"] as const) {
  scenario(
    `a ${kind} tool runs at every call, asks no store and leaves no row`,
    {},
    async (world) => {
      const calls: string[] = [];
      const store = interceptStore(world.opened.store, (method) => {
        throw new Error(`${method} was called`);
      });
      const guard = await world.another({ store });
      const tool = passTool(kind, async (args, call) => {
        calls.push(`${call.tenant}:${String(args["id"])}`);
        return world.client.createEffect({ operation: "read", body: { id: String(args["id"]) } });
      });
      const told = [];
      for (let call = 1; call <= 3; call += 1) {
        told.push(await world.run({ guard, tool, args: { id: "1", hidden: true } }));
      }
      expect(told.map((one) => one.told)).toEqual(["EXECUTED", "EXECUTED", "EXECUTED"]);
      expect(told[0]?.outcome).toMatchObject({ key: null, recorded: false, status: "DONE" });
      expect(told[0]?.outcome?.text).toContain("calling it again is safe");
      expect(calls).toEqual(["acme:1", "acme:1", "acme:1"]);
      expect(await world.rows()).toEqual([]);
      world.assertEffects(3);
    },
  );

  scenario(
    `a ${kind} tool is checked like any other, and its errors are its own`,
    {},
    async (world) => {
      const own = new Error("no such order");
      const tool = passTool(kind, () => Promise.reject(own));
      const told = [
        await world.run({ tool, args: { id: 1 } }),
        await world.run({ tool, args: { id: 1n } }),
        await world.run({ tool, args: { id: "1" }, context: { tenant: " " } }),
        await world.run({ tool, args: { id: "1" }, context: { signal: AbortSignal.abort() } }),
        await world.run({ tool, args: { id: "1" } }),
      ];
      expect(told.map((one) => one.told)).toEqual([
        "ARGUMENTS_INVALID",
        "UNSUPPORTED_ARGUMENT",
        "INTENT_INVALID",
        "ABORTED",
        "OTHER",
      ]);
      expect(told.at(-1)?.error).toBe(own);
      expect(await world.rows()).toEqual([]);
      world.assertEffects(0);
    },
  );
}

scenario(
  "a tool that goes straight through is told of its caller's signal, and the sweeper leaves it alone",
  {},
  async (world) => {
    const stop = new AbortController();
    const seen: AbortSignal[] = [];
    const tool = passTool("read-only", (_, call) => void seen.push(call.signal));
    const guard = await world.another({ tools: [tool] });
    await world.run({ guard, tool, args: { id: "1" }, context: { signal: stop.signal } });
    await world.run({ guard, tool, args: { id: "1" } });

    expect(seen[0]).toBe(stop.signal);
    expect(seen[1]?.aborted).toBe(false);
    expect(await guard.sweep()).toEqual([]);
    // Without a guard the second tool of that name would go unnoticed.
    const twin = passTool("read-only", () => 1);
    const told = await world.run({ guard, tool: twin, args: { id: "1" } });
    expect(told.told).toBe("TOOL_INVALID");
    world.assertEffects(0);
  },
);
