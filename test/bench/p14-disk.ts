/** P14: what a closed ledger takes on disk, against the bytes of its entries. */
import { statSync } from "node:fs";
import Database from "better-sqlite3";
import { openLedger } from "../../src/index.js";
import { jobEvents } from "./harness/events.js";
import { appendBulk, eventsPerStream } from "./harness/filled-ledger.js";
import type { Measure } from "./harness/measure.js";
import { most, short } from "./harness/report.js";
import type { Line } from "./harness/report.js";

const smallEvents = 100_000;
const longStream = 1_000;

export const diskMeasure: Measure = {
  ids: ["P14"],
  title: "bytes on disk",
  async run({ settings, scratch, filled }) {
    const longStreams = scratch.path("long-streams.ledger");
    const ledger = await openLedger(longStreams, { events: [jobEvents] });
    await appendBulk(ledger, 0, smallEvents, longStream);
    await ledger.close();
    const lines = [
      weigh(await filled.shared(smallEvents), smallEvents, eventsPerStream),
      weigh(longStreams, smallEvents, longStream),
    ];
    if (settings.events > smallEvents)
      lines.push(weigh(await filled.shared(settings.events), settings.events, eventsPerStream));
    return lines;
  },
};

function weigh(path: string, events: number, perStream: number): Line {
  const database = new Database(path, { readonly: true });
  const [entries, bytes] = database
    .prepare<[], [number, number]>("SELECT count(*), sum(octet_length(entry)) FROM entries")
    .raw()
    .get()!;
  database.close();
  const fileBytes = statSync(path).size;
  const value = fileBytes / bytes;
  return {
    id: "P14",
    what: `bytes on disk / entry bytes, ${short(events)} events, ${perStream} a stream`,
    value: { median: value, min: value, max: value },
    target: most(1.4, 1.2),
    note: `${short(fileBytes / entries)} bytes an event, ${short(bytes / entries)} of them its entry`,
  };
}
