/**
 * Bodies as the bytes that were signed, up to a limit.
 *
 * @module
 */
import { NeverTwiceError } from "../../../base/errors.ts";

/**
 * Reads the body; what is larger is not read to its end.
 *
 * @throws {NeverTwiceError} EVENT_TOO_LARGE.
 */
export async function readBody(request: Request, maxBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const read = await reader?.read();
    if (read?.value === undefined) break;
    bytes += read.value.byteLength;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new NeverTwiceError(
        "EVENT_TOO_LARGE",
        `The body is larger than ${maxBytes} bytes. Nothing was written.`,
        { details: { maxBytes } },
      );
    }
    chunks.push(read.value);
  }
  return Buffer.concat(chunks);
}
