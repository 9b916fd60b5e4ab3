import { invariant } from "../../kernel/errors.js";
import type { ContentRow, EntryRow, FaultSeam, StoreTransaction } from "../../journal/store.js";
import { MemoryReads } from "./reads.js";
import type { Extent, MemoryRows } from "./rows.js";

/** What a transaction needs of its store: `end` gives the write lock back. */
export interface TransactionHost {
  readonly rows: MemoryRows;
  readonly faults: FaultSeam | undefined;
  end(committed: boolean): void;
}

/** The one open write transaction of a memory store. */
export class MemoryTransaction extends MemoryReads implements StoreTransaction {
  private readonly host: TransactionHost;
  private readonly state: { open: boolean };
  private readonly before: Extent;

  constructor(host: TransactionHost) {
    const state = { open: true };
    super(
      host.rows,
      () => host.rows.extent(),
      () => invariant(state.open, "a transaction that ended must not be used"),
    );
    this.host = host;
    this.state = state;
    this.before = host.rows.extent();
  }

  async append(entries: readonly EntryRow[], contents: readonly ContentRow[]): Promise<void> {
    invariant(this.state.open, "a transaction that ended must not be used");
    this.step("contents", () => contents.forEach((row) => this.host.rows.addContent(row)));
    this.step("entries", () => entries.forEach((row) => this.host.rows.addEntry(row)));
  }

  async commit(): Promise<void> {
    invariant(this.state.open, "a transaction that ended must not be used");
    let committed = false;
    try {
      this.step("commit", () => (committed = true));
    } finally {
      this.end(committed);
    }
  }

  async rollback(): Promise<void> {
    if (this.state.open) this.end(false);
  }

  private end(committed: boolean): void {
    this.state.open = false;
    if (!committed) this.host.rows.cut(this.before);
    this.host.end(committed);
  }

  private step(name: "contents" | "entries" | "commit", act: () => void): void {
    this.host.faults?.(name, "before");
    act();
    this.host.faults?.(name, "after");
  }
}
