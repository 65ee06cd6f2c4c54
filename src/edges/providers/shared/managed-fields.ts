/**
 * What a field manager of Kubernetes owns. Whoever changes a field's value takes it over
 * (https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management), so a field that
 * is still ours still has the value that we applied, in whatever form the server writes it.
 *
 * @module
 */
import { isObject } from "./adapter.ts";

/** One line of `metadata.managedFields`. */
export interface ManagedFields {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  readonly fieldsV1?: object;
}

/** True when this manager applied, and still owns, every field of the manifest. Identity has no owner. */
export function ownsAll(
  lines: readonly ManagedFields[] | undefined,
  manager: string,
  manifest: Readonly<Record<string, unknown>> & { readonly metadata: object },
): boolean {
  const nobodys = { apiVersion: undefined, kind: undefined };
  const metadata = { ...manifest.metadata, name: undefined, namespace: undefined };
  const fields = { ...manifest, ...nobodys, metadata };
  return (lines ?? []).some(
    ({ manager: of, operation, subresource, fieldsV1 }) =>
      of === manager &&
      operation === "Apply" &&
      (subresource ?? "") === "" &&
      isObject(fieldsV1) &&
      ownsMembers(fieldsV1, fields),
  );
}

type Owned = Readonly<Record<string, unknown>>;

function ownsMembers(owned: Owned, members: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(members).every(
    ([name, value]) => value === undefined || value === null || owns(owned[`f:${name}`], value),
  );
}

function owns(owned: unknown, value: unknown): boolean {
  if (!isObject(owned)) return false;
  const children = Object.keys(owned).filter((name) => name !== ".");
  // A leaf: one value, or a list or map that is owned as a whole.
  if (children.length === 0) return true;
  if (Array.isArray(value)) {
    return value.every((item: unknown) =>
      children.some((child) => isItem(child, item) && owns(owned[child], item)),
    );
  }
  return isObject(value) && ownsMembers(owned, value);
}

/**
 * Items are named `k:{"containerPort":80,"protocol":"TCP"}` by their keys or `v:"x"` by their value. A
 * key that the manifest leaves out has its default.
 */
function isItem(child: string, item: unknown): boolean {
  const named: unknown = JSON.parse(child.slice(2));
  if (child.startsWith("v:")) return named === item;
  if (!child.startsWith("k:") || !isObject(named) || !isObject(item)) return false;
  return Object.entries(named).every(
    ([name, value]) => item[name] === undefined || item[name] === value,
  );
}
