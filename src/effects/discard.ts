/**
 * Who gives an event up, and why.
 *
 * @module
 */
import { NeverTwiceError, storableText } from "../base/errors.ts";
import type { Discard } from "../ledger/events.ts";

/**
 * Both parts, without white space around them.
 *
 * @throws {NeverTwiceError} CONFIGURATION_INVALID for a blank part.
 */
export function checkedDiscard({ by, reason }: Discard): Discard {
  return { by: checkedPart(by, "by"), reason: checkedPart(reason, "reason") };
}

function checkedPart(text: string, part: string): string {
  const checked = storableText(text.trim()).slice(0, 2000);
  if (checked !== "") return checked;
  throw new NeverTwiceError(
    "CONFIGURATION_INVALID",
    `\`${part}\` is blank: giving an event up needs who does it and why. Nothing was changed.`,
  );
}
