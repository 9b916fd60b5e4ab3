/** A ledger for the laws of commands: everything that could differ from run to run is given, so that what differs is a fault. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { builtInProjections } from "../../projections/built-in.js";
import type { AnyProjection } from "../../projections/define-projection.js";
import { replay } from "../../projections/replay.js";
import type { Ledger } from "../api/ledger.js";
import { builtInCommands } from "../commands/built-in.js";
import type { Command, CommandDefinition } from "../commands/define-command.js";
import type { ExecuteOptions } from "../engine/execution.js";
import type { LedgerEvent, NewEvent } from "../engine/types.js";
import type { EventDefinitions } from "../journal/define-events.js";
import { builtInEvents } from "../journal/events/built-in.js";
import type { Store } from "../journal/store.js";
import { canonicalize } from "../kernel/canonical.js";
import { LedgerError } from "../kernel/errors.js";
import { isList } from "../kernel/members.js";
import { openLedger } from "../open-ledger.js";
import { createMemoryStore } from "../store/memory/store.js";
import { GuardedCommands } from "./guarded-commands.js";
import { manualClock } from "./manual-clock.js";
import type { ManualClock } from "./manual-clock.js";
import { seededBytes } from "./seeded.js";
import type { StoreFixture } from "./store-fixture.js";

/** An area: what its commands, projections and events are, and where it is tried. @public */
export interface CommandArea {
  readonly commands: readonly CommandDefinition[];
  readonly projections: readonly AnyProjection[];
  readonly events: readonly EventDefinitions[];
  /** A new, empty store for each history. Default: in memory. */
  readonly open?: () => Promise<StoreFixture>;
}

/** What an execution became, to be compared. A refusal is one by the command: everything else that may go wrong is thrown. */
export interface Outcome {
  readonly type: "accepted" | "refused";
  readonly adopted: boolean;
  /** All that the caller was told, but for `adopted`. */
  readonly said: string;
  /** Ids of the events that it became. */
  readonly ids: readonly string[];
  /** The code of a refusal, and which command of a list it was. */
  readonly refusal: { readonly code: string; readonly index: unknown } | null;
}

/** What a ledger holds, to be compared. */
export interface State {
  /** Id, stream and type of each event. */
  readonly events: readonly string[];
  /** For each projection its documents as text. */
  readonly documents: readonly string[];
}

export interface WorldOptions {
  readonly cacheDocuments?: number;
  readonly busyTimeoutMs?: number;
  /** What stands before the store. */
  readonly front?: (store: Store) => Store;
}

export class CommandWorld {
  readonly guarded: GuardedCommands;
  readonly clock: ManualClock = manualClock();
  private readonly area: CommandArea;
  private readonly fixture: StoreFixture;
  private readonly options: WorldOptions;
  /** Those that are current with every commit. */
  private readonly projections: readonly AnyProjection[];
  private readonly randomBytes = seededBytes(1);
  private opened: Ledger | null = null;
  /** A second ledger on the same store, as another process has it. */
  private other: Ledger | null = null;

  private constructor(area: CommandArea, fixture: StoreFixture, options: WorldOptions) {
    this.area = area;
    this.projections = area.projections.filter((projection) => !projection.async);
    this.fixture = fixture;
    this.options = options;
    this.guarded = new GuardedCommands(area.commands);
  }

  /** Runs in a new world, and leaves nothing of it. */
  static async in<Result>(
    area: CommandArea,
    body: (world: CommandWorld) => Promise<Result>,
    options: WorldOptions = {},
  ): Promise<Result> {
    const fixture = await (area.open ?? memoryFixture)();
    const world = new CommandWorld(area, fixture, options);
    try {
      await world.reopen();
      const result = await body(world);
      await world.close();
      return result;
    } catch (error) {
      await world.close().catch(() => {}); // the first error is the one to be seen
      throw error;
    } finally {
      await fixture.store.close();
      await fixture.dispose();
    }
  }

  get ledger(): Ledger {
    if (this.opened === null) throw new Error("the world has not begun");
    return this.opened;
  }

  /** Closes the ledger and opens it again, with nothing in its caches. */
  async reopen(): Promise<void> {
    await this.opened?.close();
    this.opened = await this.openOne();
  }

  /** Opens it again behind a death, after which closing may fail. */
  async restart(): Promise<void> {
    await this.opened?.close().catch(() => {});
    this.opened = null;
    await this.reopen();
  }

  /** Appends events to an open area. */
  async append(stream: string, events: readonly NewEvent[]): Promise<Outcome> {
    const said = await this.ledger.append(stream, events);
    return { type: "accepted", adopted: false, said: fc.stringify(said), ids: said.ids, refusal: null };
  }

  /** Executes a command, or several as a list. */
  execute(wish: Command | readonly Command[], options: ExecuteOptions = {}): Promise<Outcome> {
    return this.executeIn(this.ledger, wish, options);
  }

  /** Executes a command in another ledger on the same store: what this one knows by heart is void. */
  async executeElsewhere(wish: Command): Promise<Outcome> {
    this.other ??= await this.openOne();
    return this.executeIn(this.other, wish, {});
  }

  /** Sends all of them at once, so that they share commits. */
  async executeTogether(wishes: readonly Command[]): Promise<readonly Outcome[]> {
    const executed = await Promise.allSettled(wishes.map((wish) => this.execute(wish)));
    return executed.map((each) => {
      if (each.status === "rejected") throw each.reason;
      return each.value;
    });
  }

  async state(): Promise<State> {
    const events = await this.ledger.read().toArray();
    const documents = this.projections.map((projection) => this.documentsOf(projection));
    return { events: events.map(sayEvent), documents: await Promise.all(documents) };
  }

  /** The documents as a replay of the journal makes them. */
  async replayed(): Promise<readonly string[]> {
    const replayed = await replay(this.projections, this.ledger.read());
    return this.projections.map((projection) => {
      const folded = replayed.projection(projection);
      return sayDocuments(projection, folded.failure, folded.find({ limit: documentsMax }).documents);
    });
  }

  /** Documents are the fold of the events, and nobody who verifies finds anything. */
  async expectFolded(): Promise<void> {
    const { documents } = await this.state();
    assert.deepEqual(documents, await this.replayed(), "the documents are not the fold of the events");
    const { verdict, findings } = await this.ledger.verify({ level: "deep" });
    assert.deepEqual({ verdict, findings }, { verdict: "OK", findings: [] }, "it does not verify");
  }

  private async executeIn(
    ledger: Ledger,
    wish: Command | readonly Command[],
    options: ExecuteOptions,
  ): Promise<Outcome> {
    const { guarded } = this;
    try {
      const { adopted, ...said } = isList(wish)
        ? await ledger.execute(
            wish.map((each) => guarded.of(each)),
            options,
          )
        : await ledger.execute(guarded.of(wish), options);
      return { type: "accepted", adopted, said: fc.stringify(said), ids: said.ids, refusal: null };
    } catch (error) {
      if (!(error instanceof LedgerError) || !guarded.refusals.has(error.code)) throw error;
      const { code, details, adopted } = error;
      return {
        type: "refused",
        adopted,
        said: fc.stringify({ code, details, message: error.message }),
        ids: [],
        refusal: { code, index: details["index"] ?? null },
      };
    }
  }

  private async close(): Promise<void> {
    await this.opened?.close();
    await this.other?.close();
  }

  private openOne(): Promise<Ledger> {
    const { front = (store) => store, cacheDocuments, busyTimeoutMs } = this.options;
    // What every ledger has it has of itself, but for its commands, which are watched.
    const own = this.guarded.definitions.filter(({ name }) => ownNames.has(name));
    return openLedger(front(this.fixture.store), {
      origin: "testing/laws",
      events: this.area.events.filter((each) => !builtInEvents.includes(each)),
      projections: this.area.projections.filter((each) => !builtInProjections.includes(each)),
      commands: this.guarded.definitions.filter((each) => !own.includes(each)),
      clock: this.clock,
      testing: { randomBytes: this.randomBytes, ...(own.length === 0 ? {} : { ownCommands: own }) },
      ...(cacheDocuments === undefined ? {} : { cacheDocuments }),
      ...(busyTimeoutMs === undefined ? {} : { busyTimeoutMs }),
    });
  }

  private async documentsOf(projection: AnyProjection): Promise<string> {
    const { documents } = await this.ledger.projection(projection).find({ limit: documentsMax });
    return sayDocuments(projection, null, documents);
  }
}

const documentsMax = 10_000;
const ownNames: ReadonlySet<string> = new Set(builtInCommands.map(({ name }) => name));

function sayDocuments(projection: AnyProjection, failure: unknown, documents: readonly object[]): string {
  const rows = documents.map((row) => canonicalize(row));
  return [`${projection.name}:`, ...rows, ...(failure === null ? [] : [canonicalize(failure)])].join("\n");
}

function sayEvent({ position, id, stream, type, data }: LedgerEvent): string {
  return `#${position} ${type} ${stream} ${canonicalize(data)} ${id}`;
}

async function memoryFixture(): Promise<StoreFixture> {
  return { store: createMemoryStore(), dispose: async () => {} };
}
