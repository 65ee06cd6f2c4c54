/**
 * The idempotency policy of a service, for machines. The draft wants it published, expiry included
 * (draft-ietf-httpapi-idempotency-key-header-07, sections 2.3 and 2.5.2).
 *
 * @module
 */
import type { KeyForms } from "./key-header.ts";
import { keyHeader, maxKeyLength } from "./key-header.ts";
import { type ProblemStyle, type ProblemName, problemTable } from "./problems.ts";
import type { FingerprintRule } from "./request-body.ts";

/** What the document tells of one route. */
export interface PolicyRoute {
  readonly name: string;
  readonly key: "required" | "optional";
  readonly fingerprint: {
    readonly body: "whole" | "picked" | readonly string[];
    readonly query: "whole" | readonly string[];
  };
  readonly replayedHeaders: readonly string[];
  readonly maxBodyBytes: number;
  readonly maxStoredBytes: number;
  /** How long this route's answers are given again; one with `transact` may differ from the others. */
  readonly settledAfterSeconds: number;
}

/** A route as it was registered. */
export type RegisteredRoute = Omit<PolicyRoute, "settledAfterSeconds"> & {
  /** Where a route keeps its answers by itself; else the guard's span counts. */
  readonly retentionMs: number | undefined;
};

/** The document. Spans in seconds, as HTTP has them. */
export interface PolicyDocument {
  readonly specification: "draft-ietf-httpapi-idempotency-key-header-07";
  readonly header: {
    readonly name: typeof keyHeader;
    readonly forms: KeyForms;
    readonly maxLength: number;
    readonly characters: "visible ASCII";
  };
  /** What makes two keys one. */
  readonly scope: readonly ["tenant", "principal", "method", "path"];
  readonly expiry: {
    /**
     * A settled request's answer is given again for at least this long, on every route; once it is
     * purged the key gets 410.
     */
    readonly settledAfterSeconds: number;
    /** What is not settled is never forgotten. */
    readonly unsettled: "never";
  };
  readonly replay: { readonly header: "Idempotent-Replayed"; readonly value: "true" };
  readonly safeMethods: readonly ["GET", "HEAD", "OPTIONS"];
  readonly problems: readonly {
    readonly type: string;
    readonly status: number;
    readonly title: string;
    readonly code: string;
  }[];
  readonly routes: readonly PolicyRoute[];
}

/** Builds the document. */
export function policyDocument(
  style: ProblemStyle,
  options: { readonly keyForms: KeyForms; readonly retentionMs: number },
  registered: readonly RegisteredRoute[],
): PolicyDocument {
  const routes = registered.map(({ retentionMs = options.retentionMs, ...route }) => ({
    ...route,
    settledAfterSeconds: inSeconds(retentionMs),
  }));
  const kept = [inSeconds(options.retentionMs)].concat(
    routes.map(({ settledAfterSeconds }) => settledAfterSeconds),
  );
  const base = style.policyUrl.replace(/#.*$/, "");
  return {
    specification: "draft-ietf-httpapi-idempotency-key-header-07",
    header: {
      name: keyHeader,
      forms: options.keyForms,
      maxLength: maxKeyLength,
      characters: "visible ASCII",
    },
    scope: ["tenant", "principal", "method", "path"],
    expiry: { settledAfterSeconds: Math.min(...kept), unsettled: "never" },
    replay: { header: "Idempotent-Replayed", value: "true" },
    safeMethods: ["GET", "HEAD", "OPTIONS"],
    problems: (Object.keys(problemTable) as ProblemName[]).map((name) => ({
      type: `${base}#${name}`,
      ...problemTable[name],
      ...style.changes[name],
    })),
    routes,
  };
}

/** A promise, so it is rounded down. */
function inSeconds(spanMs: number): number {
  return Math.floor(spanMs / 1000);
}

/** What the document tells of a fingerprint. */
export function fingerprintOfPolicy(rule: FingerprintRule): PolicyRoute["fingerprint"] {
  return {
    body: rule.pick === undefined ? (rule.fields ?? "whole") : "picked",
    query: rule.query ?? "whole",
  };
}
