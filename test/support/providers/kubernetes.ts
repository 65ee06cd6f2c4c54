/**
 * An API server's counterpart: server-side apply with owners of fields, conflicts, `resourceVersion` and
 * `generation` (https://kubernetes.io/docs/reference/using-api/server-side-apply/). Its ledger holds one
 * entry per change: what an apply finds as it is changes nothing.
 */
import {
  type Answer,
  Counterpart,
  type Created,
  type Effect,
  type Incoming,
  type ProviderRules,
  json,
} from "./counterpart.ts";

type Tree = { [name: string]: unknown };
/** Who owns a value, by the path of its field. */
type Owners = Readonly<Record<string, readonly string[]>>;

const kinds: Readonly<Record<string, readonly { name: string; kind: string }[]>> = {
  "/apis/apps/v1": [{ name: "deployments", kind: "Deployment" }],
  "/api/v1": [{ name: "configmaps", kind: "ConfigMap" }],
};

const reasons: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  422: "Invalid",
  429: "TooManyRequests",
};

function status(code: number, message: string, details: object = {}): Answer {
  const reason = reasons[code] ?? "InternalError";
  const body = { kind: "Status", apiVersion: "v1", status: "Failure", message, reason };
  return json(code, { ...body, details, code });
}

function liveIn(ledger: readonly Effect[], path: string): Tree | undefined {
  return ledger.findLast(({ resource }) => resource["path"] === path)?.resource["object"] as
    Tree | undefined;
}

/** The object that the API server shows now. */
export function liveObject({ effects }: Counterpart, path: string): Tree {
  const live = liveIn(effects, path);
  if (live === undefined) throw new Error(`there is no ${path}`);
  return live;
}

/** Another manager changes fields, e.g. a person with `kubectl edit`. */
export function changeBy(
  counterpart: Counterpart,
  path: string,
  manager: string,
  fields: Tree,
): void {
  const live = liveObject(counterpart, path);
  const taken = Object.keys(leavesOf(fields)).map((field) => [field, [manager]] as const);
  const owners = { ...(live["owners"] as Owners), ...Object.fromEntries(taken) };
  counterpart.plant({ path, by: manager, object: stored(live, merged(live, fields), owners) });
}

/** The controller reports on the newest generation, which is no change of anybody's. */
export function observe(counterpart: Counterpart, path: string, state: Tree = {}): void {
  const live = liveObject(counterpart, path);
  const { generation } = live["metadata"] as { generation: number };
  live["status"] = { observedGeneration: generation, ...state };
}

/** Starts one whose controllers are at once where they should be, unless `isSlow`. */
export async function startKubernetes(isSlow: () => boolean = () => false): Promise<Counterpart> {
  return Counterpart.start(rulesOf(isSlow));
}

function rulesOf(isSlow: () => boolean): ProviderRules {
  return {
    isCreate: ({ method }) => method === "PATCH",
    keyOf: () => undefined,
    create: (request, id, ledger) => apply(request, id, ledger, isSlow()),
    show: ({ resource }) => json(200, shownAs(resource["object"] as Tree)),
    refusal: (code) => status(code, "what the API server says"),
    look: ({ path }, visible) => {
      const listed = kinds[path]?.map((kind) => ({ ...kind, namespaced: true }));
      if (listed !== undefined) return json(200, { kind: "APIResourceList", resources: listed });
      const live = liveIn(visible, path);
      if (live !== undefined) return json(200, shownAs(live));
      return status(404, "not found", { name: path.split("/").at(-1) });
    },
  };
}

function apply(request: Incoming, id: string, ledger: readonly Effect[], slow: boolean): Created {
  const { path, query, body } = request;
  const manager = query.get("fieldManager") ?? "";
  const { metadata, ...spec } = JSON.parse(body) as Tree & { metadata: Tree };
  const { resourceVersion, uid, ...tags } = metadata;
  const asked: Tree = { ...spec, metadata: tags };
  const live = liveIn(ledger, path);
  const has = (live?.["metadata"] ?? {}) as Tree;
  if (
    resourceVersion !== undefined &&
    (resourceVersion !== has["resourceVersion"] || uid !== has["uid"])
  )
    return { refusal: status(409, "the object has been modified") };
  const owners = (live?.["owners"] ?? {}) as Owners;
  const before = leavesOf(live ?? {});
  const after = leavesOf(asked);
  const others = Object.keys(after).filter(
    (field) => before[field] !== after[field] && owners[field]?.some((of) => of !== manager),
  );
  if (others.length > 0 && query.get("force") !== "true")
    return { refusal: conflict(others, owners, manager) };
  const made = merged(live ?? { metadata: { uid: `uid-${id}` } }, asked);
  const next: Record<string, readonly string[]> = {};
  for (const field of new Set([...Object.keys(owners), ...Object.keys(after)])) {
    const keep = others.includes(field) ? [] : (owners[field] ?? []);
    if (field in after) next[field] = [...new Set([...keep, manager])];
    else if (keep.some((of) => of !== manager)) next[field] = keep.filter((of) => of !== manager);
    // What nobody owns any more goes away.
    else remove(made, field.split("|"));
  }
  const isSame = JSON.stringify([before, owners]) === JSON.stringify([leavesOf(made), next]);
  if (live !== undefined && isSame) return { refusal: json(200, shownAs(live)) };
  const object = stored(live, made, next);
  if (!slow) {
    object["status"] = { observedGeneration: (object["metadata"] as Tree)["generation"] };
  }
  return { resource: { path, by: manager, object } };
}

function remove(tree: Tree, [name = "", ...rest]: readonly string[]): void {
  if (rest.length === 0) {
    delete tree[name];
    return;
  }
  const [key = "", ...inside] = rest;
  const value = tree[name];
  if (isKeyed(value)) {
    const item = value.find((each) => key === `k:${JSON.stringify({ name: each["name"] })}`);
    if (item !== undefined) remove(item, inside);
  } else {
    remove(value as Tree, rest);
    if (Object.keys(value as Tree).length === 0) delete tree[name];
  }
}

function conflict(fields: readonly string[], owners: Owners, manager: string): Answer {
  const causes = fields.flatMap((field) =>
    (owners[field] ?? [])
      .filter((of) => of !== manager)
      .map((of) => ({
        reason: "FieldManagerConflict",
        message: `conflict with "${of}" using apps/v1`,
        field: `.${field.replaceAll("|", ".")}`,
      })),
  );
  return status(409, `Apply failed with ${causes.length} conflict`, { causes });
}

/** Every change gives a new resource version; a change of the spec also a new generation. */
function stored(before: Tree | undefined, object: Tree, owners: Owners): Tree {
  const old = (before?.["metadata"] ?? {}) as { resourceVersion?: string; generation?: number };
  const isNew = JSON.stringify(before?.["spec"]) !== JSON.stringify(object["spec"]);
  const metadata = {
    ...(object["metadata"] as Tree),
    resourceVersion: String(Number(old.resourceVersion ?? 100) + 1),
    generation: (old.generation ?? 0) + (isNew ? 1 : 0),
  };
  return { ...object, metadata, owners };
}

/** Owners are shown as `managedFields`. Lists of containers are keyed by name, other lists are one value. */
function shownAs({ owners, ...object }: Tree): Tree {
  const sets = new Map<string, Tree>();
  for (const [field, managers] of Object.entries(owners as Owners)) {
    for (const manager of managers) {
      const set = sets.get(manager) ?? {};
      sets.set(manager, set);
      let at = set;
      for (const part of field.split("|")) {
        const name = part.startsWith("k:") ? part : `f:${part}`;
        at = (at[name] ??= part.startsWith("k:") ? { ".": {} } : {}) as Tree;
      }
    }
  }
  const managedFields = [...sets].map(([manager, fieldsV1]) => ({
    manager,
    operation: manager === "kubectl" ? "Update" : "Apply",
    fieldsType: "FieldsV1",
    fieldsV1,
  }));
  return { ...object, metadata: { ...(object["metadata"] as Tree), managedFields } };
}

function isKeyed(value: unknown): value is Tree[] {
  return (
    Array.isArray(value) && value.every((item) => typeof (item as Tree)?.["name"] === "string")
  );
}

/** Values by path. Identity and what the server says itself have no owner. */
function leavesOf(tree: Tree, path: readonly string[] = []): Record<string, string> {
  const leaves: Record<string, string> = {};
  for (const [name, value] of Object.entries(tree)) {
    const at = [...path, name];
    if (path.length === 0 && ["apiVersion", "kind", "status", "owners"].includes(name)) continue;
    if (path.join() === "metadata" && !["labels", "annotations"].includes(name)) continue;
    if (isKeyed(value)) {
      for (const item of value) {
        Object.assign(
          leaves,
          leavesOf(item, [...at, `k:${JSON.stringify({ name: item["name"] })}`]),
        );
      }
    } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      Object.assign(leaves, leavesOf(value as Tree, at));
    } else {
      leaves[at.join("|")] = JSON.stringify(value);
    }
  }
  return leaves;
}

function merged(live: Tree, asked: Tree): Tree {
  const result = structuredClone(live);
  for (const [name, value] of Object.entries(asked)) {
    const old = result[name];
    if (isKeyed(value) && isKeyed(old)) {
      const names = new Set([...old, ...value].map((item) => item["name"]));
      const named = (list: Tree[], of: unknown): Tree =>
        list.find((item) => item["name"] === of) ?? {};
      result[name] = [...names].map((of) => merged(named(old, of), named(value, of)));
    } else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      result[name] = merged((old ?? {}) as Tree, value as Tree);
    } else {
      result[name] = value;
    }
  }
  return result;
}
