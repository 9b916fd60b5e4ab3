/** Folds the histories of one seed by every driver and prints a digest for each: what a child process is to repeat in
 *  another environment, or from another build. */
import fc from "fast-check";
import { canonicalize } from "../../src/kernel/canonical.js";
import { BulkTable, ReplayTable } from "../../projections/bulk.js";
import { freezeDeep } from "../../projections/freeze.js";
import type { ProjectionEvent } from "../../projections/event.js";
import { FoldedTable } from "../../projections/folded.js";
import { foldLive } from "../../projections/live.js";
import { foldPatches } from "../../projections/patches.js";
import { keyOf } from "../../projections/reducer.js";
import { histories, playing } from "./histories.js";

const projection = playing("play");

type Fold = (event: ProjectionEvent, key: string, document: object | null) => object | null;

function digestOneByOne(events: readonly ProjectionEvent[], fold: Fold): string {
  const table = new BulkTable(projection);
  for (const event of events) {
    try {
      const key = keyOf(projection, event);
      if (key !== null) table.load(key, fold(event, key, table.get(key)));
    } catch {
      break; // it stops there; how it says so is not what is compared
    }
  }
  return new FoldedTable(table, 0).digest().digest;
}

function digestInBulk(events: readonly ProjectionEvent[]): string {
  const table = new BulkTable(projection);
  for (const event of events) table.fold(event);
  return new FoldedTable(table, 0).digest().digest;
}

/** Where one stops, a replay says nothing else. */
function digestReplayed(events: readonly ProjectionEvent[]): string {
  const table = new ReplayTable(projection);
  for (const event of events) table.fold(event);
  return table.error === null ? new FoldedTable(table, 0).digest().digest : "stopped";
}

const seed = Number(process.argv[2]);
for (const history of fc.sample(histories({ failures: true }), { seed, numRuns: 300 })) {
  const events = freezeDeep(history);
  const told: string[] = [];
  const live = digestOneByOne(events, (event, key, document) => foldLive<object>(projection, event, key, document));
  const patches = digestOneByOne(events, (event, key, document) => {
    const patched = foldPatches<object>(projection, event, key, document);
    told.push(canonicalize(patched.patches), canonicalize(patched.inverse));
    return patched.document;
  });
  process.stdout.write(`${live} ${patches} ${digestInBulk(events)} ${digestReplayed(events)} ${told.join()}\n`);
}
