/**
 * Who owns what, in the form in which an API server writes it down: fields, keyed lists, sets, and values
 * that are owned as a whole.
 */
import { expect, it } from "vitest";
import { type ManagedFields, ownsAll } from "../../../src/edges/providers/shared/managed-fields.ts";

const leaf = {};
const fieldsV1 = {
  "f:metadata": {
    "f:labels": { "f:app": leaf },
    "f:finalizers": { ".": {}, 'v:"shop/keep"': leaf },
  },
  "f:spec": {
    "f:replicas": leaf,
    "f:selector": leaf,
    "f:template": {
      "f:spec": {
        "f:containers": {
          'k:{"name":"web"}': {
            ".": {},
            "f:name": leaf,
            "f:image": leaf,
            "f:args": leaf,
            "f:resources": { "f:limits": { "f:cpu": leaf } },
            "f:ports": {
              'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": leaf },
            },
          },
        },
      },
    },
  },
};

const ours: ManagedFields = { manager: "nevertwice", operation: "Apply", fieldsV1 };
const web = { name: "web", image: "shop:1", args: ["--fast", "--loud"] };

function manifest(spec: object, metadata: object = {}): { metadata: object; spec: object } {
  return { metadata: { name: "web", namespace: "shop", ...metadata }, spec };
}
const pod = (...containers: object[]): object => ({ template: { spec: { containers } } });

it.each([
  ["nothing but its identity", manifest({})],
  ["a field, whatever its value", manifest({ replicas: 7 })],
  [
    "a label and an item of a set",
    manifest({}, { labels: { app: "web" }, finalizers: ["shop/keep"] }),
  ],
  ["a map that is owned as a whole", manifest({ selector: { matchLabels: { app: "web" } } })],
  ["an item by its key, with a list that is owned as a whole", manifest(pod(web))],
  [
    "an item whose other key has its default",
    manifest(pod({ name: "web", ports: [{ containerPort: 80 }] })),
  ],
  [
    "a quantity in another spelling",
    manifest(pod({ name: "web", resources: { limits: { cpu: "1000m" } } })),
  ],
  ["members that aren't there", manifest({ replicas: undefined, paused: null })],
])("owns %s", (_title, asked) => {
  expect(ownsAll([ours], "nevertwice", asked)).toBe(true);
});

it.each([
  ["a field that another has taken", manifest({ paused: true })],
  ["another label", manifest({}, { labels: { app: "web", tier: "front" } })],
  ["another item of a set", manifest({}, { finalizers: ["shop/keep", "shop/other"] })],
  ["another container", manifest(pod(web, { name: "side", image: "side:1" }))],
  ["a field of a container that another has taken", manifest(pod({ ...web, command: ["sh"] }))],
  [
    "a port of another protocol",
    manifest(pod({ name: "web", ports: [{ containerPort: 80, protocol: "UDP" }] })),
  ],
  ["a value where there are fields", manifest({ template: "text" })],
])("doesn't own %s", (_title, asked) => {
  expect(ownsAll([ours], "nevertwice", asked)).toBe(false);
});

it("only what was applied under its own name counts", () => {
  const asked = manifest({ replicas: 1 });
  const others: ManagedFields[] = [
    { ...ours, manager: "kubectl" },
    { ...ours, operation: "Update" },
    { ...ours, subresource: "status" },
    { manager: "nevertwice", operation: "Apply" },
    { ...ours, fieldsV1: {} },
  ];
  for (const line of others) expect(ownsAll([line], "nevertwice", asked)).toBe(false);
  expect(ownsAll(undefined, "nevertwice", asked)).toBe(false);
  expect(ownsAll([...others, { ...ours, subresource: "" }], "nevertwice", asked)).toBe(true);
});
