/**
 * What an answer of GraphQL says of a mutation that was not run.
 *
 * @module
 */
import { isObject } from "./adapter.ts";

/**
 * The `extensions` of the one error of a request or of its mutation. Undefined for several errors, and for
 * one of a field below the mutation: that is asked for after it has run
 * (https://spec.graphql.org/October2021/#sec-Errors).
 */
export function whyNotRun(errors: unknown): Readonly<Record<string, unknown>> | undefined {
  if (!Array.isArray(errors) || errors.length !== 1) return undefined;
  const [first] = errors as readonly unknown[];
  if (!isObject(first)) return undefined;
  const { path = [], extensions } = first;
  const isOfMutation = Array.isArray(path) && path.length <= 1;
  return isOfMutation && isObject(extensions) ? extensions : undefined;
}
