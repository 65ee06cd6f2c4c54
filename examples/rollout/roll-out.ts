/**
 * The tool: brings an environment to a build. It looks first, changes once, and never goes back to
 * an older build.
 *
 * @module
 */
import { type RegisteredEnsureTool, defineEnsureTool } from "nevertwice";
import { type ProviderClient, ProviderError } from "nevertwice/testing";
import { z } from "zod";

const buildSchema = z.object({ environment: z.string(), build: z.int().positive() });

/** What the CI's hook tells. */
export type Build = z.infer<typeof buildSchema>;

/** The tool, on the platform's client. Its state is the build that runs now; 0 for none. */
export function rollOut(client: ProviderClient): RegisteredEnsureTool<number> {
  return defineEnsureTool({
    name: "roll_out",
    arguments: buildSchema,
    target: ({ args }) => args.environment,
    version: ({ args }) => args.build,
    businessArguments: ["environment", "build"],
    observe: async ({ environment }, { signal }) => {
      const rollOuts = await client.findEffects({ account: environment, signal });
      return Number(rollOuts.at(-1)?.["build"] ?? 0);
    },
    isConverged: (running, { build }) => running === build,
    apply: async ({ environment, build }, call) => {
      try {
        return await client.createEffect({
          operation: "roll-out",
          account: environment,
          body: { build },
          key: call.wireKey,
          signal: call.signal,
          beforeWrite: call.beforeWrite,
        });
      } catch (error) {
        throw error instanceof ProviderError && !error.wroteBytes ? call.notSent(error) : error;
      }
    },
    contract: { timeoutMs: 2000, flightMs: 1000, marginMs: 200 },
  });
}
