/**
 * Linear: issues, over the official `@linear/sdk` package.
 *
 * A create takes the new issue's id from its caller (https://github.com/linear/linear, `IssueCreateInput`),
 * so that there can be no second one. What a repeat is answered with isn't published: so it is sent once,
 * and after a doubt the issue is looked up by that id.
 *
 * @module
 */
import type { LinearClient } from "@linear/sdk";
import type { ErrorClass, LookUpAnswer } from "../../guard/contract.ts";
import { linear as contract } from "./contracts/saas.ts";
import { type AdapterOptions, type AdapterParts, difference } from "./shared/adapter.ts";
import { contractParts, lookUpFacts, refuseProvider } from "./shared/contract-parts.ts";
import { whyNotRun } from "./shared/graphql-errors.ts";
import { checkOwnMethods } from "./shared/own-methods.ts";
import { sendOnce } from "./shared/send-once.ts";

/** The parameters of an issue; the id is the adapter's. */
export type LinearIssueRequest = Omit<Parameters<LinearClient["createIssue"]>[0], "id">;

/** What is kept of an issue. */
export interface LinearIssue {
  readonly id: string;
  readonly identifier: string;
  readonly url: string;
}

/** An issue as the adapter asks for it. */
interface Shown extends LinearIssue {
  readonly title: string;
  readonly team: { readonly id: string };
}

/**
 * A tool that opens an issue.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when it gets no client.
 */
export async function linearIssue<Args>(
  linear: LinearClient,
  options: AdapterOptions<Args, LinearIssueRequest>,
): Promise<AdapterParts<Args, LinearIssue>> {
  const { request, ...bounds } = options;
  if (typeof linear?.client?.request !== "function")
    refuseProvider(contract.title, "it needs a LinearClient of the @linear/sdk package");
  checkOwnMethods(contract.title, linear.client, ["request"]);
  const find = async (
    args: Args,
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<LookUpAnswer<LinearIssue>> => {
    const asked = request(args);
    const data = await clientFor(linear, signal).request<Listed, { ids: readonly string[] }>(
      listDocument,
      { ids },
    );
    const nodes = data.issues?.nodes;
    // Anything but a list is no empty list.
    if (!Array.isArray(nodes)) throw new Error("Linear's answer holds no list");
    const ours = (nodes as readonly Shown[]).filter(({ id }) => ids.includes(id));
    if (ours.length === 0) return { answer: "absent" };
    const effects = ours.map((issue) => ({
      status: "succeeded" as const,
      result: issueOf(issue),
      providerId: issue.id,
      ...difference({
        title: [asked.title?.trim(), issue.title.trim()],
        teamId: [asked.teamId, issue.team.id],
      }),
    }));
    return { answer: "found", effects };
  };
  return {
    contract: {
      ...contractParts(contract, bounds),
      classify,
      providerId: ({ id }) => id,
      lookUp: {
        ...lookUpFacts(contract),
        find: ({ arguments: args, wireKeys, signal }) => find(args, wireKeys, signal),
      },
    },
    execute: async (args, call) => {
      const data = await sendOnce(call, (gate) => {
        const input = { ...request(args), id: call.wireKey };
        const client = clientFor(linear, call.signal);
        gate.pass();
        return client.request<Made, { input: typeof input }>(createDocument, { input });
      });
      const issue = data.issueCreate?.issue;
      if (data.issueCreate?.success !== true || issue?.id !== call.wireKey)
        throw new Error("Linear's answer holds no issue");
      return issueOf(issue);
    },
  };
}

interface Made {
  readonly issueCreate?: { readonly success?: boolean; readonly issue?: Shown };
}

interface Listed {
  readonly issues?: { readonly nodes?: unknown };
}

const fields = "id identifier url title team { id }";
const createDocument = `mutation ($input: IssueCreateInput!) {
  issueCreate(input: $input) { success issue { ${fields} } }
}`;
const listDocument = `query ($ids: [ID!]!) {
  issues(filter: { id: { in: $ids } }, includeArchived: true) { nodes { ${fields} } }
}`;

/** The same client with a signal. A redirect would be a second send, so that it is none. */
function clientFor({ client }: LinearClient, signal: AbortSignal): LinearClient["client"] {
  const { options } = client as unknown as { options?: RequestInit };
  return Object.create(client, {
    options: { value: { ...options, signal, redirect: "manual" } },
  }) as LinearClient["client"];
}

function issueOf({ id, identifier, url }: LinearIssue): LinearIssue {
  return { id, identifier, url };
}

/**
 * By Linear's own error types (https://github.com/linear/linear, packages/sdk/src/error.ts). All others prove
 * nothing, `internal error` and `lock timeout` above all.
 */
const errorClasses = new Map<unknown, ErrorClass>([
  ["invalid input", "refused"],
  ["authentication error", "not-executed"],
  ["feature not accessible", "not-executed"],
  ["forbidden", "not-executed"],
  ["ratelimited", "not-executed"],
  ["usage limit exceeded", "not-executed"],
]);

function classify(error: unknown): ErrorClass {
  const { response } = (error ?? {}) as { response?: { errors?: unknown } };
  return errorClasses.get(whyNotRun(response?.errors)?.["type"]) ?? "unknown";
}
