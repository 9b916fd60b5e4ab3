/** What the next batch will ask for, as far as that can be told before it is decided, so that it is read in lists. Nothing rests on
 *  it: what was not foreseen is read when it is asked for, and what was foreseen in vain is read in vain. Source: decision 0028. */
import type { AnyProjection, FindQuery, FoundDocuments, QueryRead } from "../../projections/define-projection.js";
import type { CommandDefinition } from "../commands/define-command.js";
import type { Lookups, Needs } from "./known.js";
import type { PreparedEvent } from "./prepare-event.js";

/** What of it concerns documents. */
export interface ForeseenDocuments {
  /** Engine time of the last entry; that of the batch will be this or later. */
  readonly at: number;
  readonly keys: ReadonlyMap<AnyProjection, ReadonlySet<string>>;
  readonly queries: readonly QueryRead<object>[];
  /** Events that will be folded, if they are accepted. */
  readonly events: readonly PreparedEvent[];
}

/** What is known of documents without asking the store; undefined where that is nothing. May throw what a read is refused with. */
export interface Glimpse {
  get(projection: AnyProjection, key: string): object | null | undefined;
  find(projection: AnyProjection, query: FindQuery): FoundDocuments<object> | undefined;
}

export interface ForeseenFrom {
  readonly at: number;
  readonly incarnation: number;
  /** Null: nothing is known yet. */
  readonly glimpse: Glimpse | null;
}

export class Foreseen implements ForeseenDocuments {
  readonly at: number;
  readonly incarnation: number;
  readonly glimpse: Glimpse | null;
  /** Commands that choose among what they find: another one would choose the same, and is not looked at. */
  readonly choosing: Set<CommandDefinition> = new Set();
  /** Where such commands as look at a list would write. */
  private readonly chosen = new Map<CommandDefinition, Set<string>>();
  /** What such a command found, and what it would have found behind that: what the others of this batch will choose. */
  readonly choices: FoundDocuments<object>[] = [];
  readonly keys: Map<AnyProjection, Set<string>> = new Map();
  readonly queries: QueryRead<object>[] = [];
  readonly events: PreparedEvent[] = [];
  private readonly touched = new Set<string>();
  private readonly lookups: { readonly [Name in keyof Lookups]: Lookups[Name][number][] } = {
    positions: [],
    endsOf: [],
    contents: [],
    plains: [],
  };

  constructor({ at, incarnation, glimpse }: ForeseenFrom) {
    this.at = at;
    this.incarnation = incarnation;
    this.glimpse = glimpse;
  }

  /** The same once more, to be added to while nothing is known. */
  again(): Foreseen {
    const foreseen = new Foreseen({ at: this.at, incarnation: this.incarnation, glimpse: null });
    for (const [projection, keys] of this.keys) foreseen.keys.set(projection, new Set(keys));
    foreseen.queries.push(...this.queries);
    foreseen.events.push(...this.events);
    foreseen.need(this.needs);
    return foreseen;
  }

  document(projection: AnyProjection, key: string): void {
    let keys = this.keys.get(projection);
    if (keys === undefined) this.keys.set(projection, (keys = new Set()));
    keys.add(key);
  }

  /** Did another one of this definition choose the same? One that looks at a list and writes where its input says did not. */
  isChoice(definition: CommandDefinition, events: readonly PreparedEvent[]): boolean {
    let streams = this.chosen.get(definition);
    if (streams === undefined) this.chosen.set(definition, (streams = new Set()));
    const [first] = events;
    if (first !== undefined && !streams.has(first.stream)) {
      streams.add(first.stream);
      this.choices.length = 0;
      return false;
    }
    this.choosing.add(definition);
    return true;
  }

  stream(stream: string): void {
    this.touched.add(stream);
  }

  need({ touched, lookups }: Needs): void {
    for (const stream of touched) this.touched.add(stream);
    if (lookups === null) return;
    this.lookups.positions.push(...lookups.positions);
    this.lookups.endsOf.push(...lookups.endsOf);
    this.lookups.contents.push(...lookups.contents);
    this.lookups.plains.push(...lookups.plains);
  }

  /** What of it concerns the journal itself. */
  get needs(): Needs {
    const isNone = Object.values(this.lookups).every((keys) => keys.length === 0);
    return { touched: [...this.touched], lookups: isNone ? null : this.lookups };
  }
}
