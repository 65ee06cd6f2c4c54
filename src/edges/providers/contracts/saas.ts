/**
 * Contracts of services for developers, messages and models.
 *
 * @module
 */
import { hours } from "../../../base/duration.ts";
import { type ProviderDeclaration, declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const checkedOn = "2026-12-02";
const github = {
  kind: "look-up-only",
  sources: [{ url: "https://docs.github.com/rest" }],
  checkedOn,
  uncertain: ["lookUp.lagMs"],
} as const satisfies Partial<ProviderDeclaration>;

/** GitHub deployments. */
export const githubDeployments = declareProvider({
  ...github,
  name: "github-deployments",
  title: "GitHub deployments",
  covers: "POST …/deployments",
  lookUp: { by: "list by ref, matched by payload" },
  tag: { field: "payload" },
  notes: ["Without auto_merge: false the call may merge instead of deploying."],
});

/** GitHub releases. */
export const githubReleases = declareProvider({
  ...github,
  name: "github-releases",
  title: "GitHub releases",
  covers: "POST …/releases",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "tag_name",
    replay: { status: 422, code: "already_exists" },
  },
  lookUp: { by: "list of releases, drafts included, matched by the body" },
  tag: { field: "body" },
  uncertain: ["lookUp.lagMs", "key.retentionMs", "key.atomic", "key.replay"],
  notes: ["The tag is the natural key; drafts may share one."],
});

/** GitHub issues and pull requests. */
export const githubIssues = declareProvider({
  ...github,
  name: "github-issues",
  title: "GitHub issues",
  covers: "POST …/issues; a pull request is unique by head and base",
  lookUp: { by: "list by creator and labels, matched by the body" },
  tag: { field: "body" },
  notes: ["The search index lags; it is not used."],
});

/** GitHub check runs. */
export const githubChecks = declareProvider({
  ...github,
  name: "github-checks",
  title: "GitHub check runs",
  covers: "POST …/check-runs; a commit status is convergent",
  lookUp: { by: "list by ref, matched by external_id" },
  tag: { field: "external_id" },
});

/** GitHub workflow dispatches. */
export const githubWorkflows = declareProvider({
  ...github,
  name: "github-workflows",
  title: "GitHub workflow dispatch",
  covers: "POST …/actions/workflows/…/dispatches",
  lookUp: { by: "list of runs, where the workflow puts the input into its run name" },
  tag: { field: "inputs" },
  uncertain: ["lookUp.by", "lookUp.lagMs"],
  notes: ["return_run_details: true answers with the run's id."],
});

/** GitLab. */
export const gitlab = declareProvider({
  name: "gitlab",
  title: "GitLab",
  covers: "issues, deployments; release, tag and branch names are unique",
  kind: "look-up-only",
  lookUp: { by: "list of deployments; issues by label" },
  tag: { field: "labels" },
  uncertain: ["lookUp.by", "lookUp.lagMs", "tag.field"],
  sources: [{ url: "https://docs.gitlab.com/api" }],
  checkedOn,
});

/** Linear. */
export const linear = declareProvider({
  name: "linear",
  title: "Linear",
  covers: "creates with a caller's id: issues, comments …",
  kind: "natural-key",
  key: {
    transport: "argument",
    field: "id",
    shape: "uuid",
    uuidVersion: 4,
    minLength: 36,
    maxLength: 36,
    scope: "workspace",
  },
  lookUp: { by: "issue(id)" },
  tag: { field: "id", maxLength: 36 },
  uncertain: ["key.retentionMs", "key.scope", "key.replay", "key.atomic", "lookUp.lagMs"],
  sources: [{ url: "https://github.com/linear/linear" }],
  checkedOn,
  notes: ["Attachments are upserted by url and issue."],
});

/** Jira Cloud. */
export const jira = declareProvider({
  name: "jira",
  title: "Jira Cloud",
  covers: "creating issues",
  kind: "look-up-only",
  lookUp: { by: "JQL on a label or entity property; eventually consistent" },
  tag: { field: "labels" },
  uncertain: ["lookUp.lagMs"],
  sources: [{ url: "https://developer.atlassian.com/cloud/jira/platform/rest/v3" }],
  checkedOn,
  notes: ["To search before creating is not enough by itself."],
});

/** Slack. */
export const slack = declareProvider({
  name: "slack",
  title: "Slack",
  covers: "chat.postMessage",
  kind: "look-up-only",
  lookUp: { by: "conversations.history with include_all_metadata" },
  tag: { field: "metadata.event_payload" },
  uncertain: ["lookUp.lagMs"],
  sources: [
    { url: "https://docs.slack.dev/reference/methods/chat.postMessage" },
    { url: "https://github.com/slackapi/java-slack-sdk/issues/852" },
  ],
  checkedOn,
  notes: ["client_msg_id is for Slack's own clients and dedupes nothing."],
});

/** Twilio messages. */
export const twilio = declareProvider({
  name: "twilio",
  title: "Twilio messages",
  covers: "Messages; Calls/…/Payments take an IdempotencyKey",
  kind: "nothing",
  sources: [{ url: "https://github.com/twilio/twilio-oai" }],
  checkedOn,
  notes: ["Lists filter by To, From and DateSent only: after a doubt a person decides."],
});

/** SendGrid. */
export const sendgrid = declareProvider({
  name: "sendgrid",
  title: "SendGrid",
  covers: "mail/send",
  kind: "look-up-only",
  lookUp: { by: "Email Activity by unique_args; a paid add-on" },
  tag: { field: "custom_args", maxLength: 10_000 },
  uncertain: ["lookUp.lagMs"],
  sources: [{ url: "https://github.com/sendgrid/sendgrid-oai" }],
  checkedOn,
});

/** Resend. */
export const resend = declareProvider({
  name: "resend",
  title: "Resend",
  covers: "/emails and /emails/batch",
  kind: "replay",
  key: {
    transport: "header",
    field: "Idempotency-Key",
    maxLength: 256,
    retentionMs: hours(24),
    mismatch: { status: 409, code: "invalid_idempotent_request" },
    inFlight: { status: 409, code: "concurrent_idempotent_requests" },
    replay: { note: "the same response" },
    atomic: true,
  },
  tag: { field: "tags" },
  uncertain: ["key.mismatch", "key.inFlight", "key.atomic", "key.afterError"],
  sources: [
    { url: "https://resend.com/docs/dashboard/emails/idempotency-keys" },
    { url: "https://resend.com/docs/api-reference/errors" },
  ],
  checkedOn,
  notes: ["Over SMTP the header is Resend-Idempotency-Key."],
});

/** OpenAI. */
export const openai = declareProvider({
  name: "openai",
  title: "OpenAI",
  covers: "responses, files, batches …",
  kind: "nothing",
  tag: { field: "metadata", maxLength: 512 },
  sources: [{ url: "https://github.com/openai/openai-node" }],
  checkedOn,
  notes: ["The SDK's idempotencyKey option sends nothing: record a decision before acting on it."],
});

/** Anthropic. */
export const anthropic = declareProvider({
  name: "anthropic",
  title: "Anthropic",
  covers: "messages and batches",
  kind: "nothing",
  lookUp: { by: "list of batches" },
  tag: { field: "custom_id" },
  uncertain: ["lookUp.lagMs"],
  sources: [{ url: "https://github.com/anthropics/anthropic-sdk-typescript" }],
  checkedOn,
  notes: [
    "The SDK's idempotencyKey option sends nothing: record a decision before acting on it.",
    "custom_id is unique within a batch only.",
  ],
});

/** Services for developers, messages and models. */
export const saasContracts: readonly ProviderContract[] = [
  githubDeployments,
  githubReleases,
  githubIssues,
  githubChecks,
  githubWorkflows,
  gitlab,
  linear,
  jira,
  slack,
  twilio,
  sendgrid,
  resend,
  openai,
  anthropic,
];
