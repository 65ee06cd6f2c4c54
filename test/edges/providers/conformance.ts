/**
 * What every adapter must hold, judged by the ledger of the provider's counterpart: one armed attempt
 * is one send, all sends are the same, each error counts for what it proves and no more, and the
 * look-up takes nothing for ours that isn't. Each adapter's test hands in a subject.
 */
import { afterAll, beforeAll, beforeEach } from "vitest";
import { z } from "zod";
import {
  type Guard,
  type JsonObject,
  type OperationRecord,
  type Tool,
  createGuard,
  defineTool,
} from "../../../src/index.ts";
import type { AdapterParts } from "../../../src/edges/providers/shared/adapter.ts";
import type { AdapterBounds } from "../../../src/edges/providers/shared/contract-parts.ts";
import { passThroughGuard } from "../../support/pass-through.ts";
import type { Counterpart } from "../../support/providers/counterpart.ts";
import { ringingRuntime } from "../../support/store-faults.ts";
import { TestClock, describeStores } from "../../support/stores.ts";
import { type Told, toldBy } from "../../support/world.ts";
import { describeErrors } from "./conformance-errors.ts";
import { describeLookUps, describeRepeats } from "./conformance-look-ups.ts";
import { type AdapterSubject, type Scene, bounds, quietMs } from "./conformance-scene.ts";
import { describeSends } from "./conformance-sends.ts";

export type { AdapterSubject } from "./conformance-scene.ts";

/** Registers the whole suite for one tool, on both stores. */
export function describeAdapter<Args extends JsonObject>(subject: AdapterSubject<Args>): void {
  describeStores(subject.title, (suite) => {
    const at = { scene: undefined as Scene | undefined, intents: 0 };
    let counterpart: Counterpart;
    let tools: Pick<Scene, "tool" | "unreachable">;
    let hasty: Tool;
    /** A guard for each tool, since a guard takes one tool of a name. */
    const guards = new Map<Tool, Guard>();
    let none: Guard;
    let read: (tenant: string) => Promise<OperationRecord>;
    const clock = new TestClock();
    const hastyRuntime = ringingRuntime(bounds.timeoutMs);

    beforeAll(async () => {
      counterpart = await subject.start();
      const { store } = await suite.open({ clock });
      none = await passThroughGuard({ store });
      const { url } = counterpart;
      const nobody = await subject.start();
      await nobody.close();
      tools = {
        tool: await adaptedTool(subject, url, bounds),
        unreachable: await adaptedTool(subject, nobody.url, bounds),
      };
      for (const tool of Object.values(tools)) guards.set(tool, await createGuard({ store }));
      hasty = await adaptedTool(subject, url, bounds);
      guards.set(hasty, await createGuard({ store, runtime: hastyRuntime }));
      read = async (tenant) => {
        const page = { review: false, limit: 1, after: null };
        const [row] = await store.list({ tenant, status: null, operation: null, ...page });
        if (row === undefined) throw new Error("nothing is recorded");
        return row;
      };
    });
    afterAll(() => counterpart.close());

    const sceneWith = (guardOf: (tool: Tool) => Guard | undefined): Scene => {
      counterpart.reset();
      at.intents += 1;
      const tenant = `tenant-${at.intents}`;
      const context = { tenant };
      const call: Scene["call"] = async (tool = tools.tool) => {
        const guard = guardOf(tool);
        if (guard === undefined) throw new Error("there is no guard for this tool");
        return (await toldBy(guard.run(tool, subject.args, context))).told;
      };
      const hastyCall: Scene["hastyCall"] = async (moment) => {
        const calling = call(hasty);
        await Promise.race([moment, calling]);
        hastyRuntime.ring();
        return calling;
      };
      const wait = (spanMs: number): void => {
        clock.advance(spanMs);
        counterpart.advance(spanMs);
      };
      const settle = async (): Promise<Told["told"]> => {
        for (let calls = 1; calls <= 10; calls += 1) {
          wait(quietMs);
          const told = await call();
          if (!["OUTCOME_UNKNOWN", "NOT_SENT"].includes(told)) return told;
        }
        return "OTHER";
      };
      return { counterpart, call, hastyCall, settle, wait, row: () => read(tenant), ...tools };
    };
    beforeEach(() => {
      at.scene = sceneWith((tool) => guards.get(tool));
    });
    const scene = (): Scene => {
      if (at.scene === undefined) throw new Error("there is no scene yet");
      return at.scene;
    };
    describeErrors(subject, scene, suite.kind);
    describeSends(subject, scene);
    describeLookUps(subject, scene);
    describeRepeats(subject, scene, () => sceneWith(() => none));
  });
}

async function adaptedTool<Args extends JsonObject>(
  subject: AdapterSubject<Args>,
  url: string,
  limits: AdapterBounds,
): Promise<Tool> {
  const fields = Object.keys(subject.args) as [string, ...string[]];
  const { contract, execute } = (await subject.parts(url, limits)) as unknown as AdapterParts<
    unknown,
    unknown
  >;
  return defineTool({
    name: "adapted",
    kind: "non-idempotent",
    arguments: z.looseObject({}),
    intent: () => "the one",
    businessArguments: fields,
    contract,
    execute,
  });
}
