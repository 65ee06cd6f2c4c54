/** A gate that so many have to reach before any goes on; later ones pass. */
export function meeting(count: number): () => Promise<void> {
  let arrived = 0;
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return async () => {
    arrived += 1;
    if (arrived === count) open();
    await opened;
  };
}
