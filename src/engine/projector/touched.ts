/** Which documents others changed, by the entries that they wrote; and which of these entries are not folded yet, for who wrote
 *  them has no code for a table. */
import { eventOf } from "../../../projections/event-of.js";
import type { DefinedAreas } from "../../../projections/event-of.js";
import type { DecodedEntry } from "../../journal/stored.js";
import type { Catalogue, Table } from "./catalogue.js";
import type { Standing } from "./standing.js";
import { addStep } from "./table-tx.js";
import type { Step } from "./table-tx.js";
import { isUnknown } from "./tail.js";

export interface Touched {
  /** By table the keys of documents that may have changed. */
  readonly keys: ReadonlyMap<Table, ReadonlySet<string>>;
  /** Behind the mark. */
  readonly steps: readonly Step[];
}

export const nothingTouched: Touched = { keys: new Map(), steps: [] };

export interface TouchedGround {
  readonly catalogue: Catalogue;
  readonly areas: DefinedAreas;
  readonly standings: ReadonlyMap<Table, Standing>;
}

/** What entries touch in tables that follow, which are folded up to `mark`; null where an entry does not say it to this program. */
export function touchedBy(entries: readonly DecodedEntry[], mark: number, ground: TouchedGround): Touched | null {
  const { catalogue, areas, standings } = ground;
  const keys = new Map<Table, Set<string>>();
  const behind: Step[] = [];
  for (const { fields } of entries) {
    const tables = catalogue.listing(fields.type).filter((table) => standings.get(table)?.type === "following");
    if (tables.length === 0) continue;
    const event = eventOf(fields, areas);
    if (isUnknown(event)) return null;
    const steps: Step[] = [];
    for (const table of tables) if (table.projection.on.has(event.type)) addStep(steps, table, event);
    for (const step of steps) {
      if ("error" in step) return null;
      let touched = keys.get(step.table);
      if (touched === undefined) keys.set(step.table, (touched = new Set()));
      touched.add(step.key);
      if (step.position > mark) behind.push(step);
    }
  }
  return { keys, steps: behind };
}
