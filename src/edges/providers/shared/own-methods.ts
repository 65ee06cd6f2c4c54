/**
 * An SDK whose methods were replaced may send where no gate stands.
 *
 * @module
 */
import { refuseProvider } from "./contract-parts.ts";

/**
 * Refuses an SDK's object of which a method isn't its class's own: replaced on the instance (a mock, a
 * wrapper with retries) or in a subclass. What such a method does when it fails would count as "nothing was
 * sent", and that is a fact only where every send comes by the gate. Objects without the method are left to
 * whoever checks for them.
 *
 * @throws {NeverTwiceError} TOOL_INVALID
 */
export function checkOwnMethods(
  title: string,
  object: object | null | undefined,
  names: readonly string[],
): void {
  const replaced = names.find((name) => isReplaced(object ?? {}, name));
  if (replaced === undefined) return;
  refuseProvider(
    title,
    `the \`${replaced}\` of its SDK was replaced, so that sends could go by the gate that counts them; hand in the SDK's own, and put what you need into its transport`,
  );
}

function isReplaced(object: object, name: string): boolean {
  if (Object.hasOwn(object, name)) return true;
  let definers = 0;
  for (let at: unknown = object; at !== null; at = Object.getPrototypeOf(at)) {
    if (Object.hasOwn(at as object, name)) definers += 1;
  }
  return definers > 1;
}
