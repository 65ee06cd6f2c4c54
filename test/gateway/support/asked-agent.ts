/**
 * Agents whose client can be asked, in both eras: over HTTP in the newer one, and in the older one on a
 * connection that stays, as on standard input and output.
 */
import { Client } from "@modelcontextprotocol/client";
import { InMemoryTransport } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { createAgentServer } from "../../../src/gateway/agent-server.ts";
import type { Gateway } from "../../../src/gateway/gateway.ts";
import type { GatewayWorld } from "./gateway-world.ts";

/** What the client's person answers. */
export type OnAsked = (question: {
  readonly message: string;
  readonly requestedSchema: Readonly<Record<string, unknown>>;
}) => Record<string, unknown> | Promise<Record<string, unknown>>;

export const eras = ["modern", "legacy"] as const;
export type Era = (typeof eras)[number];

/** An agent of the older era. */
export async function connectOldAgent(gateway: Gateway, onAsked: OnAsked): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const client = new Client(
    { name: "agent", version: "1" },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "legacy" } },
  );
  answerWith(client, onAsked);
  await createAgentServer(gateway, "0", { era: "legacy" }).connect(far);
  await client.connect(near);
  onTestFinished(() => client.close());
  return client;
}

/** An agent of either era whose person is asked. */
export async function connectAskedAgent(
  world: GatewayWorld,
  era: Era,
  onAsked: OnAsked,
): Promise<Client> {
  if (era === "legacy") return connectOldAgent(world.gateway, onAsked);
  const client = await world.connect({ capabilities: { elicitation: { form: {} } } });
  answerWith(client, onAsked);
  return client;
}

function answerWith(client: Client, onAsked: OnAsked): void {
  client.setRequestHandler(
    "elicitation/create",
    async ({ params }) => (await onAsked(params as never)) as never,
  );
}
