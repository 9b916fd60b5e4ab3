/** What the next batch will ask for, as far as that can be told before it is decided, so that it is read in lists. Nothing rests on
 *  it: what was not foreseen is read when it is asked for, and what was foreseen in vain is read in vain. Source: decision 0028. */
import type { AnyProjection, QueryRead } from "../../projections/define-projection.js";
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

export class Foreseen implements ForeseenDocuments {
  readonly at: number;
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

  constructor(at: number) {
    this.at = at;
  }

  document(projection: AnyProjection, key: string): void {
    let keys = this.keys.get(projection);
    if (keys === undefined) this.keys.set(projection, (keys = new Set()));
    keys.add(key);
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
