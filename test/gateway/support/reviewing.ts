/**
 * Scenarios in which a person decides in the agent's client: what is asked there, what is answered, and
 * what the journal says of it.
 */
import type { Client } from "@modelcontextprotocol/client";
import { expect } from "vitest";
import type { OperationRecord } from "../../../src/index.ts";
import { type Era, type OnAsked, connectAskedAgent } from "./asked-agent.ts";
import type { GatewayWorld } from "./gateway-world.ts";

export const carried = "    key: { argument: idempotency_key }\n";
export const approval = `${carried}    approval: { argument: amount_minor, above: 20000 }`;
export const elicit = "review: { elicit: true }";
export const asking = { policy: approval, config: elicit };

export function says(decision: string, reason = "asked the customer"): Record<string, unknown> {
  return { action: "accept", content: { decision, reason } };
}

/** An agent, and the messages that its person was shown. */
export async function asked(
  world: GatewayWorld,
  era: Era,
  onAsked: OnAsked,
): Promise<{ agent: Client; shown: string[] }> {
  const shown: string[] = [];
  const agent = await connectAskedAgent(world, era, (question) => {
    shown.push(question.message);
    return onAsked(question);
  });
  return { agent, shown };
}

export async function onlyRow(world: GatewayWorld): Promise<OperationRecord> {
  const rows = await world.rows();
  expect(rows).toHaveLength(1);
  return rows[0] as OperationRecord;
}

/** Who decided what, by the journal. */
export async function decisionsIn(
  world: GatewayWorld,
): Promise<readonly Record<string, unknown>[]> {
  const { tenant, key } = await onlyRow(world);
  const lines = await world.opened.store.readJournal({ tenant, key, after: null, limit: 100 });
  return lines
    .filter(({ event }) => event === "review.resolved")
    .map(({ detail }) => JSON.parse(detail) as Record<string, unknown>);
}
