/** Steps that run at the same time, and quiescence: nothing is over before everything that was begun has ended, also what a step
 *  began after an await of its own. Source: case L04. */

export class Steps {
  private readonly open = new Set<Promise<void>>();
  private failure: { readonly error: unknown } | null = null;
  begun = 0;
  ended = 0;

  /** Begins a step. Whoever begins it need not wait for it. */
  begin(step: () => Promise<void>): void {
    this.begun++;
    const running: Promise<void> = step().then(
      () => this.end(running),
      (error: unknown) => {
        this.failure ??= { error };
        this.end(running);
      },
    );
    this.open.add(running);
  }

  /** Waits until none is open, and throws the first error of a step. */
  async settled(): Promise<void> {
    while (this.open.size > 0) await Promise.all(this.open);
    const { failure } = this;
    this.failure = null;
    if (failure !== null) throw failure.error;
  }

  private end(running: Promise<void>): void {
    this.open.delete(running);
    this.ended++;
  }
}
