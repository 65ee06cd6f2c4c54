/**
 * Progress of long work, on standard error: one line that is rewritten on a terminal, a line now and
 * then elsewhere, nothing for machines.
 *
 * @module
 */

/** Told often, prints seldom. */
export class Progress {
  readonly #stream = process.stderr;
  readonly #silent: boolean;
  readonly #everyMs: number;
  #lastAtMs = performance.now();
  #shown = false;

  constructor(options: { json: boolean }) {
    this.#silent = options.json;
    this.#everyMs = this.#stream.isTTY ? 200 : 5000;
  }

  /** Says how far the work is; `text` is asked for only when it is printed. */
  tell(text: () => string): void {
    const nowMs = performance.now();
    if (this.#silent || nowMs - this.#lastAtMs < this.#everyMs) return;
    this.#lastAtMs = nowMs;
    this.#stream.write(this.#stream.isTTY ? `\r\u001b[K${text()}` : `${text()}\n`);
    this.#shown = true;
  }

  /** Clears the line; to be called before anything else is printed. */
  end(): void {
    if (this.#shown && this.#stream.isTTY) this.#stream.write("\r\u001b[K");
    this.#shown = false;
  }
}
