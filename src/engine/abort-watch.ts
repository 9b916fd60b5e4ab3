/** Hears of aborts on behalf of what waits.
 *  Invariant: one listener a signal while something waits behind it, and none afterwards: a signal may outlive millions of
 *  appends, and may be behind thousands of them at once. */
export class AbortWatch<T> {
  private readonly watched = new Map<AbortSignal, { readonly items: Set<T>; readonly listener: () => void }>();
  private readonly aborted: (item: T, signal: AbortSignal) => void;

  constructor(aborted: (item: T, signal: AbortSignal) => void) {
    this.aborted = aborted;
  }

  /** Tells of the item when the signal is aborted before it is deleted. */
  add(item: T, signal: AbortSignal): void {
    const known = this.watched.get(signal);
    if (known !== undefined) {
      known.items.add(item);
      return;
    }
    const items = new Set([item]);
    const listener = (): void => {
      this.watched.delete(signal);
      for (const each of items) this.aborted(each, signal);
    };
    signal.addEventListener("abort", listener, { once: true });
    this.watched.set(signal, { items, listener });
  }

  /** Watches no longer. */
  delete(item: T, signal: AbortSignal): void {
    const known = this.watched.get(signal);
    if (known === undefined || !known.items.delete(item) || known.items.size > 0) return;
    signal.removeEventListener("abort", known.listener);
    this.watched.delete(signal);
  }
}
