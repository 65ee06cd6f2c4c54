import { afterEach, beforeEach, expect } from "vitest";

import {
  createProviderClient,
  ProviderError,
  startFakeProvider,
  type CreateEffect,
  type FakeProvider,
  type ProviderClient,
} from "../../src/testing/fake-provider/index.ts";

/** One hour, in milliseconds. */
export const HOUR_MS = 3_600_000;
/** The create request most tests send. */
export const refund = { operation: "refund", body: { orderId: "8812", amountMinor: 48_000 } };

/** The provider of the running test; a fresh one for each. */
export let provider: FakeProvider;
/** A client of that provider. */
export let client: ProviderClient;

beforeEach(async () => {
  provider = await startFakeProvider();
  client = createProviderClient({ url: provider.url, timeoutMs: 5_000 });
});

afterEach(async () => {
  client.close();
  await provider.close();
});

/** The error a call rejects with; fails if it resolves. */
export async function errorOf(call: Promise<unknown>): Promise<ProviderError> {
  const outcome = await call.then(
    (value) => value,
    (error: unknown) => error,
  );
  expect(outcome).toBeInstanceOf(ProviderError);
  return outcome as ProviderError;
}

/** Creates the refund, with changes. */
export function create(
  more: Partial<CreateEffect> = {},
): ReturnType<ProviderClient["createEffect"]> {
  return client.createEffect({ ...refund, ...more });
}

/** A POST without the client; answers status, headers and JSON body. */
export async function rawPost(
  path: string,
  body: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: unknown }> {
  const response = await fetch(provider.url + path, { method: "POST", body, headers });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** A GET without the client; answers status and JSON body. */
export async function rawGet(path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(provider.url + path);
  return { status: response.status, body: await response.json() };
}
