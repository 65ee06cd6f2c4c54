/**
 * What a server of the newer era tells of its changes: only to who listens, on a stream of its own. A
 * server of the older era tells everyone, unasked.
 * https://modelcontextprotocol.io/specification/2026-07-28/changelog
 *
 * @module
 */
import { type Client, SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/client";

type Members = Readonly<Record<string, unknown>>;

/** What a server may declare that it tells of, and how it is asked for and told. */
const kinds = [
  ["tools", "toolsListChanged", "notifications/tools/list_changed"],
  ["prompts", "promptsListChanged", "notifications/prompts/list_changed"],
  ["resources", "resourcesListChanged", "notifications/resources/list_changed"],
] as const;

/** How long the listening goes on, and what comes of it. */
interface Listening {
  readonly isWanted: () => boolean;
  /** Pauses before the next try; counted from 0 after each stream that was opened. */
  readonly wait: (tries: number) => Promise<void>;
  /** Called whenever a stream is open, with the notifications that come on it from now on. */
  readonly onListening: (methods: readonly string[]) => void;
}

/**
 * Listens until it isn't wanted any more. A stream that ends or is refused is opened again, for a
 * changed tool must not go unnoticed. Never rejects.
 */
export async function keepListening(client: Client, listening: Listening): Promise<void> {
  const declared = (client.getServerCapabilities() ?? {}) as Readonly<Record<string, Members>>;
  const wanted = kinds.filter(([kind]) => declared[kind]?.["listChanged"] === true);
  if (client.getProtocolEra() !== "modern" || wanted.length === 0) return;
  const filter = Object.fromEntries(wanted.map(([, name]) => [name, true]));
  let tries = 0;
  while (listening.isWanted()) {
    try {
      const stream = await client.listen(filter);
      tries = 0;
      listening.onListening(wanted.map(([, , method]) => method));
      await stream.closed;
    } catch {
      // Refused, or the connection ended: what it means for calls is found out by calls.
    }
    await listening.wait(tries);
    tries += 1;
  }
}

/** The notification's parameters without the mark of our own stream. */
export function withoutSubscription(params: Members): Members {
  const { _meta, ...rest } = params;
  const { [SUBSCRIPTION_ID_META_KEY]: _ours, ...meta } = (_meta ?? {}) as Members;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}
