/**
 * GitHub: deployments, releases and issues, over the official `@octokit/rest` package.
 *
 * GitHub takes no key (https://docs.github.com/rest), so each is sent once, with the operation's key in
 * its payload or body, and looked for in a list after a doubt. The search index lags and is not used.
 *
 * @module
 */
import type { Octokit, RestEndpointMethodTypes } from "@octokit/rest";
import {
  type AdapterOptions,
  type AdapterParts,
  difference,
  isObject,
  tagName,
} from "./shared/adapter.ts";
import { githubDeployments, githubIssues, githubReleases } from "./contracts/saas.ts";
import { githubTool, markerOf, tagBody } from "./shared/github-tool.ts";

type Repos = RestEndpointMethodTypes["repos"];
type Deployment = Repos["listDeployments"]["response"]["data"][number];

/** Which repository. */
interface Repository {
  readonly owner: string;
  readonly repo: string;
}

/** Parameters of a deployment. Its payload is an object, for the operation's key to fit in. */
export interface GithubDeploymentRequest extends Repository {
  readonly ref: string;
  readonly task?: string;
  readonly environment?: string;
  readonly description?: string;
  readonly payload?: Readonly<Record<string, unknown>>;
  readonly auto_merge?: boolean;
  readonly required_contexts?: string[];
  readonly transient_environment?: boolean;
  readonly production_environment?: boolean;
}

/** What is kept of a deployment. */
export interface GithubDeployment {
  readonly id: number;
  readonly sha: string;
  readonly ref: string;
  readonly environment: string;
  readonly url: string;
}

/**
 * A tool that creates a deployment. `auto_merge` is false and `required_contexts` empty unless `request`
 * says otherwise: with them GitHub may merge, or refuse, instead of deploying.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance is not authenticated.
 */
export async function githubDeployment<Args>(
  octokit: Octokit,
  options: AdapterOptions<Args, GithubDeploymentRequest>,
): Promise<AdapterParts<Args, GithubDeployment>> {
  const { repos } = octokit.rest;
  return githubTool(octokit, githubDeployments, options, {
    create: async ({ payload, ...params }, key, request) =>
      (
        await repos.createDeployment({
          auto_merge: false,
          required_contexts: [],
          ...params,
          payload: { ...payload, [tagName]: key },
          request,
        })
      ).data as Deployment,
    list: async ({ owner, repo, ref }, page) =>
      (await repos.listDeployments({ owner, repo, ref, ...page })).data,
    isOurs: ({ payload }, key) => isObject(payload) && payload[tagName] === key,
    resultOf: ({ id, sha, ref, environment, url }) => ({ id, sha, ref, environment, url }),
    differenceOf: (asked, found) =>
      difference({
        ref: [asked.ref, found.ref],
        environment: [asked.environment, found.environment],
        task: [asked.task, found.task],
      }),
  });
}

/** Parameters of a release. */
export interface GithubReleaseRequest extends Repository {
  readonly tag_name: string;
  readonly target_commitish?: string;
  readonly name?: string;
  readonly body?: string;
  readonly draft?: boolean;
  readonly prerelease?: boolean;
  readonly generate_release_notes?: boolean;
  readonly make_latest?: "true" | "false" | "legacy";
}

/** What is kept of a release. */
export interface GithubRelease {
  readonly id: number;
  readonly tagName: string;
  readonly draft: boolean;
  readonly url: string;
}

/**
 * A tool that creates a release. Its body ends with the operation's key in a comment that isn't shown.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance is not authenticated.
 */
export async function githubRelease<Args>(
  octokit: Octokit,
  options: AdapterOptions<Args, GithubReleaseRequest>,
): Promise<AdapterParts<Args, GithubRelease>> {
  const { repos } = octokit.rest;
  return githubTool(octokit, githubReleases, options, {
    create: async (params, key, request) =>
      (
        await repos.createRelease({
          ...params,
          body: tagBody(params.body, key),
          request,
        })
      ).data,
    list: async ({ owner, repo }, page) =>
      (await repos.listReleases({ owner, repo, ...page })).data,
    isOurs: ({ body }, key) => body?.includes(markerOf(key)) === true,
    resultOf: ({ id, tag_name, draft, html_url }) => ({
      id,
      tagName: tag_name,
      draft,
      url: html_url,
    }),
    differenceOf: (asked, found) => difference({ tag_name: [asked.tag_name, found.tag_name] }),
  });
}

/** Parameters of an issue. */
export interface GithubIssueRequest extends Repository {
  readonly title: string;
  readonly body?: string;
  readonly labels?: string[];
  readonly assignees?: string[];
  readonly milestone?: number;
}

/** What is kept of an issue. */
export interface GithubIssue {
  readonly id: number;
  readonly number: number;
  readonly url: string;
}

/**
 * A tool that opens an issue. Its body ends with the operation's key in a comment that isn't shown. The
 * look-up reads the newest 2,000 issues of the repository.
 *
 * @throws {NeverTwiceError} TOOL_INVALID when the instance is not authenticated.
 */
export async function githubIssue<Args>(
  octokit: Octokit,
  options: AdapterOptions<Args, GithubIssueRequest>,
): Promise<AdapterParts<Args, GithubIssue>> {
  const { issues } = octokit.rest;
  return githubTool(octokit, githubIssues, options, {
    create: async (params, key, request) =>
      (
        await issues.create({
          ...params,
          body: tagBody(params.body, key),
          request,
        })
      ).data,
    list: async ({ owner, repo }, page) =>
      (
        await issues.listForRepo({
          owner,
          repo,
          ...page,
          state: "all",
          sort: "created",
          direction: "desc",
        })
      ).data,
    isOurs: ({ body }, key) => body?.includes(markerOf(key)) === true,
    resultOf: ({ id, number, html_url }) => ({ id, number, url: html_url }),
    differenceOf: (asked, found) => difference({ title: [asked.title.trim(), found.title.trim()] }),
  });
}
