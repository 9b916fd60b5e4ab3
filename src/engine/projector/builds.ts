/** Bringing tables up to the head before their first use: in chunks outside the lock, as long as they are far behind; the last
 *  stretch is folded under the lock, by the next batch. Several callers share one build.
 *  Invariant: a build leaves a table that goes on where it stands, whenever and wherever it ends. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import { systemClock } from "../../kernel/clock.js";
import { LedgerError } from "../../kernel/errors.js";
import { isPassing, pause } from "../begin.js";
import { advance } from "./advance.js";
import type { AdvanceOptions } from "./advance.js";
import type { Catalogue, Table } from "./catalogue.js";
import { tailMax } from "./catch-up.js";
import type { Projector } from "./projector.js";

export interface BuildsOptions extends AdvanceOptions {
  readonly catalogue: Catalogue;
  readonly projector: Projector;
  /** Has the writer run a batch. */
  readonly bringUp: () => Promise<void>;
}

export class Builds {
  private readonly options: BuildsOptions;
  private readonly running = new Map<Table, Promise<void>>();
  private closed = false;

  constructor(options: BuildsOptions) {
    this.options = options;
  }

  /** Brings tables up so far that the next batch can read them; undefined when they are. One that stopped is as ready as it gets:
   *  whoever reads it is told. */
  ready(projections: readonly AnyProjection[]): Promise<void> | undefined {
    const { catalogue, projector } = this.options;
    const waiting: Promise<void>[] = [];
    for (const projection of new Set(projections)) {
      const table = catalogue.tableOf(projection);
      if (!table.projection.async && !projector.isSettled(table)) waiting.push(this.bring(table));
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => undefined);
  }

  /** Brings a table up to the head as it is now, whatever is known of it: somebody else may have written. */
  bring(table: Table): Promise<void> {
    let running = this.running.get(table);
    if (running === undefined) {
      running = this.run(table).finally(() => this.running.delete(table));
      this.running.set(table, running);
    }
    return running;
  }

  isBuilding(table: Table): boolean {
    return this.running.has(table);
  }

  /** Ends what runs, after the chunk in hand. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.allSettled(this.running.values());
  }

  private async run(table: Table): Promise<void> {
    const { onEvent } = this.options;
    const { name, version } = table.projection;
    table.wanted = true;
    let built = false;
    for (;;) {
      if (this.closed) throw new LedgerError("CLOSED", "the ledger must be open, found it closed");
      const { went, position, head } = await advance(table, this.options, tailMax);
      if (!went) break;
      built = true;
      onEvent({ type: "building", projection: name, version, position, head });
      await immediate();
    }
    await this.runBatch();
    const position = this.options.projector.followedTo(table);
    if (built && position !== null) onEvent({ type: "built", projection: name, version, position });
  }

  /** Has the writer run a batch, again when the commit gave no answer: whoever appends must not do that twice, a build may. */
  private async runBatch(): Promise<void> {
    const deadline = systemClock.monotonic() + this.options.busyTimeoutMs;
    for (;;) {
      try {
        await this.options.bringUp();
        return;
      } catch (error) {
        if (this.closed || !isPassing(error) || systemClock.monotonic() >= deadline) throw error;
        await pause(5);
      }
    }
  }
}

/** A turn of the event loop, for whoever else lives in this process. */
function immediate(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
