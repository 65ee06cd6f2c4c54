/**
 * The GitHub tools over the official SDK and real HTTP: no key, one send, found again by a tag.
 */
import { Octokit } from "@octokit/rest";
import { describe, expect, it } from "vitest";
import type { ErrorClass } from "../../../src/index.ts";
import {
  githubDeployment,
  githubIssue,
  githubRelease,
} from "../../../src/edges/providers/github.ts";
import type { Send } from "../../support/providers/counterpart.ts";
import { startGithub } from "../../support/providers/github.ts";
import { type AdapterSubject, describeAdapter } from "./conformance.ts";

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** With what Octokit's retry plugins do: the adapter has to keep them in check. */
function connect(url: string): Octokit {
  const octokit = new Octokit({ auth: "ghp_1", baseUrl: url, log });
  octokit.hook.wrap("request", async (request, options) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await request(options);
      } catch (error) {
        const { status = 0 } = error as { status?: number };
        if (tries === 3 || options.method === "GET" || (status < 500 && status !== 429))
          throw error;
      }
    }
  });
  return octokit;
}

const classes: Readonly<Record<number, ErrorClass>> = {
  400: "refused",
  401: "not-executed",
  403: "not-executed",
  404: "not-executed",
  422: "refused",
  429: "not-executed",
};

function markedKey({ body }: Send): unknown {
  return /nevertwice_key: ([0-9a-f]+) -->/.exec(JSON.parse(body).body as string)?.[1];
}

const repository = { owner: "acme", repo: "shop" };
const common = {
  start: startGithub,
  tagOf: markedKey,
  classes,
  passing: { credentials: [[401]], permission: [[403], [404]], rate: [[429], [422, "abuse"]] },
  keepsError: () => false,
  twin: (resource) => ({ ...resource, id: Number(resource["id"]) + 500 }),
  foreign: (resource) => ({ ...resource, id: 4711, body: "by a person", payload: {} }),
  differing: (resource) => ({ ...resource, title: "another", tag_name: "v9", environment: "x" }),
} satisfies Partial<AdapterSubject<{ title: string }>>;

describeAdapter({
  ...common,
  title: "GitHub deployments",
  args: { ref: "v1.2.3" },
  parts: (url, bounds) =>
    githubDeployment(connect(url), {
      ...bounds,
      request: ({ ref }) => ({
        ...repository,
        ref,
        environment: "production",
        payload: { order: "8812" },
      }),
    }),
  tagOf: ({ body }) =>
    (JSON.parse(body) as { payload: Record<string, unknown> }).payload["nevertwice_key"],
});

describeAdapter({
  ...common,
  title: "GitHub releases",
  args: { version: "v1.2.3" },
  parts: (url, bounds) =>
    githubRelease(connect(url), {
      ...bounds,
      request: ({ version }) => ({ ...repository, tag_name: version, body: "What is new" }),
    }),
});

describeAdapter({
  ...common,
  title: "GitHub issues",
  args: { title: "It is broken" },
  parts: (url, bounds) =>
    githubIssue(connect(url), { ...bounds, request: ({ title }) => ({ ...repository, title }) }),
});

describe("a GitHub tool", () => {
  const request = (): { owner: string; repo: string; title: string } => ({
    ...repository,
    title: "t",
  });
  const options = { request, timeoutMs: 1000, flightMs: 1000 };

  it("isn't made of an instance without auth", async () => {
    await expect(githubIssue(new Octokit({ log }), options)).rejects.toMatchObject({
      code: "TOOL_INVALID",
    });
  });

  it("finds its issue behind the first page, and says absent only at the end of the list", async () => {
    const counterpart = await startGithub();
    const { contract, execute } = await githubIssue(connect(counterpart.url), options);
    const key = "ab".repeat(32);
    const question = {
      tenant: "acme",
      key,
      wireKeys: [],
      arguments: {},
      signal: new AbortController().signal,
    };
    const find = async (): Promise<unknown> => contract.lookUp?.find(question);
    expect(await find()).toEqual({ answer: "absent" });
    const call = { key, beforeWrite: () => {}, signal: question.signal } as never;
    const { id } = await execute({}, call);
    const others = (count: number): void => {
      for (let other = 1; other <= count; other += 1) {
        counterpart.plant({ id: 10_000 + other, kind: "issues", title: "o", body: null });
      }
    };
    others(250);
    expect(await find()).toMatchObject({ answer: "found", effects: [{ providerId: String(id) }] });
    others(1900);
    expect(await find()).toMatchObject({ answer: "unsure" });
    await counterpart.close();
  });

  it("knows a limit in the clothes of a validation error", async () => {
    const { contract } = await githubIssue(new Octokit({ auth: "ghp_1", log }), options);
    const proves = (...errors: object[]): unknown =>
      contract.classify?.({
        status: 422,
        response: { headers: { "x-github-request-id": "A:1" }, data: { errors } },
      });
    expect(proves({ message: "was submitted too quickly" })).toBe("not-executed");
    expect(proves({ code: "already_exists" })).toBe("refused");
  });

  it("doesn't deploy by merging", async () => {
    const counterpart = await startGithub();
    const { execute } = await githubDeployment(connect(counterpart.url), {
      ...options,
      request: () => ({ ...repository, ref: "main" }),
    });
    const { signal } = new AbortController();
    await execute({}, { key: "k", beforeWrite: () => {}, signal } as never);
    expect(JSON.parse(counterpart.sends[0]?.body ?? "")).toEqual({
      ref: "main",
      auto_merge: false,
      required_contexts: [],
      payload: { nevertwice_key: "k" },
    });
    await counterpart.close();
  });
});
