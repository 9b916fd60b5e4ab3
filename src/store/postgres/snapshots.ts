/** Read connections, a few at most, each held by one snapshot at a time.
 *  Invariant: a snapshot's connection is inside a transaction that has read, so what it sees does not move. */
import { LedgerError } from "../../kernel/errors.js";
import type { StoreSnapshot } from "../../journal/store.js";
import { Lifetime } from "../lifetime.js";
import { SnapshotSlots } from "../snapshot-slots.js";
import type { DatabaseClock } from "./clock.js";
import { Connection } from "./connection.js";
import type { ConnectionOptions } from "./connection.js";
import { storeError } from "./errors.js";
import { PostgresReads, toGround } from "./reads.js";
import type { Ground, GroundColumns, Journal } from "./reads.js";

/** A connection that was not used for so long is given back to the server, which has them for all journals together. */
export const idleMsDefault = 10_000;

export interface SnapshotOptions {
  readonly journal: Journal;
  readonly connecting: ConnectionOptions;
  readonly clock: DatabaseClock;
  readonly idleMs?: number;
}

export class SnapshotPool {
  private readonly options: SnapshotOptions;
  /** The one that was used last is at the end. */
  private readonly idle: { readonly connection: Connection; readonly since: number }[] = [];
  private readonly idleMs: number;
  private resting: NodeJS.Timeout | null = null;
  private readonly used = new Map<Connection, Lifetime>();
  private readonly slots: SnapshotSlots;
  private closed = false;

  constructor(options: SnapshotOptions) {
    this.options = options;
    this.slots = new SnapshotSlots(options.journal.shown, options.connecting.timeoutMs);
    this.idleMs = options.idleMs ?? idleMsDefault;
  }

  async take(waitMs?: number): Promise<StoreSnapshot> {
    await this.slots.take(waitMs);
    try {
      const [connection, ground] = await this.pin();
      const lifetime = new Lifetime();
      this.used.set(connection, lifetime);
      return new PostgresSnapshot(this.options.journal, connection, ground, lifetime, () => this.release(connection));
    } catch (cause) {
      this.slots.give();
      throw storeError(cause, this.options.journal.shown, "reading");
    }
  }

  /** Closes idle connections. A snapshot in use goes on: it has read, and what it sees does not move. */
  reset(): void {
    for (const { connection } of this.idle.splice(0)) connection.destroy();
  }

  /** Ends all snapshots, those in use too. */
  async close(): Promise<void> {
    this.closed = true;
    for (const lifetime of this.used.values()) lifetime.close();
    for (const connection of this.used.keys()) connection.destroy();
    const idle = this.idle.splice(0);
    this.used.clear();
    this.slots.close();
    await Promise.all(idle.map(({ connection }) => connection.close()));
  }

  /** A connection inside a transaction that has read. One that has stood idle may be gone without having said so: then another
   *  one is asked, and the last is a new one. */
  private async pin(): Promise<readonly [Connection, Ground]> {
    for (;;) {
      this.checkOpen();
      const used = this.idle.pop()?.connection;
      if (used?.broken === true) continue;
      const connection = used ?? (await Connection.open(this.options.connecting, "reads"));
      try {
        const ground = await this.begin(connection);
        this.checkOpen(); // else nobody would end a connection that was on its way
        return [connection, ground];
      } catch (cause) {
        connection.destroy();
        if (used === undefined) throw cause;
      }
    }
  }

  private checkOpen(): void {
    if (this.closed) throw new LedgerError("CLOSED", "the store must be open, found it closed");
  }

  private async begin(connection: Connection): Promise<Ground> {
    const { journal, clock } = this.options;
    const askedAt = performance.now();
    const answers = [
      connection.command("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
      connection.rows<GroundColumns>(journal.statements.ground),
    ] as const;
    for (const answer of answers) answer.catch(() => {}); // the first one that fails is told
    const [, [row]] = [await answers[0], await answers[1]];
    const ground = toGround(row!); // it has one row, whatever there is
    journal.identity.require(ground.first);
    clock.hear(ground.now, askedAt);
    return ground;
  }

  private release(connection: Connection): void {
    if (!this.used.delete(connection)) return;
    // It read only: nothing is lost, and a connection that cannot end its transaction is not used again.
    if (!connection.broken) {
      connection.command("ROLLBACK").catch(() => connection.destroy());
      this.idle.push({ connection, since: performance.now() });
      this.watchIdle();
    } else connection.destroy();
    this.slots.give();
  }

  private watchIdle(): void {
    const [longest] = this.idle;
    if (longest === undefined || this.resting !== null) return;
    const rest = (): void => {
      this.resting = null;
      const until = performance.now() - this.idleMs;
      while (this.idle[0] !== undefined && this.idle[0].since <= until) void this.idle.shift()?.connection.close();
      this.watchIdle();
    };
    // A timer may come a little early.
    this.resting = setTimeout(rest, longest.since + this.idleMs - performance.now() + 1).unref();
  }
}

class PostgresSnapshot extends PostgresReads implements StoreSnapshot {
  private readonly lifetime: Lifetime;
  private readonly giveBack: () => void;

  constructor(journal: Journal, connection: Connection, ground: Ground, lifetime: Lifetime, giveBack: () => void) {
    super(journal, {
      connection,
      ground,
      prepare: () => {
        lifetime.require();
        return undefined;
      },
    });
    this.lifetime = lifetime;
    this.giveBack = giveBack;
  }

  async release(): Promise<void> {
    if (!this.lifetime.open) return;
    this.lifetime.end();
    this.giveBack();
  }
}
