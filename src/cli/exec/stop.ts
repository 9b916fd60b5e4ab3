/** Why the command is to end before it does by itself, once something says so.
 *  Invariant: the first reason stands, but for a claim that is lost: then nothing may be written any more. */

export type StopReason =
  | { readonly type: "drained"; readonly signal: NodeJS.Signals }
  | { readonly type: "cancelled"; readonly reason: string }
  | { readonly type: "lost"; readonly error: Error };

export class Stop {
  private stopped: StopReason | null = null;
  private resolve: () => void = () => {};
  /** Resolves when there is a reason. */
  readonly asked: Promise<void> = new Promise((resolve) => (this.resolve = resolve));

  why(): StopReason | null {
    return this.stopped;
  }

  because(reason: StopReason): void {
    if (this.stopped === null || reason.type === "lost") this.stopped = reason;
    this.resolve();
  }
}
