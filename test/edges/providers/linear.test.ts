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
  passing: {
    credentials: [[401]],
    permission: [[403], [400, "feature not accessible"]],
    rate: [[429]],
    quota: [[400, "usage limit exceeded"]],
  },
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

it("an error below the mutation proves nothing, since it has run by then", async () => {
  const { contract } = await linearIssue(new LinearClient({ apiKey: "lin_1" }), {
    request: () => ({ teamId: "t" }),
    timeoutMs: 1000,
    flightMs: 1000,
  });
  const proves = (path: string[]): unknown =>
    contract.classify?.({ response: { errors: [{ path, extensions: { type: "forbidden" } }] } });
  expect(proves(["issueCreate"])).toBe("not-executed");
  expect(proves(["issueCreate", "issue", "team"])).toBe("unknown");
});
