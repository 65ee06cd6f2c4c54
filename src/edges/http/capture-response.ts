/**
 * What a handler answered, read so far that it can be stored before it is told.
 *
 * The rule for bodies: one of at most `maxBytes` is read whole, stored and given again byte for byte.
 * A larger one, an event stream and one that breaks off still make the operation DONE; status and
 * header fields are stored, and a note in the body's place (R15). Only the first caller gets such a
 * body; one that the handler has read itself is nobody's to get. 204, 205 and 304 have none.
 *
 * @module
 */
import {
  type StoredBody,
  type StoredResponse,
  hasNoBody,
  mediaTypeOf,
  pickHeaders,
  storeBytes,
} from "./stored-response.ts";

/** A handler's answer in both of its forms. */
export interface Captured {
  /** For the row, and for every later caller. */
  readonly stored: StoredResponse;
  /** For the caller whose request ran the handler: with every header field. */
  readonly live: {
    readonly headers: Headers;
    readonly body: LiveBody;
  };
}

/** A body for the first caller. Null: none; undefined: there was one, and it is gone. */
type LiveBody = Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null | undefined;

/** What is kept of a response. */
export interface CaptureRule {
  /** Names of header fields, in lower case. */
  readonly headers: readonly string[];
  readonly maxBytes: number;
}

/** Reads the response by the rule above. Rejects for what is no response that can be read. */
export async function captureResponse(response: Response, rule: CaptureRule): Promise<Captured> {
  // `Response.error()` has the status 0: it is how fetch says that there was no answer.
  if (response.status < 200) throw new TypeError(`${response.status} is no status of an answer`);
  const body = await captureBody(response, rule.maxBytes);
  return {
    stored: {
      v: 1,
      status: response.status,
      headers: pickHeaders(response.headers, rule.headers),
      body: body.stored,
    },
    live: { headers: response.headers, body: body.live },
  };
}

interface CapturedBody {
  readonly stored: StoredBody | null;
  readonly live: LiveBody;
}

async function captureBody(response: Response, maxBytes: number): Promise<CapturedBody> {
  const { body, status, headers } = response;
  if (body === null || hasNoBody(status)) return { stored: null, live: null };
  if (body.locked || response.bodyUsed)
    return omitted({ reason: "the handler had read it itself" }, undefined);
  if (mediaTypeOf(headers.get("content-type")) === "text/event-stream") {
    return omitted({ reason: "it is an event stream" }, body);
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    while (bytes <= maxBytes) {
      const { done, value } = await reader.read();
      if (done) return whole(chunks);
      chunks.push(value);
      bytes += value.byteLength;
    }
  } catch (error) {
    // The handler has answered; that its body can't be read to the end takes nothing of that back.
    return omitted({ reason: `it broke off after ${bytes} bytes` }, broken(chunks, error));
  }
  return omitted({ reason: `it is larger than ${maxBytes} bytes` }, following(chunks, reader));
}

function whole(chunks: readonly Uint8Array[]): CapturedBody {
  const bytes = new Uint8Array(Buffer.concat(chunks));
  return { stored: storeBytes(bytes), live: bytes };
}

function omitted(note: { reason: string }, live: LiveBody): CapturedBody {
  return { stored: { omitted: note }, live };
}

function broken(chunks: readonly Uint8Array[], error: unknown): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull: (controller) => {
      const next = left.shift();
      if (next === undefined) controller.error(error);
      else controller.enqueue(next);
    },
  });
}

function following(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  const left = [...chunks];
  return new ReadableStream({
    pull: async (controller) => {
      const next = left.shift();
      if (next !== undefined) return controller.enqueue(next);
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
