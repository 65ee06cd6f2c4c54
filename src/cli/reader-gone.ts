/**
 * What to do when the reader of standard output goes away (`| head`): that is no error.
 *
 * @module
 */

let leave = (): void => process.exit(0);

/** Replaces the way to leave, for a command that has to clear something away first. */
export function leaveBy(how: () => void): void {
  leave = how;
}

/** Starts to watch standard output. */
export function watchReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    leave();
  });
}
