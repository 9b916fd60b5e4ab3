import type { DocumentWrite, FoldedMark, ProjectionRow } from "../../journal/documents.js";
import type {
  ConsumerRow,
  ContentRow,
  DurableStep,
  EntryRow,
  FaultSeam,
  StoredCheckpoint,
  StoreTransaction,
  TreeNode,
} from "../../journal/store.js";
import { invariant } from "../../kernel/errors.js";
import { requireCompleted } from "../completed-nodes.js";
import { Lifetime } from "../lifetime.js";
import { addTable, dropTable, putMark, putRow, writeDocuments } from "./documents.js";
import type { DocumentState } from "./documents.js";
import { MemoryReads } from "./reads.js";
import type { Extent, MemoryRows } from "./rows.js";

/** What a transaction needs of its store: `end` gives the write lock back, with what is committed from now on. */
export interface TransactionHost {
  readonly rows: MemoryRows;
  readonly committed: Extent;
  readonly faults: FaultSeam | undefined;
  end(committed: Extent): void;
}

/** The one open write transaction of a memory store. Rows are added as they come and cut off again when it is undone;
 *  what takes something away waits for the commit. */
export class MemoryTransaction extends MemoryReads implements StoreTransaction {
  private readonly host: TransactionHost;
  private readonly lifetime: Lifetime;
  private readonly erased: Map<number, number>;
  private checkpointList: readonly StoredCheckpoint[];
  private consumerList: readonly ConsumerRow[];
  private documentState: DocumentState;

  constructor(host: TransactionHost) {
    const lifetime = new Lifetime();
    const erased = new Map<number, number>();
    super(
      host.rows,
      () => this.reach(),
      () => lifetime.require(),
      erased,
    );
    this.host = host;
    this.lifetime = lifetime;
    this.erased = erased;
    this.checkpointList = host.committed.checkpoints;
    this.consumerList = host.committed.consumers;
    this.documentState = host.committed.documents;
  }

  async append(
    entries: readonly EntryRow[],
    contents: readonly ContentRow[],
    nodes: readonly TreeNode[],
  ): Promise<void> {
    this.lifetime.require();
    const { rows } = this.host;
    this.step("contents", () => contents.forEach((row) => rows.addContent(row)));
    const before = rows.entries.length;
    this.step("entries", () => entries.forEach((row) => rows.addEntry(row)));
    this.step("nodes", () => {
      requireCompleted(before, rows.entries.length, nodes);
      nodes.forEach((node) => rows.addNode(node));
    });
  }

  async erase(numbers: readonly number[], position: number): Promise<void> {
    this.lifetime.require();
    const { rows } = this.host;
    this.step("erase", () => {
      requireEntry(position, rows.entries.length);
      for (const n of numbers) {
        const row = rows.contents[n - 1];
        invariant(
          row !== undefined && "bytes" in row && !this.erased.has(n),
          `content ${n} must be stored to be erased`,
        );
        this.erased.set(n, position);
      }
    });
  }

  async putCheckpoint({ size, note }: StoredCheckpoint): Promise<void> {
    this.lifetime.require();
    requireEntry(size - 1, this.host.rows.entries.length);
    this.step("operational", () => {
      const others = this.checkpointList.filter((each) => each.size !== size);
      this.checkpointList = [...others, { size, note }].sort((one, other) => other.size - one.size);
    });
  }

  async putConsumer(consumer: ConsumerRow): Promise<void> {
    this.lifetime.require();
    this.step("operational", () => {
      const others = this.consumerList.filter(({ name }) => name !== consumer.name);
      const claim = consumer.claim === null ? null : { ...consumer.claim };
      this.consumerList = [...others, { ...consumer, claim }].sort((one, other) => inByteOrder(one.name, other.name));
    });
  }

  async deleteConsumer(name: string): Promise<void> {
    this.lifetime.require();
    this.step("operational", () => (this.consumerList = this.consumerList.filter((each) => each.name !== name)));
  }

  async addProjection(row: Omit<ProjectionRow, "id">): Promise<number> {
    this.change("projections", (state) => addTable(state, row));
    return this.documentState.lastId;
  }

  async putProjection(row: ProjectionRow): Promise<void> {
    this.change("projections", (state) => putRow(state, row));
  }

  async dropProjection(id: number): Promise<void> {
    this.change("projections", (state) => dropTable(state, id));
  }

  async putFolded(mark: FoldedMark): Promise<void> {
    this.change("projections", (state) => putMark(state, mark));
  }

  async putDocuments(table: number, writes: readonly DocumentWrite[]): Promise<void> {
    this.change("documents", (state) => writeDocuments(state, table, writes));
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
    const { rows, committed: before } = this.host;
    if (committed) for (const [n, position] of this.erased) rows.erase(n, position);
    else rows.cut(before);
    this.host.end(committed ? this.reach() : before);
  }

  private change(step: "projections" | "documents", act: (state: DocumentState) => DocumentState): void {
    this.lifetime.require();
    this.step(step, () => (this.documentState = act(this.documentState)));
  }

  private reach(): Extent {
    const { entries, contents } = this.host.rows;
    return {
      entries: entries.length,
      contents: contents.length,
      checkpoints: this.checkpointList,
      consumers: this.consumerList,
      documents: this.documentState,
    };
  }

  private step(name: DurableStep, act: () => void): void {
    this.host.faults?.(name, "before");
    act();
    this.host.faults?.(name, "after");
  }
}

function requireEntry(position: number, entries: number): void {
  invariant(position >= 0 && position < entries, `an entry must stand at ${position}, found ${entries} entries`);
}

function inByteOrder(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
