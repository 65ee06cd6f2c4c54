/** Starts one PostgreSQL server for the whole vitest run: `inject("postgresUrl")` in a test. */
import type { TestProject } from "vitest/node";
import { everyPartRequired, startPostgres, warnLoudly } from "./postgres-server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The run's PostgreSQL server, or null where it can't be started (never so in CI). */
    postgresUrl: string | null;
  }
}

/** Called by vitest before the first test; what it returns is called after the last one. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  try {
    const server = await startPostgres();
    project.provide("postgresUrl", server.url);
    return () => server.stop();
  } catch (error) {
    if (everyPartRequired()) throw error;
    warnLoudly(
      `PostgreSQL can't be started, every test that needs it is SKIPPED.\n${String(error)}`,
    );
    project.provide("postgresUrl", null);
    return undefined;
  }
}
