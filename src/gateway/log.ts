/**
 * The gateway's log: JSON lines on standard error, for standard output may carry the protocol.
 *
 * @module
 */
import { type Logger, destination, pino } from "pino";

export type { Logger } from "pino";

/** Arguments and results are never logged, only names, keys, codes and spans. */
export function createLog(level: string): Logger {
  return pino(
    { level, base: { name: "nevertwice-gateway" } },
    destination({ dest: 2, sync: true }),
  );
}
