/**
 * The faults: what goes wrong with one call on its way, and what a client then does. Clients repeat a
 * call whose answer they didn't get, with a new id; the protocol's revision 2026-07-28 says so.
 * https://modelcontextprotocol.io/specification/2026-07-28/changelog
 *
 * @module
 */
import { setTimeout as pause } from "node:timers/promises";
import type { ChaosServer } from "./chaos-server.ts";

type Members = Readonly<Record<string, unknown>>;

/** What a fault may do. */
export interface FaultScene {
  /** The server as it is connected now. */
  readonly server: () => ChaosServer;
  /** Gives up the connection and opens a new one. */
  readonly reconnect: () => Promise<void>;
  /** Sends the call once more, with another id. An error is an answer, too: it never rejects. */
  readonly send: (cancel?: AbortSignal) => Promise<Members>;
}

/** One thing that goes wrong. */
export interface Fault {
  readonly name: FaultName;
  /** What happens, in a sentence for people. */
  readonly story: string;
  /** True: it needs a process of ours. */
  readonly kills?: true;
  /** Plays it; gives the answers that the client got in the end. */
  play(scene: FaultScene): Promise<readonly Members[]>;
}

/** In the order in which they are played. */
export const faultNames = [
  "none",
  "reply-lost",
  "unavailable",
  "duplicated",
  "timed-out",
  "killed",
] as const;
export type FaultName = (typeof faultNames)[number];

/** How far apart a client was seen to send one call twice. */
const apartMs = 3;

/** All faults. */
export const faults: readonly Fault[] = [
  {
    name: "none",
    story: "nothing goes wrong",
    play: async ({ send }) => [await send()],
  },
  {
    name: "reply-lost",
    story: "the connection breaks after the effect; the client connects and sends again",
    play: async ({ send, reconnect }) => {
      await send();
      await reconnect();
      return [await send()];
    },
  },
  {
    name: "unavailable",
    story: "a proxy answers 503 after the effect; the client sends again",
    play: async ({ send }) => {
      await send();
      return [await send()];
    },
  },
  {
    name: "duplicated",
    story: `the client sends the call twice, ${apartMs} ms apart`,
    play: async ({ send }) => {
      const first = send();
      await pause(apartMs);
      return Promise.all([first, send()]);
    },
  },
  {
    name: "timed-out",
    story: "the reply is slower than the client's time-out; the client withdraws and sends again",
    play: async ({ send }) => {
      const withdrawal = new AbortController();
      const first = send(withdrawal.signal);
      await Promise.race([first, pause(apartMs)]);
      withdrawal.abort();
      await first;
      return [await send()];
    },
  },
  {
    name: "killed",
    story: "the process is killed after the effect; the client starts it and sends again",
    kills: true,
    play: async ({ send, server, reconnect }) => {
      await send();
      server().kill?.();
      await reconnect();
      return [await send()];
    },
  },
];
