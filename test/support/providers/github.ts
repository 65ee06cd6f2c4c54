/**
 * GitHub's counterpart: it takes no key, and shows everything in lists, newest first.
 */
import { type Answer, Counterpart, type ProviderRules, json } from "./counterpart.ts";

const own = { "x-github-request-id": "ABCD:1" };

const kinds: Readonly<Record<string, (asked: Record<string, unknown>) => object>> = {
  deployments: ({ ref, payload, environment = "production", task = "deploy" }) => ({
    ref,
    payload,
    environment,
    task,
    sha: "a".repeat(40),
    url: "https://api.github.com/deployment",
  }),
  releases: ({ tag_name, body, draft = false }) => ({
    tag_name,
    body,
    draft,
    html_url: "https://github.com/release",
  }),
  issues: ({ title, body }) => ({
    title,
    body,
    number: 7,
    html_url: "https://github.com/issue",
  }),
};

function kindOf(path: string): string {
  return path.split("/").at(-1) ?? "";
}

function refusal(status: number, code?: string): Answer {
  const body = { message: "what GitHub says", documentation_url: "https://docs.github.com/rest" };
  const errors = [{ resource: "Issue", code, field: "base" }];
  return json(status, code === undefined ? body : { ...body, errors }, own);
}

const rules: ProviderRules = {
  isCreate: ({ method }) => method === "POST",
  keyOf: () => undefined,
  create: ({ path, body }, id) => {
    const asked = JSON.parse(body) as Record<string, unknown>;
    return { resource: { id: Number(id), kind: kindOf(path), ...kinds[kindOf(path)]?.(asked) } };
  },
  show: ({ resource }) => json(201, resource, own),
  refusal,
  look: ({ path, query }, visible) => {
    const shown = visible
      .map(({ resource }) => resource)
      .filter(({ kind }) => kind === kindOf(path))
      .filter((resource) =>
        ["ref", "task", "environment"].every(
          (name) => !query.has(name) || resource[name] === query.get(name),
        ),
      )
      .toReversed();
    const size = Number(query.get("per_page") ?? 30);
    const from = (Number(query.get("page") ?? 1) - 1) * size;
    return json(200, shown.slice(from, from + size), own);
  },
};

export function startGithub(): Promise<Counterpart> {
  return Counterpart.start(rules);
}
