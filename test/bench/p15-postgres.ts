/** P15: 64 callers on PostgreSQL, each of which waits for its append, against rows that are each a transaction of its own on 16
 *  connections, and against a peer, all on the same server, which was started for this run with its defaults. */
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "../postgres/server.js";
import { openEmmettPostgres } from "./limits/emmett-postgres.js";
import { openPlainPostgres } from "./limits/plain-postgres.js";
import { jobEvent, jobStream } from "./harness/events.js";
import { jobLength, Jobs } from "./harness/jobs.js";
import type { Measure } from "./harness/measure.js";
import { least, short } from "./harness/report.js";
import type { Figure, Line } from "./harness/report.js";
import { callers, interleave, latency, oneCaller, rate, ratio, spreadOf } from "./harness/rounds.js";
import type { Sample, Turn } from "./harness/rounds.js";
import { openRunLedger, step } from "./harness/run-area.js";
import { warmUp, warmUpCommands } from "./harness/warm-up.js";

const callerCount = 64;
const connections = 16;

export const postgresMeasure: Measure = {
  ids: ["P15"],
  title: `PostgreSQL: durable appends and commands, ${callerCount} concurrent callers`,
  async run({ settings, figure, say }) {
    const server = await startServer();
    const plain = await openPlainPostgres(server.url, connections);
    const emmett = await openEmmettPostgres(server.url, say);
    const ledger = await openRunLedger(`${server.url}?journal=appends`);
    const commands = await openRunLedger(`${server.url}?journal=commands`);
    try {
      await warmUp(ledger);
      await warmUpCommands(commands);
      const [jobs, peerJobs, perCallJobs, runs] = Array.from({ length: 4 }, () => new Jobs(callerCount)) as [
        Jobs,
        Jobs,
        Jobs,
        Jobs,
      ];
      for (const { stream, events } of perCallJobs.beginnings())
        for (let count = 0; count < events; count++) await plain.append(stream, jobEvent(count));
      let next = 0;
      const many = (operation: (caller: number) => unknown): Promise<Sample> =>
        callers(callerCount, settings.turnMs, operation);
      const turns = {
        raw: () => oneCaller(settings.turnMs, () => plain.insert()),
        ledger: () => many((caller) => ledger.append(jobs.next(caller), [jobEvent(next++)])),
        statement: () => many(() => plain.insert()),
        transaction: () => many(() => plain.transaction()),
        perCall: () => many((caller) => plain.append(perCallJobs.next(caller), jobEvent(next++))),
        command: () => many((caller) => commands.execute(step(runs.next(caller), next++))),
        one: () => oneCaller(settings.turnMs, () => ledger.append(jobStream(0), [jobEvent(next++)])),
      };
      const peer: Turn = () => many((caller) => emmett!.append(peerJobs.next(caller), jobEvent(next++)));
      const samples: Readonly<Record<keyof typeof turns | "peer", readonly Sample[]>> = await interleave(
        emmett === null ? { ...turns, peer: async () => none } : { ...turns, peer },
        settings.rounds,
      );
      const rawP50Ms = spreadOf(samples.raw, latency(50)).median;
      const perSecond = (name: keyof typeof samples): string => `${short(spreadOf(samples[name], rate).median)}/s`;
      const shown = (what: string, name: keyof typeof samples): Figure => ({
        what,
        value: spreadOf(samples[name], rate),
        unit: "/s",
        note: `p50 ${spreadOf(samples[name], latency(50)).median.toFixed(2)} ms, p99 ${spreadOf(samples[name], latency(99)).median.toFixed(2)} ms`,
      });
      figure(shown("one row a transaction, one connection: the raw commit", "raw"));
      figure(shown(`one row a statement that commits by itself, ${connections} connections`, "statement"));
      figure(shown(`one row a transaction (BEGIN, INSERT, COMMIT), ${connections} connections`, "transaction"));
      figure(shown(`per-call store, ${connections} connections, ${callerCount} callers`, "perCall"));
      figure(shown("ledger, plain append, one caller", "one"));
      figure(shown(`ledger, plain append, ${callerCount} callers`, "ledger"));
      figure(shown(`ledger, command that changes two documents, ${callerCount} callers`, "command"));
      const line = (what: string, against: keyof typeof samples, must: number): Line => ({
        id: "P15",
        what: `plain append on PostgreSQL, 64 callers / ${what}`,
        value: ratio(samples.ledger, rate, samples[against]),
        target: least(must),
        rawP50Ms,
        note: `${perSecond("ledger")} to ${perSecond(against)}, jobs of up to ${jobLength} events`,
      });
      // The statement alone is the strictest reading of the target: no host appends so, for nothing is looked at.
      const against = (what: string, name: keyof typeof samples): Figure => ({
        what: `plain append, ${callerCount} callers / ${what}`,
        value: ratio(samples.ledger, rate, samples[name]),
        unit: "times",
      });
      figure(against("one row a statement that commits by itself", "statement"));
      figure(against("per-call store", "perCall"));
      const lines = [line("one row a transaction", "transaction", 8)];
      return emmett === null ? lines : [...lines, line("emmett-postgresql", "peer", 20)];
    } finally {
      await ledger.close();
      await commands.close();
      await emmett?.close();
      await plain.close();
      await sleep(500); // pools answer before their connections are gone
      await server.stop();
    }
  },
};

const none: Sample = { operations: 0, elapsedMs: 1, latenciesMs: [0] };
