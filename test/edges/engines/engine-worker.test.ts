/** What the worker of an engine's flows refuses before any engine is there. */
import { expect, it } from "vitest";
import { createEngineWorker } from "../../../src/edges/engines/shared/engine-worker.ts";

it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, null])(
  "keeps no approvals for a span of %s",
  (retentionMs) => {
    const options = { store: {}, guard: {}, tools: [], retentionMs };
    expect(() => createEngineWorker(options as never)).toThrow(
      expect.objectContaining({ code: "CONFIGURATION_INVALID" }),
    );
  },
);
