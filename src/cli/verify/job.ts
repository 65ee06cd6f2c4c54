/**
 * What is said between `verify` and a worker that it is going to kill.
 *
 * @module
 */

/** One call, to be made by a process of its own. */
export interface Job {
  readonly file: string;
  /** Which check of the file, from 0. */
  readonly index: number;
  readonly n: number;
  readonly id: string;
  readonly clockAheadMs: number;
  /** Null: the check opens its own store. */
  readonly store: { readonly location: string; readonly schema: string | null } | null;
}

/** What the worker says: the effects it sees, at the point where it is to die; or why it got no further. */
export type Word = { readonly effects: number } | { readonly ended: string };
