/**
 * The shape of a configuration as it is written, once the schema has accepted it.
 *
 * @module
 */
import type { Json } from "../../base/plain-json.ts";
import type { IdSource } from "../../edges/mcp/caller-context.ts";
import type { NormaliserName } from "../../edges/mcp/normalisers.ts";
import type { IntentSourceName } from "../../edges/mcp/tool-policy.ts";
import type { AfterError } from "../../guard/contract.ts";
import type { Scope } from "../../intent/intent.ts";
import type { WireKeyShape } from "../../intent/wire-key.ts";
import type { Mode } from "../../ledger/decide.ts";

export interface WrittenKey {
  readonly argument?: string;
  readonly meta?: string;
  readonly header?: string;
  readonly shape?: WireKeyShape;
  readonly retention?: string;
  readonly atomic?: boolean;
  readonly afterError?: AfterError;
  readonly replaysDeclines?: boolean;
}

export interface WrittenReconcile {
  readonly tool: string;
  readonly arguments?: Readonly<Record<string, Json>>;
  readonly items?: string;
  readonly match?: Readonly<Record<string, string>>;
  readonly contains?: string;
  readonly status?: {
    readonly pointer: string;
    readonly succeeded: readonly Json[];
    readonly pending?: readonly Json[];
    readonly failed?: readonly Json[];
  };
  readonly id?: string;
  readonly lag?: string;
  readonly authoritative?: boolean;
  readonly timeout?: string;
}

export interface WrittenDefinitive {
  readonly text?: string;
  readonly pointer?: string;
  readonly equals?: Json;
}

export interface WrittenTool {
  readonly kind: "read-only" | "convergent" | "non-idempotent";
  readonly overrideHints?: boolean;
  readonly operation?: string;
  readonly scope?: Scope;
  readonly intent?: string;
  readonly intentFrom?: readonly IntentSourceName[];
  readonly businessArguments?: Readonly<
    Record<string, NormaliserName | readonly NormaliserName[] | null>
  >;
  readonly freeText?: readonly string[];
  readonly fixed?: Readonly<Record<string, Json>>;
  readonly key?: WrittenKey;
  readonly mode?: Mode;
  readonly timeout?: string;
  readonly flight?: string;
  readonly sendWithin?: string;
  readonly margin?: string;
  readonly giveUpAfter?: string;
  readonly maxResultBytes?: number;
  readonly account?: string;
  readonly wait?: string;
  readonly definitive?: readonly WrittenDefinitive[];
  readonly reconcile?: WrittenReconcile;
  readonly lookAlike?: {
    readonly rule: "warn" | "hold";
    readonly window: string;
    readonly fields?: readonly string[];
  };
  readonly approval?: { readonly argument: string; readonly above: number };
  readonly mismatch?: "names" | "values";
  readonly review?: { readonly elicit?: boolean };
}

export interface WrittenUpstream {
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocol?: "legacy" | "modern" | "auto";
  readonly requests?: readonly ("elicitation" | "sampling" | "roots")[];
}

/** See the module. */
export interface WrittenConfig {
  readonly store?: string;
  readonly schema?: string;
  readonly retention?: string;
  readonly context?: {
    readonly tenant?: IdSource;
    readonly workflowId?: IdSource;
    readonly stepId?: IdSource;
    readonly trusted?: Readonly<Record<string, IdSource>>;
    readonly keyHeaders?: readonly string[];
  };
  readonly http?: {
    readonly host?: string;
    readonly port?: number;
    readonly path?: string;
    readonly tokens?: readonly { readonly token: string; readonly tenant: string }[];
    readonly sessions?: boolean;
  };
  readonly upstreams: Readonly<Record<string, WrittenUpstream>>;
  readonly prefix?: "clash" | "always";
  readonly unlisted?: "refuse" | "pass";
  readonly tools?: Readonly<Record<string, WrittenTool>>;
  readonly review?: {
    readonly elicit?: boolean;
    readonly within?: string;
    readonly secret?: string;
  };
  readonly operationStatus?: { readonly offer?: boolean; readonly name?: string };
  readonly limits?: { readonly requestBytes?: number; readonly depth?: number };
  readonly shutdown?: string;
}
