/** What the journal was left as by the last transaction of this process, for the next one to begin on without waiting for the lock.
 *  Nothing rests on it: under the lock the server compares it with what is there, and where it is not so nothing is written.
 *  Invariants: it is not tried where others wrote of late, nor long after; everything that is asked of another connection is as of a
 *  head that includes all that was acknowledged here. */
import type { StoreHead } from "../../journal/store.js";
import type { Ask } from "./ask.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import { toStreams } from "./reads.js";
import type { Ground, Journal, StreamColumns, StreamRow } from "./reads.js";

export const begin: Ask = {
  statement: { name: "begin", text: "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE" },
  values: [],
};

/** What the guard answers, when it answers. */
export type GuardColumns = readonly [one: number, now: number, two: number];

/** What begins a transaction that takes these streams for new. */
export type Opening = (streams: readonly string[]) => readonly Ask[];

/** What a transaction is begun on. */
export interface Assumed {
  readonly ground: Ground;
  /** What begins it, and compares; these streams must not be there. */
  readonly opening: Opening;
  /** Did one fail that it rests on? */
  readonly isVoid: () => boolean;
}

/** So many times in a row nobody else must have written. */
const calmMin = 3;
/** So many streams in a row must be new before others are taken for it. */
const newMin = 256;
/** For so long it is worth trying: others may have come since. */
const freshMs = 1_000;

export class Standing {
  private readonly journal: Journal;
  private readonly connecting: ConnectionOptions;
  private left: Ground | null = null;
  private leftAt = 0;
  private calm = 0;
  /** The last head that is known to be committed. */
  private committed = -1;
  /** Changes with everything that fails. */
  private epoch = 0;
  private asking: Promise<Connection> | null = null;
  /** Are streams of which nothing is known taken for new? As long as they are. */
  takesForNew = true;
  /** How many were new in a row since. */
  private newInARow = 0;
  private readonly idleMs: number;
  /** How many ask on the other connection just now, and when one did last. */
  private askers = 0;
  private askedAt = 0;
  private resting: NodeJS.Timeout | null = null;

  constructor(journal: Journal, connecting: ConnectionOptions, idleMs: number) {
    this.journal = journal;
    this.connecting = connecting;
    this.idleMs = idleMs;
  }

  /** The lock was had: was the journal as it was left here? */
  found(isMine: boolean): void {
    this.calm = isMine ? this.calm + 1 : 0;
  }

  /** A transaction that is on its way leaves this. */
  leave(ground: Ground): void {
    this.left = ground;
    this.leftAt = performance.now();
  }

  confirm(head: StoreHead | null): void {
    if (head !== null) this.committed = head.seq;
  }

  /** Something failed, or all is to be read again. */
  forget(): void {
    this.left = null;
    this.calm = 0;
    this.committed = -1;
    this.epoch++;
  }

  assume(): Assumed | null {
    const { left, epoch } = this;
    if (left?.head == null || this.calm < calmMin || performance.now() - this.leftAt > freshMs) return null;
    const { lock, guard } = this.journal.statements;
    const { seq, id } = left.head;
    const values = [seq, id, tablesOf(left), foldedOf(left), left.turn];
    return {
      ground: { ...left, tables: new Map(left.tables) },
      opening: (streams) => [
        begin,
        { statement: lock, values: [] },
        { statement: guard, values: [...values, streams.length === 0 ? null : streams] },
      ],
      isVoid: () => this.epoch !== epoch,
    };
  }

  /** A stream was there that was taken for new. */
  wasThere(): void {
    this.takesForNew = false;
    this.newInARow = 0;
  }

  /** Streams of which nothing is known here, asked on another connection while commits are on their way: as nobody else writes, they
   *  are what they are as of what was acknowledged. Null where the answer is of an earlier head, or none is to be had. */
  async streamsAside(names: readonly string[]): Promise<ReadonlyMap<string, StreamRow> | null> {
    const { committed } = this;
    this.askers++;
    try {
      const connection = await (this.asking ??= Connection.open(this.connecting, "reads"));
      const rows = await connection.rows<AsideColumns>(this.journal.statements.streamsAside, [names]);
      if (committed < 0 || (rows[0]?.[0] ?? -1) < committed) return null;
      // Nobody here has written to these: what is behind the last that was acknowledged is another one's, and the guard will say so.
      if (rows.some(([, name, , , seq]) => name !== null && seq > committed)) return null;
      const found = toStreams(
        rows.flatMap(([, name, ...row]) => (name === null ? [] : [[name, ...row] as StreamColumns])),
      );
      this.newInARow = found.size > 0 ? 0 : this.newInARow + names.length;
      if (this.newInARow >= newMin) this.takesForNew = true;
      return found;
    } catch {
      await this.rest();
      return null; // the transaction asks for itself
    } finally {
      this.askers--;
      this.askedAt = performance.now();
      this.watchIdle();
    }
  }

  /** Gives the other connection back. */
  async rest(): Promise<void> {
    const { asking } = this;
    this.asking = null;
    await asking?.then(
      (connection) => connection.close(),
      () => {},
    );
  }

  /** Who goes on writing may never need it again. */
  private watchIdle(): void {
    if (this.asking === null || this.askers > 0) return;
    const rest = (): void => {
      this.resting = null;
      if (performance.now() - this.askedAt < this.idleMs) this.watchIdle();
      else if (this.askers === 0) void this.rest();
    };
    // A timer may come a little early.
    this.resting ??= setTimeout(rest, this.askedAt + this.idleMs - performance.now() + 1).unref();
  }
}

type AsideColumns = readonly [head: number | null, name: string | null, id: number, rev: number, seq: number];

/** As the guard puts them into words. */
function tablesOf({ tables }: Ground): string | null {
  if (tables.size === 0) return null;
  return [...tables]
    .sort(([a], [b]) => a - b)
    .map((each) => each.join(":"))
    .join(",");
}

function foldedOf({ folded }: Ground): string | null {
  return folded === null
    ? null
    : folded
        .filter((each) => each !== null)
        .map(String)
        .join(":");
}
