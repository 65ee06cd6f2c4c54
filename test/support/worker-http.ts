/**
 * A worker that is a service: `POST /refunds` under an idempotency key, with an effect at the provider.
 * Started by `startWorker("worker-http.ts")`.
 */
import { type IncomingMessage, type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type HttpLookUp, createHttpEdge, nodeHandler } from "../../src/edges/http/index.ts";
import { createGuard } from "../../src/index.ts";
import {
  type ProviderClient,
  createProviderClient,
} from "../../src/testing/fake-provider/index.ts";
import { passThroughGuard } from "./pass-through.ts";
import { obey } from "./worker-commands.ts";
import { type Place, openPlace } from "./worker-place.ts";

/** What the service needs to begin. */
export interface ServeOrder {
  readonly place: Place;
  readonly providerUrl: string;
  /** Whether the service can find out what became of a request. */
  readonly looks: boolean;
  readonly passThrough: boolean;
}

let server: Server | undefined;

const commands = {
  /** Starts the service in place of an earlier one, and tells its URL. */
  serve: async ({ place, providerUrl, looks, passThrough }: ServeOrder): Promise<string> => {
    server?.closeAllConnections();
    server?.close();
    const client = createProviderClient({ url: providerUrl });
    const create = passThrough ? passThroughGuard : createGuard;
    const guard = await create({ store: openPlace(place) });
    const http = createHttpEdge<IncomingMessage>({
      guard,
      tenant: () => "acme",
      principal: () => "user-1",
      policyUrl: "/idempotency",
    });
    const bounds = { timeoutMs: 30_000, flightMs: 10_000, marginMs: 1000 };
    const route = http.route(
      {
        name: "refunds.create",
        key: "required",
        contract: looks ? { ...bounds, lookUp: lookUpAt(client) } : bounds,
      },
      async (request, { operation }) => {
        const body = (await request.json()) as never;
        const tag = operation?.call.key ?? "none";
        const effect = await client.createEffect({ operation: "refund", body, tag });
        return answerOf(effect);
      },
    );
    const handler = nodeHandler(route);
    const started = createServer((request, response) => void handler(request, response));
    server = started;
    await new Promise<void>((resolve) => started.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(started.address() as AddressInfo).port}/refunds`;
  },
};

/** The commands of this worker. */
export type HttpCommands = typeof commands;

function answerOf({ id }: { readonly id: string }): Response {
  return Response.json({ refund: id }, { status: 201, headers: { location: `/refunds/${id}` } });
}

function lookUpAt(client: ProviderClient): HttpLookUp {
  return {
    lagMs: 0,
    authoritative: true,
    find: async ({ key, signal }) => {
      const found = await client.findEffects({ tag: key, signal });
      if (found.length === 0) return { answer: "absent" };
      const effects = found.map((effect) => ({
        status: "succeeded" as const,
        providerId: effect.id,
        response: answerOf(effect),
      }));
      return { answer: "found", effects };
    },
  };
}

obey(commands);
