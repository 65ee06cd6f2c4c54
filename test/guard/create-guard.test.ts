import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  type Guard,
  type Tool,
  createGuard,
  defineTool,
  hours,
  isNeverTwiceError,
} from "../../src/index.ts";
import { pointNames } from "../../src/guard/environment.ts";
import { type OpenStore, openSqlite } from "../support/stores.ts";
import { toolWith } from "./units.ts";

describe("a guard", () => {
  let opened: OpenStore;
  beforeAll(async () => {
    opened = await openSqlite();
  });
  afterAll(() => opened.close());

  async function guardWith(more: Partial<Parameters<typeof createGuard>[0]> = {}): Promise<Guard> {
    return createGuard({ store: opened.store, ...more });
  }

  it("comes by its named points in their order", async () => {
    const passed: string[] = [];
    const onPoint = ({ name }: { name: string }): void => void passed.push(name);
    const guard = await guardWith({ onPoint });
    const context = { tenant: "points" };
    const broken = toolWith({
      contract: { mode: "strict", lookUp: { find: () => ({ answer: "unsure" }), timeoutMs: 1000 } },
      execute: () => {
        throw new Error("broken");
      },
    });
    await expect(guard.run(broken, { orderId: "1" }, context)).rejects.toThrow();
    expect(passed).toEqual(pointNames.filter((name) => !/look-up|take-over/.test(name)));
    passed.length = 0;
    await expect(guard.run(broken, { orderId: "1" }, context)).rejects.toThrow();
    expect(passed).toEqual([
      "before-claim",
      "after-claim",
      "after-take-over",
      "before-look-up",
      "after-look-up",
      "after-settle",
    ]);
  });

  it("names each issue of any schema by its path", async () => {
    const issues = [
      { message: "a is wrong", path: ["a", 0, { key: "b" }] },
      { message: "all is wrong" },
      { message: "it is wrong, too", path: [] },
    ];
    const schema = { "~standard": { version: 1, vendor: "test", validate: () => ({ issues }) } };
    const declaration = { ...parts(toolWith()), arguments: schema };
    const tool = defineTool(declaration as never);
    const guard = await guardWith();
    const error: unknown = await guard.run(tool, {}, { tenant: "schema" }).catch((e: unknown) => e);
    expect(isNeverTwiceError(error, "ARGUMENTS_INVALID")).toBe(true);
    expect((error as Error).message).toContain(
      "$.a.0.b: a is wrong; $: all is wrong; $: it is wrong, too",
    );
  });

  it("makes keys that nobody without its secret can compute", async () => {
    const tool = toolWith();
    const keys = [];
    for (const keySecret of [undefined, "one", "two"]) {
      const guard = await guardWith(keySecret === undefined ? {} : { keySecret });
      keys.push((await guard.run(tool, { orderId: "1" }, { tenant: "secret" })).key);
    }
    expect(new Set(keys).size).toBe(3);
  });

  it("refuses a secret that is none", async () => {
    for (const keySecret of ["", new Uint8Array()]) {
      await expect(guardWith({ keySecret })).rejects.toMatchObject({
        code: "CONFIGURATION_INVALID",
      });
    }
  });

  it("takes a tool of one name once, and the same tool as often as it likes", async () => {
    const tool = toolWith();
    const guard = await guardWith({ tools: [tool, tool] });
    await guard.run(tool, { orderId: "1" }, { tenant: "names" });
    const twin = guard.run(toolWith(), { orderId: "1" }, { tenant: "names" });
    await expect(twin).rejects.toMatchObject({ code: "TOOL_INVALID" });
    await expect(guardWith({ tools: [tool, toolWith()] })).rejects.toMatchObject({
      code: "TOOL_INVALID",
    });
  });

  it.each([[[0]], [[hours(1), -1]], [[Number.NaN]], [["1 h"]]])(
    "refuses late looks after %j",
    async (afterMs) => {
      const lateLooks = { afterMs: afterMs as number[] };
      await expect(guardWith({ lateLooks })).rejects.toMatchObject({
        code: "CONFIGURATION_INVALID",
        message: expect.stringContaining("lateLooks.afterMs"),
      });
    },
  );

  it("purges and sweeps with its usual limits", async () => {
    const limits: unknown[] = [];
    const guard = await guardWith({
      store: new Proxy(opened.store, {
        get: (target, name) => {
          if (name === "purge") return async (params: object) => (limits.push(params), 3);
          if (name === "findDue") return async (params: object) => (limits.push(params), []);
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      }),
    });
    expect(await guard.purge()).toBe(3);
    await guard.purge({ limit: 5 });
    await guard.sweep();
    await guard.sweep({ limit: 7 });
    const stopped = AbortSignal.abort();
    await guard.keepSweeping({ signal: stopped });
    const tools: string[] = [];
    expect(limits).toEqual([
      { limit: 1000 },
      { limit: 5 },
      { tools, limit: 100 },
      { tools, limit: 7 },
    ]);
  });

  it("leaves what a store calls due, but no tool is known for, to others", async () => {
    const stranger = { ...(await rowOf(opened)), tool: "somebody_else's" };
    const guard = await guardWith({
      store: new Proxy(opened.store, {
        get: (target, name) => {
          if (name === "findDue") return async () => [stranger];
          const member: unknown = Reflect.get(target, name, target);
          return typeof member === "function" ? (member.bind(target) as unknown) : member;
        },
      }),
    });
    const { tenant, key } = stranger;
    expect(await guard.sweep()).toEqual([{ tenant, key, outcome: "skipped" }]);
  });
});

async function rowOf(opened: OpenStore): Promise<{ tenant: string; key: string }> {
  const all = { tenant: null, status: null, operation: null, review: false, limit: 1 };
  const [row] = await opened.store.list({ ...all, after: null });
  if (row === undefined) throw new Error("an earlier test left a row");
  return row;
}

function parts(tool: Tool): object {
  return {
    name: tool.name,
    kind: tool.kind,
    intent: () => "refund:1",
    businessArguments: ["orderId"],
    contract: tool.guarded?.contract,
    execute: () => "done",
  };
}
