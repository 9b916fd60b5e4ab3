/** Async projections: each follows the journal on its own, behind the commits of every process, with documents and position in
 *  one transaction. Of several processes that follow at once each chunk is written by one; the others are told.
 *  Invariant: it ends with the ledger, with a failure of its own, and with nothing else: while the store is away it waits. */
import { isPassing, pause } from "../begin.js";
import { backgroundTimers, HeadWatch } from "../head-watch.js";
import { withSnapshot } from "../snapshot.js";
import { advance } from "./advance.js";
import type { AdvanceOptions } from "./advance.js";
import type { Catalogue, Table } from "./catalogue.js";

const pauseMs = 50;

export class Followers {
  private readonly options: AdvanceOptions;
  private readonly watch: HeadWatch;
  private readonly running: readonly Promise<void>[];
  private readonly stopWaiting = new Set<() => void>();
  private closed = false;

  constructor(options: AdvanceOptions, catalogue: Catalogue) {
    this.options = options;
    const readHead = async (): Promise<number> =>
      withSnapshot(options.store, async (reads) => (await reads.head())?.seq ?? -1);
    this.watch = new HeadWatch(readHead, (hint) => options.store.listen(hint), backgroundTimers);
    const tables = options.store.readOnly ? [] : catalogue.tables.filter(({ projection }) => projection.async);
    this.running = tables.map((table) => this.follow(table));
  }

  /** The journal is known to go on up to this position. */
  committed(position: number): void {
    this.watch.hint(position);
  }

  /** Ends them, after the chunk in hand. */
  async close(): Promise<void> {
    this.closed = true;
    for (const stop of this.stopWaiting) stop();
    await Promise.all(this.running);
  }

  private async follow(table: Table): Promise<void> {
    let position = -1;
    while (!this.closed && !table.tried && table.stopAt(position) === null) {
      try {
        const advanced = await advance(table, this.options, 0);
        position = advanced.position;
        if (!advanced.went) await this.moved(advanced.head);
      } catch (error) {
        if (isPassing(error)) await pause(pauseMs);
        else this.stop(table, position, error as Error);
      }
    }
  }

  /** Resolves when the head is no longer at a position, or nobody waits any more. */
  private async moved(position: number): Promise<void> {
    await new Promise<void>((resolve) => {
      if (this.closed) return resolve();
      const forget = this.watch.wait(position, end);
      const { stopWaiting } = this;
      function end(): void {
        stopWaiting.delete(stop);
        resolve();
      }
      function stop(): void {
        forget();
        end();
      }
      stopWaiting.add(stop);
    });
  }

  private stop(table: Table, position: number, error: Error): void {
    const { name, version } = table.projection;
    table.stop(position, error);
    this.options.onEvent({ type: "stopped", projection: name, version, position: position + 1, error });
  }
}
