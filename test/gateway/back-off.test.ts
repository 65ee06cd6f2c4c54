/**
 * A server that comes up and ends at once, over and over: it is left alone for longer each time, and
 * as at first again when it has stayed.
 */
import { InMemoryTransport, Server } from "@modelcontextprotocol/server";
import { expect, it } from "vitest";
import { systemRuntime } from "../../src/base/runtime.ts";
import { UpstreamConnection } from "../../src/edges/mcp/upstream-connection.ts";

it("the pauses before each new start are doubled until a connection has lasted", async () => {
  let nowMs = 0;
  const waits: number[] = [];
  let startAgain = (): void => {};
  let server: Server | undefined;
  const connection = new UpstreamConnection({
    name: "shop",
    openTransport: () => {
      const [near, far] = InMemoryTransport.createLinkedPair();
      server = new Server({ name: "shop", version: "1" }, { capabilities: { tools: {} } });
      void server.connect(far);
      return near;
    },
    protocol: "legacy",
    clientInfo: { name: "test", version: "0" },
    clientCapabilities: {},
    backOffMs: { first: 100, last: 1000 },
    runtime: {
      ...systemRuntime,
      monotonicMs: () => nowMs,
      // Chance takes nothing off a pause.
      randomId: () => "000000",
      after: (spanMs, callback) => {
        waits.push(spanMs);
        startAgain = callback;
        return () => {};
      },
    },
  });
  await connection.start();
  for (const livedMs of [5, 5, 5, 5, 5, 1000, 5]) {
    await expect.poll(() => connection.state).toBe("up");
    nowMs += livedMs;
    await server?.close();
    startAgain();
  }
  expect(waits).toEqual([100, 200, 400, 800, 1000, 100, 200]);
  await connection.close();
});
