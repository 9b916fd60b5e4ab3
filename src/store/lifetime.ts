import { invariant, LedgerError } from "../kernel/errors.js";

/** How long a transaction or a snapshot may be used. Using one that was given back is a bug of the caller; one whose store
 *  was closed under it is told so. */
export class Lifetime {
  private state: "open" | "ended" | "closed" = "open";

  get open(): boolean {
    return this.state === "open";
  }

  /** Refuses unless it may still be used. */
  require(): void {
    if (this.state === "closed") throw new LedgerError("CLOSED", "the store must be open, found it closed");
    invariant(this.state === "open", "a transaction or snapshot that was given back must not be used");
  }

  /** It was given back. */
  end(): void {
    if (this.open) this.state = "ended";
  }

  /** Its store was closed. */
  close(): void {
    if (this.open) this.state = "closed";
  }
}
