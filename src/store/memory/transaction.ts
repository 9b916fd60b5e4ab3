import type { ContentRow, EntryRow, FaultSeam, StoreTransaction } from "../../journal/store.js";
import { Lifetime } from "../lifetime.js";
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
  private readonly lifetime: Lifetime;
  private readonly before: Extent;

  constructor(host: TransactionHost) {
    const lifetime = new Lifetime();
    super(
      host.rows,
      () => host.rows.extent(),
      () => lifetime.require(),
    );
    this.host = host;
    this.lifetime = lifetime;
    this.before = host.rows.extent();
  }

  async append(entries: readonly EntryRow[], contents: readonly ContentRow[]): Promise<void> {
    this.lifetime.require();
    this.step("contents", () => contents.forEach((row) => this.host.rows.addContent(row)));
    this.step("entries", () => entries.forEach((row) => this.host.rows.addEntry(row)));
  }

  async commit(): Promise<void> {
    this.lifetime.require();
    this.lifetime.end();
    let committed = false;
    try {
      this.step("commit", () => (committed = true));
    } finally {
      this.settle(committed);
    }
  }

  async rollback(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.end();
    this.settle(false);
  }

  /** Undoes it because its store is closed. */
  abandon(): void {
    if (!this.lifetime.open) return;
    this.lifetime.close();
    this.settle(false);
  }

  private settle(committed: boolean): void {
    if (!committed) this.host.rows.cut(this.before);
    this.host.end(committed);
  }

  private step(name: "contents" | "entries" | "commit", act: () => void): void {
    this.host.faults?.(name, "before");
    act();
    this.host.faults?.(name, "after");
  }
}
