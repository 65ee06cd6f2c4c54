/**
 * Contracts of Google Cloud, Azure and Kubernetes.
 *
 * @module
 */
import { minutes } from "../../../base/duration.ts";
import { declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const checkedOn = "2026-12-02";

/** Google Cloud, as AIP-155 has it. */
export const googleCloud = declareProvider({
  name: "google-cloud",
  title: "Google Cloud",
  covers: "methods with a request_id (AIP-155)",
  kind: "replay",
  key: {
    transport: "argument",
    field: "request_id",
    shape: "uuid",
    uuidVersion: 4,
    maxLength: 36,
    replay: { note: "may be the state of today" },
  },
  lookUp: { by: "get by the resource's own id" },
  uncertain: ["key.retentionMs", "key.mismatch", "key.inFlight", "key.afterError", "lookUp.lagMs"],
  sources: [{ url: "https://google.aip.dev/155" }],
  checkedOn,
  notes: [
    "Most services keep it for an hour at least; Compute says nothing. All zeros are refused.",
  ],
});

/** BigQuery. */
export const bigquery = declareProvider({
  name: "google-bigquery",
  title: "Google BigQuery",
  covers: "jobs.query",
  kind: "replay",
  key: {
    transport: "body",
    field: "requestId",
    maxLength: 36,
    retentionMs: minutes(15),
    inFlight: { status: 200, note: "the running job" },
    atomic: true,
  },
  uncertain: ["key.field", "key.maxLength", "key.afterError"],
  sources: [{ url: "https://github.com/googleapis/googleapis" }],
  checkedOn,
});

/** Azure's repeatable requests. */
export const azure = declareProvider({
  name: "azure",
  title: "Azure repeatable requests",
  covers: "operations with Repeatability-Request-ID (OASIS Repeatable Requests 1.0)",
  kind: "replay",
  key: {
    transport: "header",
    field: "Repeatability-Request-ID",
    shape: "uuid",
    uuidVersion: 4,
    minLength: 36,
    maxLength: 36,
    retentionMs: minutes(5),
    mismatch: { status: 400, header: "Repeatability-Result: rejected" },
    replay: { header: "Repeatability-Result: accepted" },
  },
  uncertain: ["key.inFlight", "key.atomic", "key.afterError"],
  sources: [{ url: "https://github.com/microsoft/api-guidelines" }],
  checkedOn,
  notes: [
    "Repeatability-First-Sent must be the time of the first send, on every attempt.",
    "A request from outside the window is refused with 412; prefer a PUT of ARM where there is one.",
  ],
});

/** Azure Communication Services e-mail. */
export const azureEmail = declareProvider({
  name: "azure-communication-email",
  title: "Azure Communication Services e-mail",
  covers: "emails:send",
  kind: "replay",
  key: {
    transport: "header",
    field: "Operation-Id",
    shape: "uuid",
    uuidVersion: 4,
    minLength: 36,
    maxLength: 36,
    retentionMs: minutes(5),
    inFlight: { status: 409 },
    atomic: true,
    afterError: "re-executes",
  },
  uncertain: ["key.field", "key.retentionMs", "key.inFlight", "key.atomic"],
  sources: [{ url: "https://learn.microsoft.com/azure/communication-services" }],
  checkedOn,
  notes: ["After a 5xx the same request is executed again."],
});

/** Kubernetes objects. */
export const kubernetes = declareProvider({
  name: "kubernetes",
  title: "Kubernetes",
  covers: "create by name; server-side apply is convergent",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "metadata.name",
    shape: "uuid-bare",
    maxLength: 63,
    charset: "[a-z0-9.-]",
    scope: "kind and namespace, for as long as the object exists",
    replay: { status: 409, code: "AlreadyExists" },
  },
  lookUp: { by: "GET by name, or by a label" },
  tag: { field: "metadata.labels", maxLength: 63, charset: "[A-Za-z0-9_.-]" },
  uncertain: ["key.retentionMs", "key.atomic", "lookUp.lagMs", "tag.maxLength"],
  sources: [{ url: "https://kubernetes.io/docs/reference/using-api/server-side-apply/" }],
  checkedOn,
  notes: [
    "generateName makes a new object each time.",
    "Server-side apply refuses fields of another manager with 409, and names it; with resourceVersion it refuses an object that was changed since.",
    "A label takes 63 characters, so the key goes there as a UUID; an annotation takes all of it.",
  ],
});

/** Clouds beside AWS. */
export const cloudContracts: readonly ProviderContract[] = [
  googleCloud,
  bigquery,
  azure,
  azureEmail,
  kubernetes,
];
