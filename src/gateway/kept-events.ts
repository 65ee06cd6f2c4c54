/**
 * What was written to a session's streams, so that a client whose stream broke fetches the rest.
 *
 * @module
 */
import type { EventStore, JSONRPCMessage } from "@modelcontextprotocol/server";

interface KeptEvent {
  readonly streamId: string;
  readonly message: JSONRPCMessage;
}

/** Keeps the last events of one session in memory. */
export class KeptEvents implements EventStore {
  readonly #most: number;
  readonly #events = new Map<string, KeptEvent>();
  #last = 0;

  constructor(most = 500) {
    this.#most = most;
  }

  async storeEvent(streamId: string, message: JSONRPCMessage): Promise<string> {
    const id = String((this.#last += 1));
    this.#events.set(id, { streamId, message });
    const [oldest] = this.#events.keys();
    if (this.#events.size > this.#most && oldest !== undefined) this.#events.delete(oldest);
    return id;
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#events.get(id)?.streamId;
  }

  /** @throws when the event is not kept any more: then nobody knows what came after it. */
  async replayEventsAfter(
    lastId: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#events.get(lastId);
    if (last === undefined) throw new Error("this event is not kept any more");
    for (const [id, { streamId, message }] of this.#events) {
      const isLater = Number(id) > Number(lastId) && streamId === last.streamId;
      // A priming event says nothing.
      if (isLater && Object.keys(message).length > 0) await send(id, message);
    }
    return last.streamId;
  }
}
