/**
 * Issues over the official SDK and real HTTP: the issue's id is the key, one send, found again by it.
 */
import { LinearClient } from "@linear/sdk";
import { expect, it } from "vitest";
import { linearIssue } from "../../../src/edges/providers/linear.ts";
import { linearBodyOf, startLinear } from "../../support/providers/linear.ts";
import { describeAdapter } from "./conformance.ts";

describeAdapter({
  title: "Linear issues",
  args: { title: "It is broken" },
  start: startLinear,
  parts: (url, bounds) =>
    linearIssue(new LinearClient({ apiKey: "lin_1", apiUrl: `${url}/graphql` }), {
      ...bounds,
      request: ({ title }) => ({ teamId: "team-1", title }),
    }),
  tagOf: (send) => linearBodyOf(send).variables.input?.["id"],
  classes: { 400: "refused", 401: "not-executed", 403: "not-executed", 429: "not-executed" },
  keepsError: () => false,
  foreign: (resource) => ({ ...resource, id: "somebody-else's" }),
  differing: (resource) => ({ ...resource, title: "another" }),
});

it("what is no client makes no tool", async () => {
  const options = { request: () => ({ teamId: "t" }), timeoutMs: 1000, flightMs: 1000 };
  for (const client of [undefined, {}]) {
    await expect(linearIssue(client as never, options)).rejects.toMatchObject({
      code: "TOOL_INVALID",
    });
  }
});
