/**
 * What a configuration says, checked. Spans in milliseconds.
 *
 * @module
 */
import type { ContextPolicy } from "../../edges/mcp/caller-context.ts";
import type { ToolPolicy } from "../../edges/mcp/tool-policy.ts";

/** How to reach an upstream server. */
export type UpstreamSpec = {
  readonly name: string;
  readonly protocol: "legacy" | "modern" | "auto";
  readonly requests: readonly ("elicitation" | "sampling" | "roots")[];
} & (
  | {
      readonly kind: "command";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd?: string;
    }
  | {
      readonly kind: "url";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
);

/** Where agents come in by HTTP. */
export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly tokens: readonly { readonly token: string; readonly tenant: string }[];
  /** True: agents of the older era are given sessions. */
  readonly sessions?: boolean;
}

/** How a person is asked in the agent's client; whether, each policy says. */
export interface ReviewConfig {
  /** How long an answer counts. */
  readonly withinMs: number;
  /** Seals what travels through the client. Absent: drawn at start. */
  readonly secret?: string;
}

/** A configuration. */
export interface GatewayConfig {
  readonly file: string;
  readonly store?: string;
  readonly schema?: string;
  readonly retentionMs?: number;
  readonly context: ContextPolicy;
  readonly http?: HttpConfig;
  readonly upstreams: ReadonlyMap<string, UpstreamSpec>;
  readonly prefix: "clash" | "always";
  readonly unlisted: "refuse" | "pass";
  /** By `server/tool`. */
  readonly policies: ReadonlyMap<string, ToolPolicy>;
  readonly review: ReviewConfig;
  /** What the gateway's own tool is called; absent: it is not offered. */
  readonly operationStatus?: string;
  readonly limits: { readonly requestBytes: number; readonly depth: number };
  readonly shutdownMs: number;
}
