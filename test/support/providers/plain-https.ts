/**
 * For SDKs that speak only TLS, to hosts of their own: they get to a counterpart in the clear. Everything
 * else of theirs stays as it is.
 */
import http from "node:http";
import https from "node:https";
import { afterAll, beforeAll, vi } from "vitest";

/** A host name that starts so leads to this counterpart. */
export function plainHostOf(url: string): string {
  return `p${new URL(url).port}`;
}

/** Call it at the top of a test's file. */
export function usePlainHttps(): void {
  beforeAll(() => {
    vi.spyOn(https, "request").mockImplementation(((options: https.RequestOptions) => {
      const port = /^p(\d+)\b/.exec(String(options.hostname))?.[1];
      const local = { hostname: "127.0.0.1", port, protocol: "http:", agent: undefined };
      return http.request({ ...options, ...local });
    }) as typeof https.request);
  });
  afterAll(() => void vi.restoreAllMocks());
}
