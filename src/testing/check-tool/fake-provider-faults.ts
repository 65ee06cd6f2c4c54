/**
 * The fake provider as a sandbox that can be made to misbehave.
 *
 * @module
 */
import type { FakeProvider } from "../fake-provider/index.ts";
import type { ProviderFaults } from "./options.ts";

/** The hooks of {@link CheckOptions.faults} for a fake provider in this process. */
export function fakeProviderFaults(provider: FakeProvider): ProviderFaults {
  return {
    answer: (status, { effect }) => {
      if (status === 409 && !effect) return provider.fault({ keyInUse: true });
      if (status === 429 && !effect) return provider.fault({ rateLimited: true });
      return provider.fault({ status, effect });
    },
    dropReply: () => provider.fault({ dropReplyAfterCommit: true }),
    refuse: () => provider.fault({ decline: true }),
    advance: (spanMs) => provider.advance(spanMs),
  };
}
