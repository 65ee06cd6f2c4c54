/**
 * The faults: what goes wrong with one call on its way between a client and a server. Clients repeat a
 * call whose answer they didn't get, with a new id; the protocol's revision 2026-07-28 says so.
 * https://modelcontextprotocol.io/specification/2026-07-28/changelog
 *
 * @module
 */
import { setTimeout as pause } from "node:timers/promises";

/** In the order in which they are played. */
export const faultNames = [
  "none",
  "reply-lost",
  "unavailable-before",
  "unavailable-after",
  "duplicated",
  "timed-out",
  "killed",
] as const;
export type FaultName = (typeof faultNames)[number];

/** How far apart a client was seen to send one call twice. */
const apartMs = 3;

/** What happens, in a sentence for people. */
export const faultStories: Readonly<Record<FaultName, string>> = {
  none: "nothing goes wrong",
  "reply-lost": "the reply is lost after the effect",
  "unavailable-before": "HTTP 503, and the call never reached the server",
  "unavailable-after": "HTTP 503 after the effect",
  duplicated: `the call arrives twice, ${apartMs} ms apart, with two ids`,
  "timed-out": "the reply comes after the client's time-out",
  killed: "the process is killed after the effect, before the reply",
};

/** How clients reach the proxy, and how the proxy reaches the server. */
export interface ProxyShape {
  readonly front: "stdio" | "http";
  readonly back: "command" | "url";
}

/** The faults that can be played there: a 503 needs HTTP, and killing needs a process of ours. */
export function playableFaults({ front, back }: ProxyShape): readonly FaultName[] {
  return faultNames.filter((name) => {
    if (name.startsWith("unavailable")) return front === "http";
    return name !== "killed" || back === "command";
  });
}

/** One call that a fault strikes. */
export interface StruckCall<Reply> {
  /** Sends it to the server, and resolves with the whole reply. */
  readonly send: () => Promise<Reply>;
  /** Sends it once more, with another id. */
  readonly sendTwin: () => Promise<Reply>;
  /** Ends the server's process at once. */
  readonly kill: () => void;
  /** Resolves when the effect shows, which may be before the reply. */
  readonly effectSeen?: ((stop: AbortSignal) => Promise<void>) | undefined;
  /** How long a late reply is held back. */
  readonly holdMs: number;
}

/** What the client gets. */
export type StruckOutcome<Reply> =
  | { readonly told: "reply"; readonly reply: Reply }
  | { readonly told: "nothing" }
  | { readonly told: "unavailable" };

const nothing = { told: "nothing" } as const;
const unavailable = { told: "unavailable" } as const;

/** Plays a fault on one call. Rejects when the server gave no reply of its own accord. */
export async function strike<Reply>(
  fault: FaultName,
  call: StruckCall<Reply>,
): Promise<StruckOutcome<Reply>> {
  switch (fault) {
    case "none":
      return { told: "reply", reply: await call.send() };
    case "reply-lost":
      await call.send();
      return nothing;
    case "unavailable-before":
      return unavailable;
    case "unavailable-after":
      await call.send();
      return unavailable;
    case "duplicated":
      return { told: "reply", reply: await sendTwice(call) };
    case "timed-out": {
      const reply = await call.send();
      await pause(call.holdMs, undefined, { ref: false });
      return { told: "reply", reply };
    }
    case "killed":
      await killAfterEffect(call);
      return nothing;
  }
}

/** The client waits for one of them; what becomes of the other it never hears. */
async function sendTwice<Reply>(call: StruckCall<Reply>): Promise<Reply> {
  const first = call.send();
  first.catch(() => {});
  await pause(apartMs);
  call.sendTwin().catch(() => {});
  return first;
}

/** The effect has happened when it shows, and at the latest when the reply is there. */
async function killAfterEffect<Reply>(call: StruckCall<Reply>): Promise<void> {
  const watch = new AbortController();
  const sent = call.send();
  sent.catch(() => {});
  await Promise.race([
    sent,
    ...(call.effectSeen === undefined ? [] : [call.effectSeen(watch.signal)]),
  ]);
  watch.abort();
  call.kill();
}
