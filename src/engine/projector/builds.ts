/** Bringing tables up to the head before their first use: in chunks outside the lock, as long as they are far behind; the last
 *  stretch is folded under the lock, by the next batch. Several callers share one build; in the background none waits for it,
 *  but for the last stretch.
 *  Invariant: a build leaves a table that goes on where it stands, whenever and wherever it ends. */
import type { AnyProjection } from "../../../projections/define-projection.js";
import { systemClock } from "../../kernel/clock.js";
import { LedgerError } from "../../kernel/errors.js";
import { isPassing, pause } from "../begin.js";
import { withSnapshot } from "../snapshot.js";
import type { BuildsMode } from "../types.js";
import { Waits } from "../waits.js";
import { advance, canAdvance } from "./advance.js";
import type { AdvanceOptions } from "./advance.js";
import type { Catalogue, Table } from "./catalogue.js";
import { tailMax } from "./catch-up.js";
import { placeOf } from "./place.js";
import type { Projector } from "./projector.js";
import { notReady } from "./standing.js";
import type { Progress } from "./standing.js";

export interface BuildsOptions extends AdvanceOptions {
  readonly mode: BuildsMode;
  readonly catalogue: Catalogue;
  readonly projector: Projector;
  /** Has the writer run a batch. */
  readonly bringUp: () => Promise<void>;
}

interface Build {
  done: Promise<void>;
  /** Is it too far behind for one batch, as far as is known? */
  far: boolean;
  progress: Progress | null;
}

/** In the background, between two chunks: so long everything else that runs in this process has the event loop for itself. */
const chunkPauseMs = 10;
const failurePauseMs = 50;

export class Builds {
  private readonly options: BuildsOptions;
  private readonly builds = new Map<Table, Build>();
  /** What ended a build in the background, for whoever asks next. */
  private readonly failures = new Map<Table, Error>();
  private readonly waits = new Waits();
  private closed = false;

  constructor(options: BuildsOptions) {
    this.options = options;
  }

  /** In the background: starts to build what the host's projections are too far behind for. */
  async begin(): Promise<void> {
    const { store, mode, catalogue } = this.options;
    if (mode === "blocking" || store.readOnly) return;
    const own = catalogue.tables.filter(({ eager, projection }) => eager && !projection.async);
    if (own.length === 0) return;
    const far = await withSnapshot(store, async (reads) => {
      const head = (await reads.head())?.seq ?? -1;
      const [rows, mark] = [await reads.projections(), await reads.folded()];
      return own.filter((table) => canAdvance(table, placeOf(table.projection, rows, mark), head, tailMax));
    });
    for (const table of far) this.start(table);
  }

  /** Brings tables up so far that the next batch can read them; undefined when they are. One that stopped is as ready as it gets:
   *  whoever reads it is told. In the background, `NOT_READY` for those that take longer than a batch. `ABORTED` for who gives
   *  up, and the build goes on. */
  ready(projections: readonly AnyProjection[], signal: AbortSignal | undefined): Promise<void> | undefined {
    const { catalogue, projector } = this.options;
    const waiting: Promise<void>[] = [];
    for (const projection of new Set(projections)) {
      const table = catalogue.tableOf(projection);
      if (!table.projection.async && !projector.isSettled(table)) waiting.push(this.bring(table, signal));
    }
    return waiting.length === 0 ? undefined : Promise.all(waiting).then(() => undefined);
  }

  /** Brings a table up to the head as it is now, whatever is known of it: somebody else may have written. */
  bring(table: Table, signal: AbortSignal | undefined): Promise<void> {
    const bringing = this.options.mode === "background" ? this.bringNear(table) : this.start(table).done;
    return this.waits.for(bringing, signal);
  }

  /** The tables that are built. */
  running(): ReadonlySet<Table> {
    return new Set(this.builds.keys());
  }

  /** Ends what runs, after the chunk in hand. */
  async close(): Promise<void> {
    this.closed = true;
    await Promise.allSettled([...this.builds.values()].map(({ done }) => done));
  }

  /** Waits for what one batch can do, and for no more. */
  private async bringNear(table: Table): Promise<void> {
    const running = this.builds.get(table);
    if (running !== undefined && !running.far) return running.done;
    if (running === undefined) {
      this.tellFailure(table);
      table.wanted = true;
      await this.runBatch();
      if (!this.options.projector.isBehind(table)) return;
    }
    const { progress } = running ?? this.start(table);
    throw notReady(table.projection, "its table is built in the background: `status()` says how far it is", progress);
  }

  /** What ended the last build is told once, and the next who asks begins another. */
  private tellFailure(table: Table): void {
    const failure = this.failures.get(table);
    this.failures.delete(table);
    if (failure !== undefined) throw failure;
  }

  private start(table: Table): Build {
    const running = this.builds.get(table);
    if (running !== undefined) return running;
    const build: Build = { done: Promise.resolve(), far: true, progress: null };
    this.builds.set(table, build);
    const work = this.options.mode === "background" ? this.persist(table, build) : this.run(table, build);
    build.done = work.finally(() => {
      table.building = false;
      this.builds.delete(table);
    });
    return build;
  }

  /** Builds until the table follows or stopped: nobody waits who would ask again. */
  private async persist(table: Table, build: Build): Promise<void> {
    while (!this.closed && !this.options.projector.isSettled(table)) {
      try {
        await this.run(table, build);
      } catch (error) {
        if (this.closed) return;
        if (!isPassing(error)) return void this.failures.set(table, error as Error); // what code throws that is not the host's
        await pause(failurePauseMs);
      }
    }
  }

  private async run(table: Table, build: Build): Promise<void> {
    const { mode, projector, onEvent } = this.options;
    const { name, version } = table.projection;
    table.wanted = true;
    let built = false;
    for (;;) {
      if (this.closed) throw new LedgerError("CLOSED", "the ledger must be open, found it closed");
      const { went, position, head } = await advance(table, this.options, tailMax);
      build.far = table.building = went;
      build.progress = { position, head };
      if (!went) break;
      built = true;
      onEvent({ type: "building", projection: name, version, position, head });
      await (mode === "background" ? pause(chunkPauseMs) : immediate());
    }
    await this.runBatch();
    const position = projector.followedTo(table);
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
