/**
 * A bench for flows without a provider: one flow, its runner, and other processes with other code.
 */
import {
  type Flow,
  type FlowContext,
  type Flows,
  type FlowsOptions,
  createFlows,
  createGuard,
  flow,
} from "../../src/index.ts";
import { type OpenStore, type StoreSuite, TestClock } from "./stores.ts";

export type Body = (f: FlowContext) => Promise<unknown>;

export interface Bench {
  readonly opened: OpenStore;
  readonly clock: TestClock;
  readonly flows: Flows;
  readonly made: Flow<never>;
  /** Another process: the same code, or other code under the same name. */
  another(body?: Body, options?: Partial<FlowsOptions>): Promise<Flows>;
}

export async function openBench(suite: StoreSuite, body: Body): Promise<Bench> {
  const clock = new TestClock();
  const opened = await suite.open({ clock });
  const guard = await createGuard({ store: opened.store });
  const made = flow("bench", body);
  return {
    opened,
    clock,
    made,
    flows: createFlows({ store: opened.store, guard, flows: [made] }),
    another: async (other = body, options = {}) =>
      createFlows({
        store: await opened.again(),
        guard,
        flows: [flow("bench", other)],
        ...options,
      }),
  };
}
