/**
 * Contracts of CRM and ERP systems.
 *
 * @module
 */
import { declareProvider } from "../shared/declare-provider.ts";
import type { ProviderContract } from "../shared/provider-contract.ts";

const checkedOn = "2026-12-02";

/** Salesforce. */
export const salesforce = declareProvider({
  name: "salesforce",
  title: "Salesforce",
  covers: "upsert by an external id",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "the external-id field in the URL",
    scope: "object and field",
    replay: { status: 200, note: "201 when new; 200 or 204 when updated; 300 if several match" },
  },
  lookUp: { by: "GET of the same URL" },
  tag: { field: "the external-id field" },
  uncertain: ["key.retentionMs", "key.atomic", "key.replay", "lookUp.lagMs"],
  sources: [
    {
      url: "https://developer.salesforce.com/docs/atlas.en-us.api_rest.meta/api_rest/dome_upsert.htm",
    },
  ],
  checkedOn,
  notes: [
    "Mark the field as unique, or two can slip in.",
    "The external id is the business's own id: then a repeat updates what is there.",
  ],
});

/** NetSuite. */
export const netsuite = declareProvider({
  name: "netsuite",
  title: "NetSuite",
  covers: "PUT /record/v1/{type}/eid:{externalId}",
  kind: "natural-key",
  key: {
    transport: "name",
    field: "externalId",
    shape: "uuid-bare",
    charset: "[A-Za-z0-9_-]",
    scope: "record type",
  },
  lookUp: { by: "GET of the same URL" },
  tag: { field: "externalId" },
  uncertain: ["key.retentionMs", "key.atomic", "lookUp.lagMs"],
  sources: [{ url: "https://docs.oracle.com/en/cloud/saas/netsuite" }],
  checkedOn,
  notes: ["A record has one external id, and one integration owns it. A pipe breaks the URL."],
});

/** SAP. */
export const sap = declareProvider({
  name: "sap",
  title: "SAP Gateway",
  covers: "OData services that opted in",
  kind: "replay",
  key: {
    transport: "header",
    field: "RequestID",
    shape: "uuid-bare",
    minLength: 32,
    maxLength: 32,
    charset: "[A-Fa-f0-9]",
    replay: { header: "RepeatabilityResult: accepted" },
  },
  tag: { field: "ExternalReference" },
  uncertain: ["key.retentionMs", "key.mismatch", "key.inFlight", "key.replay", "tag.field"],
  sources: [{ url: "https://help.sap.com" }],
  checkedOn,
  notes: ["With RepeatabilityCreation, the time of the first send, on every attempt."],
});

/** Coupa. */
export const coupa = declareProvider({
  name: "coupa",
  title: "Coupa",
  covers: "purchase orders and requisitions",
  kind: "look-up-only",
  lookUp: { by: "GET with filters on fields" },
  tag: { field: "custom fields" },
  uncertain: ["lookUp.by", "lookUp.lagMs", "tag.field"],
  sources: [{ url: "https://compass.coupa.com" }],
  checkedOn,
  notes: ["No word on idempotency was found."],
});

/** CRM and ERP systems. */
export const businessContracts: readonly ProviderContract[] = [salesforce, netsuite, sap, coupa];
