/**
 * What scenarios of flows share: a runner on the scenario's store and guard, a scripted model that
 * counts how often it is asked, and the article's ticket.
 */
import {
  type Flow,
  type Flows,
  type FlowsOptions,
  createFlows,
  isNeverTwiceError,
} from "../../src/index.ts";
import type { World } from "./world.ts";

export const ticket = { orderId: "8812", ticketId: "5521", text: "It arrived broken." };
export const run = { tenant: "acme", runId: "ticket-5521" };

/** The business decision, worded anew by every prompt. */
export interface Decision {
  readonly orderId: string;
  readonly ticketId: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly reason: string;
}

/** A model that counts its prompts. */
export interface ScriptedModel {
  readonly ask: () => Promise<Decision>;
  readonly prompts: () => number;
}

export function scriptedModel(): ScriptedModel {
  let prompts = 0;
  return {
    ask: async () => {
      prompts += 1;
      const { orderId, ticketId } = ticket;
      return {
        orderId,
        ticketId,
        amountMinor: 48_000,
        currency: "EUR",
        reason: `words ${prompts}`,
      };
    },
    prompts: () => prompts,
  };
}

/** A runner on the scenario's store and guard: a process that has the flows' code. */
export function flowsOf(
  world: World,
  flows: readonly Flow<never>[],
  options: Partial<FlowsOptions> = {},
): Flows {
  return createFlows({ store: world.opened.store, guard: world.guard, flows, ...options });
}

/** Works until nothing is due any more, moving the clock on to what waits for a time. */
export async function workOn(world: World, flows: Flows, passes = 1): Promise<void> {
  for (let pass = 0; pass < passes; pass += 1) {
    await flows.workOnce();
    world.advance(60_000);
  }
}

/** The code of what was thrown; `nothing` when nothing was. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
    return "nothing";
  } catch (error) {
    return isNeverTwiceError(error) ? error.code : `other: ${String(error)}`;
  }
}
