/**
 * A gate: closed until it is opened, then open for good.
 *
 * @module
 */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** A closed gate. */
export function gate(): Gate {
  const opens: (() => void)[] = [];
  const opened = new Promise<void>((resolve) => opens.push(resolve));
  return { opened, open: () => opens.forEach((open) => open()) };
}
