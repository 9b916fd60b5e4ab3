/** Closed ledgers of a given size, made when first asked for and shared by the measures that only read them. */
import { copyFileSync } from "node:fs";
import { openLedger } from "../../../src/index.js";
import type { Ledger, StreamAppend } from "../../../src/index.js";
import { jobEvent, jobEvents, jobStream } from "./events.js";
import type { Scratch } from "./scratch.js";

/** Events of one bulk append. */
export const eventsPerAppend = 1_000;

/** How long the stream of a job gets in a ledger of many events. */
export const eventsPerStream = 100;

export interface FilledLedgers {
  /** A closed ledger of so many events, to be read only. */
  shared(events: number): Promise<string>;
  /** A copy of its own to write to. */
  copy(events: number): Promise<string>;
}

export function createFilledLedgers(scratch: Scratch): FilledLedgers {
  const made = new Map<number, string>();
  const shared = async (events: number): Promise<string> => {
    const known = made.get(events);
    if (known !== undefined) return known;
    // Grown from the largest smaller one.
    const base = Math.max(0, ...[...made.keys()].filter((size) => size < events));
    const path = scratch.path(`${events}.ledger`);
    const basePath = made.get(base);
    if (basePath !== undefined) copyFileSync(basePath, path);
    const ledger = await openLedger(path, { events: [jobEvents] });
    await appendBulk(ledger, base, events - base);
    await ledger.close();
    made.set(events, path);
    return path;
  };
  return {
    shared,
    async copy(events) {
      const path = scratch.path(`${events}-copy.ledger`);
      copyFileSync(await shared(events), path);
      return path;
    },
  };
}

/** Appends events number `first` to `first + count − 1`, a thousand an append, a hundred a stream. */
export async function appendBulk(
  ledger: Ledger,
  first: number,
  count: number,
  perStream: number = eventsPerStream,
): Promise<void> {
  for (let at = first; at < first + count; at += eventsPerAppend) {
    await ledger.append(bulkAppend(at, Math.min(eventsPerAppend, first + count - at), perStream));
  }
}

function bulkAppend(first: number, count: number, perStream: number): readonly StreamAppend[] {
  const appends: { readonly stream: string; readonly events: ReturnType<typeof jobEvent>[] }[] = [];
  for (let at = first; at < first + count; at++) {
    const stream = jobStream(Math.floor(at / perStream));
    let append = appends.at(-1);
    if (append?.stream !== stream) appends.push((append = { stream, events: [] }));
    append.events.push(jobEvent(at));
  }
  return appends;
}
