/**
 * How a request to an upstream server can end without a result. What each proves differs, and that
 * is all that the gateway goes by.
 *
 * @module
 */

/** Nothing was written: there is no connection. A fact that we established ourselves (R13). */
export class UpstreamNotConnected extends Error {
  override readonly name = "UpstreamNotConnected";
}

/** The request may have been written, and no answer will come. It proves nothing. */
export class UpstreamLost extends Error {
  override readonly name = "UpstreamLost";
}

/** The server answered with a JSON-RPC error. */
export class UpstreamRefusal extends Error {
  override readonly name = "UpstreamRefusal";
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** The client lacks a capability that the request needs. */
export const missingCapability = -32_021;

/**
 * True when an error of a transport says that the server forgot the session. It is no proof that the
 * message was not served.
 * https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#session-management
 */
export function isSessionGone(
  error: unknown,
  { sessionId }: { readonly sessionId?: string | undefined },
): boolean {
  return (error as { status?: unknown } | null)?.status === 404 && sessionId !== undefined;
}

/** In the newer era, before a request is looked at: its headers, its client's capabilities, its version. */
const neverBegunCodes: ReadonlySet<number> = new Set([-32_020, missingCapability, -32_022]);

/**
 * True where the protocol itself says that the server has not run the request. -32601 and -32602 don't:
 * the official SDK answers -32602 for a result of the tool that doesn't fit its schema, and passes on
 * whatever code a tool's own error has, both after the effect. What the SDK says of the state of a round
 * is said before the tool is called.
 * https://modelcontextprotocol.io/specification/2026-07-28/schema
 */
export function provesNotExecuted({ code, data }: UpstreamRefusal): boolean {
  if (neverBegunCodes.has(code)) return true;
  const { reason } = (data ?? {}) as { readonly reason?: unknown };
  return code === -32_602 && reason === "invalid_request_state";
}

/** The server asks back before it goes on (a multi-round-trip request); it has not finished. */
export class InputRequired extends Error {
  override readonly name = "InputRequired";
  readonly result: Readonly<Record<string, unknown>>;

  constructor(result: Readonly<Record<string, unknown>>) {
    super("the server asks for more input before it goes on");
    this.result = result;
  }
}

/** The server gave something else than a result, such as a task: it may go on, and its end is not known. */
export class UnfinishedResult extends Error {
  override readonly name = "UnfinishedResult";
}

/** The tool ran and reported an error, which may have come after the effect. */
export class ToolReportedError extends Error {
  override readonly name = "ToolReportedError";
  readonly result: Readonly<Record<string, unknown>>;

  constructor(result: Readonly<Record<string, unknown>>) {
    super(textOf(result));
    this.result = result;
  }
}

/** False for a task in place of a result. Absent means complete; the older era's tasks have no such mark, and no content. */
export function isFinished(result: Readonly<Record<string, unknown>>): boolean {
  const { resultType = "complete" } = result;
  return resultType === "complete" && !("task" in result && result["content"] === undefined);
}

/** The texts of a tool's result, joined. */
export function textsOf(result: Readonly<Record<string, unknown>>): string {
  return blocksOf(result)
    .flatMap((block) => textIn(block) ?? [])
    .join("\n");
}

/** The texts of an error that a tool reported. */
export function textOf(result: Readonly<Record<string, unknown>>): string {
  const text = textsOf(result);
  return text === "" ? "the tool reported an error without a text" : text;
}

/** True where a result holds nothing but texts, and at least one. */
export function isAllText(result: Readonly<Record<string, unknown>>): boolean {
  const blocks = blocksOf(result);
  return blocks.length > 0 && blocks.every((block) => textIn(block) !== undefined);
}

function blocksOf({ content }: Readonly<Record<string, unknown>>): readonly unknown[] {
  return Array.isArray(content) ? (content as unknown[]) : [];
}

/** The text of a block, or of the resource that it embeds. */
function textIn(block: unknown): string | undefined {
  const { text, resource } = (block ?? {}) as { text?: unknown; resource?: { text?: unknown } };
  const found = text ?? resource?.text;
  return typeof found === "string" ? found : undefined;
}
