/**
 * What becomes of each request that the tool sends: the fault plan of a check, played around the
 * tool's own `execute`.
 *
 * @module
 */
import type { Tool } from "../../guard/tool.ts";
import type { Awaitable, ProviderFaults } from "./options.ts";

/** What happens to one request. */
export type Send =
  /** It takes effect, and then this error is thrown in place of the reply. */
  | { readonly kind: "lose-reply"; readonly error: unknown }
  /** It never leaves; this error is thrown as if the provider had turned it away. */
  | { readonly kind: "turn-away"; readonly error: unknown }
  /** The provider's sandbox is told to misbehave, and then the request goes out. */
  | { readonly kind: "arranged"; readonly arrange: () => Awaitable<unknown> };

/** A tool whose first requests meet these faults; later ones go out as they are. */
export interface FaultyTool {
  readonly tool: Tool;
  /** How many requests were begun. */
  sends(): number;
}

/** What happens around each request. */
export interface SendHooks {
  /** Awaited by each request first. */
  readonly beforeSend?: (() => Promise<void>) | undefined;
  readonly afterSend: () => void;
  /** A fault could not be arranged; the tool must not be blamed for it. */
  readonly arrangeFailed: (error: unknown) => void;
}

/** Wraps the tool. */
export function faultyTool(tool: Tool, plan: readonly Send[], hooks: SendHooks): FaultyTool {
  let sends = 0;
  const execute: Tool["execute"] = async (args, call) => {
    const send = plan[sends];
    sends += 1;
    await hooks.beforeSend?.();
    if (send?.kind === "turn-away") throw send.error;
    if (send?.kind === "arranged") await arrange(send, hooks);
    try {
      const result = await tool.execute(args, call);
      if (send?.kind === "lose-reply") throw send.error;
      return result;
    } finally {
      hooks.afterSend();
    }
  };
  return { tool: Object.freeze({ ...tool, execute }), sends: () => sends };
}

async function arrange(send: Extract<Send, { kind: "arranged" }>, hooks: SendHooks): Promise<void> {
  try {
    await send.arrange();
  } catch (error) {
    hooks.arrangeFailed(error);
    throw error;
  }
}

/** An error as most SDKs shape it. */
class StandInError extends Error {
  override readonly name: string;
  readonly code: string;
  readonly status: number | undefined;
  readonly statusCode: number | undefined;

  constructor(message: string, name: string, code: string, status?: number) {
    super(message);
    this.name = name;
    this.code = code;
    this.status = status;
    this.statusCode = status;
  }
}

/** The error of a call that no answer came to. */
export function timeoutError(faults: ProviderFaults): unknown {
  return (
    faults.errorFor?.("timeout") ??
    new StandInError("the request timed out, no answer came", "TimeoutError", "ETIMEDOUT")
  );
}

/** The error of a call that was answered with this status. */
export function statusError(faults: ProviderFaults, status: number): unknown {
  return (
    faults.errorFor?.(status) ??
    new StandInError(`the provider answered ${status}`, "ProviderAnswer", `HTTP_${status}`, status)
  );
}

/** The reply is lost after the effect. */
export function dropReply(faults: ProviderFaults): Send {
  return faults.dropReply === undefined
    ? { kind: "lose-reply", error: timeoutError(faults) }
    : { kind: "arranged", arrange: () => faults.dropReply?.() };
}

/** The request is answered with a status, with or without its effect. */
export function answerWith(faults: ProviderFaults, status: number, effect: boolean): Send {
  if (faults.answer !== undefined)
    return { kind: "arranged", arrange: () => faults.answer?.(status, { effect }) };
  return { kind: effect ? "lose-reply" : "turn-away", error: statusError(faults, status) };
}
