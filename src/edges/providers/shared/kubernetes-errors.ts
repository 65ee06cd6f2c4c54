/**
 * What the API server's own answers prove, and the refusals that have names.
 *
 * @module
 */
import type { ErrorClass } from "../../../guard/contract.ts";
import { isObject } from "./adapter.ts";

/** What the API server's own refusal says. */
interface KubernetesStatus {
  readonly code: number;
  readonly reason: string | undefined;
  /** Of the object that it is about. */
  readonly name: string | undefined;
  readonly causes: readonly {
    readonly reason?: string;
    readonly field?: string;
    readonly message?: string;
  }[];
}

/** Undefined for everything that is no `Status` of an API server: a proxy speaks in other words. */
export function statusOf(error: unknown): KubernetesStatus | undefined {
  const { code, body } = (error ?? {}) as { code?: unknown; body?: unknown };
  const status = parsed(body);
  if (typeof code !== "number" || !isObject(status)) return undefined;
  if (status["kind"] !== "Status" || status["code"] !== code) return undefined;
  const details = isObject(status["details"]) ? status["details"] : {};
  return {
    code,
    reason: status["reason"] as string | undefined,
    name: details["name"] as string | undefined,
    causes: (details["causes"] ?? []) as KubernetesStatus["causes"],
  };
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string") return body;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** Another manager owns fields of the manifest with other values: refused for good, unless `force`. */
export class FieldConflict extends Error {
  override readonly name = "FieldConflict";
  readonly managers: readonly string[];
  readonly fields: readonly string[];

  constructor(managers: readonly string[], fields: readonly string[]) {
    super(`${managers.join(", ")} owns ${fields.join(", ")} with another value`);
    this.managers = managers;
    this.fields = fields;
  }
}

/** A newer version is on the object, perhaps from another ledger. */
export class NewerVersion extends Error {
  override readonly name = "NewerVersion";

  constructor(version: number, newer: number) {
    super(`version ${newer} is on the object, and ${version} is older`);
  }
}

/** Undefined for what is no conflict of managers. */
export function conflictOf(error: unknown): FieldConflict | undefined {
  const { code, causes = [] } = statusOf(error) ?? {};
  const conflicts = causes.filter(({ reason }) => reason === "FieldManagerConflict");
  if (code !== 409 || conflicts.length === 0) return undefined;
  const managers = conflicts.map(({ message = "" }) => /"([^"]+)"/.exec(message)?.[1] ?? message);
  return new FieldConflict(
    [...new Set(managers)],
    conflicts.map(({ field = "" }) => field),
  );
}

/**
 * What the API server's own answers prove, by status and reason; all others prove nothing
 * (https://github.com/kubernetes/apimachinery, `StatusReason` in `pkg/apis/meta/v1/types.go`). A quota that is
 * used up is `Forbidden`.
 */
const errorClasses: Readonly<Record<string, ErrorClass>> = {
  "400 BadRequest": "refused",
  "401 Unauthorized": "not-executed",
  "403 Forbidden": "not-executed",
  "404 NotFound": "not-executed",
  // It was made, or changed, since it was read.
  "409 AlreadyExists": "not-executed",
  "409 Conflict": "not-executed",
  "422 Invalid": "refused",
  "429 TooManyRequests": "not-executed",
};

/** What an error of a change proves. */
export function classifyKubernetes(error: unknown): ErrorClass {
  if (error instanceof FieldConflict || error instanceof NewerVersion) return "definitive";
  const status = statusOf(error);
  return errorClasses[`${status?.code} ${status?.reason}`] ?? "unknown";
}
