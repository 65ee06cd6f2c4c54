/**
 * The MCP door: guarded tools in a server written with the official SDK. The gateway is a command,
 * `nevertwice gateway`.
 *
 * @module
 */
export {
  type AuthInfo,
  type GuardToolsOptions,
  type ServedTool,
  guardTools,
  throwIfReported,
} from "./guard-tools.ts";
export { broughtIntent } from "./brought-intent.ts";
export type { ContextPolicy, IdSource } from "./caller-context.ts";
export { metaNames } from "./names.ts";
export { ToolReportedError } from "./upstream-errors.ts";
