/** A lock inside one process: granted in the order of asking. */
export class FairLock {
  private held = false;
  private readonly waiting: (() => void)[] = [];

  /** Waits for its turn; resolves to the function that gives the lock back. */
  async acquire(): Promise<() => void> {
    if (this.held) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.take();
  }

  /** Takes it if nobody has it; null when somebody does. */
  tryAcquire(): (() => void) | null {
    return this.held ? null : this.take();
  }

  private take(): () => void {
    this.held = true;
    let mine = true;
    return () => {
      if (!mine) return;
      mine = false;
      const next = this.waiting.shift();
      // Handed over, never let go in between: whoever asks now waits behind those who asked before.
      if (next === undefined) this.held = false;
      else next();
    };
  }
}
