/** P15, beside it: opening, reading, replaying and verifying a journal in PostgreSQL, and the same one in SQLite, in turns. */
import { replay } from "../../projections/index.js";
import { openLedger } from "../../src/index.js";
import { startServer } from "../postgres/server.js";
import { jobEvents, jobStream } from "./harness/events.js";
import { appendBulk } from "./harness/filled-ledger.js";
import type { Measure } from "./harness/measure.js";
import { short } from "./harness/report.js";
import type { Figure } from "./harness/report.js";
import { block, interleave, latency, rate, ratio, spreadOf } from "./harness/rounds.js";
import { jobs } from "./p09-replay.js";

export const postgresReadMeasure: Measure = {
  ids: ["P15"],
  title: "PostgreSQL beside SQLite: open, read, replay and verify",
  async run({ settings, filled, figure }) {
    const { events } = settings;
    const server = await startServer();
    const url = `${server.url}?journal=large`;
    const path = await filled.shared(events);
    try {
      const writing = await openLedger(url, { events: [jobEvents] });
      await appendBulk(writing, 0, events);
      await writing.close();
      const open = async (location: string): Promise<void> => {
        const ledger = await openLedger(location, { readOnly: true, events: [jobEvents] });
        const first = await ledger.readStream(jobStream(0), { limit: 1 }).toArray();
        await ledger.close();
        if (first.length !== 1) throw new Error("the first stream must be readable");
      };
      const places = { postgres: url, sqlite: path };
      const ledgers = {
        postgres: await openLedger(url, { readOnly: true, events: [jobEvents] }),
        sqlite: await openLedger(path, { readOnly: true, events: [jobEvents] }),
      };
      type Where = keyof typeof places;
      const read = async (where: Where): Promise<void> => {
        for await (const _ of ledgers[where].read());
      };
      const fold = async (where: Where): Promise<void> => {
        const { position } = await replay([jobs], ledgers[where].read());
        if (position < events) throw new Error(`all ${events} events must be folded, found ${position}`);
      };
      const verify = async (where: Where): Promise<void> => {
        const { verdict } = await ledgers[where].verify({ level: "full", workers: 1 });
        if (verdict !== "OK") throw new Error(`the ledger must verify, found ${verdict}`);
      };
      const opens = await interleave(
        { postgres: () => block(1, () => open(url)), sqlite: () => block(1, () => open(path)) },
        settings.rounds,
      );
      const passes = await interleave(
        {
          readPostgres: () => block(events, () => read("postgres")),
          readSqlite: () => block(events, () => read("sqlite")),
          replayPostgres: () => block(events, () => fold("postgres")),
          replaySqlite: () => block(events, () => fold("sqlite")),
          verifyPostgres: () => block(events, () => verify("postgres")),
          verifySqlite: () => block(events, () => verify("sqlite")),
        },
        settings.name === "full" ? 3 : 2,
        "all",
      );
      await ledgers.postgres.close();
      await ledgers.sqlite.close();
      const millis = latency(50);
      const compared = (what: string, postgres: keyof typeof passes, sqlite: keyof typeof passes): Figure => ({
        what: `${what} of ${short(events)} events from PostgreSQL`,
        value: spreadOf(passes[postgres], rate),
        unit: "/s",
        note: `${ratio(passes[postgres], rate, passes[sqlite]).median.toFixed(2)} of SQLite, ${short(spreadOf(passes[sqlite], rate).median)}/s`,
      });
      figure({
        what: `open ${short(events)} events in PostgreSQL until the first stream is readable`,
        value: spreadOf(opens.postgres, millis),
        unit: "ms",
        note: `SQLite ${spreadOf(opens.sqlite, millis).median.toFixed(1)} ms`,
      });
      figure(compared("read", "readPostgres", "readSqlite"));
      figure(compared("replay, one projection,", "replayPostgres", "replaySqlite"));
      figure(compared("verify, one thread,", "verifyPostgres", "verifySqlite"));
      return [];
    } finally {
      await server.stop();
    }
  },
};
