/** Transactions that are begun on what the last transaction of this process left (its ground), without waiting for the lock.
 *  Decision 0030 has the drawing and the words. A ground that is wrong costs time alone: the guard compares it under the lock with
 *  what is there, and a transaction whose guard fails writes nothing.
 *  Invariants: no transaction is begun so while other processes write, nor later than a second after the last one; an answer of the
 *  second connection is used only when it is as of a head that includes every commit acknowledged here. */
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

/** What a guard answers that found the ground to be as assumed; any other fails. */
export type GuardColumns = readonly [one: number, now: number, two: number];

/** Makes the statements that begin a transaction: BEGIN, the lock, and the guard, which fails when one of these streams is there. */
export type Opening = (streams: readonly string[]) => readonly Ask[];

/** A transaction that is to be begun without waiting for the lock. */
export interface Assumed {
  /** What it is decided on; the guard compares it. */
  readonly ground: Ground;
  readonly opening: Opening;
  /** Did something fail in this process since `assume`? Then the ground is not what the journal will be, and the guard would fail. */
  readonly isVoid: () => boolean;
}

/** So many times in a row the lock must have been had with the journal as this process left it. */
const calmMin = 3;
/** So many unknown streams in a row must have been new before unknown streams are taken for new again. */
const newMin = 256;
/** For so long after it was left a ground is worth trying: others may have written since. */
const freshMs = 1_000;

/** What this process knows of the journal between its transactions, and whether the next one may rest on it. */
export class Standing {
  private readonly journal: Journal;
  private readonly connecting: ConnectionOptions;
  /** The ground that the last transaction leaves, which may still be on its way; null when the next one must wait for the lock. */
  private left: Ground | null = null;
  private leftAt = 0;
  /** How many times in a row the lock was had with the journal as this process left it. */
  private calm = 0;
  /** Position of the last head whose commit was acknowledged; -1 when none is known. */
  committed = -1;
  /** Counts failures, within this process alone: a transaction that was assumed under another count is void. No turn, which is stored. */
  private epoch = 0;
  private asking: Promise<Connection> | null = null;
  /** Are streams of which nothing is known taken for new? Until one of them was there. */
  takesForNew = true;
  /** How many in a row turned out to be new since one was there. */
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

  /** A transaction waited for the lock and has it: is the journal as this process left it? */
  found(isMine: boolean): void {
    this.calm = isMine ? this.calm + 1 : 0;
  }

  /** The COMMIT of a transaction is on its way; the journal will be this ground. */
  leave(ground: Ground): void {
    this.left = ground;
    this.leftAt = performance.now();
  }

  /** The commit that has this head was acknowledged. */
  confirm(head: StoreHead | null): void {
    if (head !== null) this.committed = head.seq;
  }

  /** A transaction failed, another process wrote, or the connection is gone: the next transactions wait for the lock, and those that
   *  were assumed are void. */
  forget(): void {
    this.left = null;
    this.calm = 0;
    this.committed = -1;
    this.epoch++;
  }

  /** Begins a transaction on the ground that was left last; null when the lock must be waited for. */
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

  /** A stream that was taken for new was there: unknown ones are asked for from now on. */
  wasThere(): void {
    this.takesForNew = false;
    this.newInARow = 0;
  }

  /** Reads streams of which nothing is known here on a second connection, while commits are on their way on the first. No commit on its
   *  way touches them, or they would be known; so their rows as of what was acknowledged are their rows as of the ground, if nobody
   *  else writes, which the guard finds out. Null when the answer is older than what was acknowledged, or there is none. */
  async streamsAside(names: readonly string[]): Promise<ReadonlyMap<string, StreamRow> | null> {
    const { committed } = this;
    if (committed < 0) return null; // there is nothing yet that an answer could be compared with
    this.askers++;
    try {
      const connection = await (this.asking ??= Connection.open(this.connecting, "reads"));
      const rows = await connection.rows<AsideColumns>(this.journal.statements.streamsAside, [names]);
      if ((rows[0]?.[0] ?? -1) < committed) return null;
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

  /** Gives the second connection back to the server. */
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

/** In the words of the guard's query. */
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
