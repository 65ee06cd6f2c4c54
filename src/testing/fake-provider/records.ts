import type { JsonObject } from "./json.ts";

/** A request to create an effect, as it came over the wire. */
export interface CreateRequest {
  readonly operation: string;
  readonly key: string | null;
  readonly tag: string | null;
  readonly account: string | null;
  /** The body, byte for byte (read as UTF-8). */
  readonly bodyText: string;
  /** The headers worth judging, lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A create request that reached the provider, whatever became of it. */
export interface Arrival extends CreateRequest {
  /** Place in the order of all arrivals and look-ups, from 1. */
  readonly sequence: number;
  readonly atMs: number;
  /** False if the client left before its body was whole: such a request is never executed. */
  readonly complete: boolean;
}

/** What a look-up asks for; every part given must match. */
export interface LookUpQuery {
  readonly tag?: string;
  readonly key?: string;
  readonly account?: string;
}

/** A look-up that reached the provider; `effectId` for `GET /effects/:id`. */
export interface LookUpArrival {
  /** Place in the order of all arrivals and look-ups, from 1. */
  readonly sequence: number;
  readonly atMs: number;
  readonly query: LookUpQuery;
  readonly effectId: string | null;
}

/** One effect: money that moved. The ledger only ever grows, and it is the judge of every test. */
export interface LedgerRow {
  readonly effectId: string;
  readonly atMs: number;
  readonly operation: string;
  /** The header as sent, even when the provider ignores it. */
  readonly key: string | null;
  readonly tag: string | null;
  readonly body: JsonObject;
  readonly account: string | null;
}

/** How often things happened since the start or the last reset. */
export interface ProviderCounters {
  readonly arrivals: number;
  readonly lookUps: number;
  readonly effects: number;
  /** Requests answered from the key table with the stored answer. */
  readonly replays: number;
  /** Requests answered with an error of the provider's own: refusals, declines, faults. */
  readonly errors: number;
}
