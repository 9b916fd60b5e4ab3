/** Tries laws and checkers on a built library that may have a defect, and says of each `red: NAME` and why, `green: NAME`, or
 *  `crashed: NAME` where something was thrown that no law speaks of: a defect must be seen by who looks for it.
 *  usage: defect-driver.mjs DIST SEED TRIES NAME… */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";

const [dist, seedText, triesText, ...names] = process.argv.slice(2);
const [seed, tries] = [Number(seedText), Number(triesText)];
const load = (file) => import(pathToFileURL(join(dist, file)).href);
const testing = await load("src/testing/index.js");
const { compareWithModel, describeCommands, describeProjection, describeStore, simulate, simulateWorkers } = testing;
const { captureCalls, checkCaptures } = await load("src/testing/capture-law.js");
const { checkRuns, runCalls } = await load("src/testing/run-law.js");
const { hashToken, openLedger, queueCommands } = await load("src/index.js");
const { queue } = await load("projections/index.js");
const { queueEvents } = await load("src/journal/events/queue.js");
const { createMemoryStore } = await load("src/store/memory/store.js");

// Whether it is seen is asked here, and not how little of a history would do.
fc.configureGlobal({ seed, numRuns: tries, endOnFailure: true });
const scratch = mkdtempSync(join(tmpdir(), "runledger-defect-"));
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }));

for (const name of names) {
  try {
    const [family, title] = name.split(/: (.*)/);
    const seen = await judgeBy(family, title);
    console.log(seen === null ? `green: ${name}` : `red: ${name}\n${seen}`);
  } catch (error) {
    console.log(`crashed: ${name}\n${error instanceof Error ? error.stack : String(error)}`);
  }
}

/** What a family of checkers says under a title; null: nothing. */
function judgeBy(family, title) {
  switch (family) {
    case "lockstep":
      return firstOf(async (each) => (await compareWithModel({ seed: each, store: createMemoryStore() })).difference);
    case "simulation":
    case "workers":
      return firstOf(async (each) => {
        const { violations } = await (family === "workers" ? simulateWorkers : simulate)({ seed: each });
        return violations.find(({ checker }) => checker === title)?.message ?? null;
      });
    case "verify":
      return firstOf(async (each) => {
        const store = createMemoryStore();
        await compareWithModel({ seed: each, store });
        const ledger = await openLedger(store);
        const { findings } = await ledger.verify({ level: "deep" });
        await ledger.close();
        return findings.find(({ code }) => code === title)?.message ?? null;
      });
    case "commands":
      return tryLaw(title, (runner) => describeCommands("the queue", commandsSubject(), runner));
    case "projection":
      return tryLaw(title, (runner) => describeProjection("the queue", projectionSubject(), runner));
    case "captures":
      return tryLaw(title, ({ test }) => test(title, () => testing.checkLaw({ title, property: capturesProperty })));
    case "runs":
      return tryLaw(title, ({ test }) => test(title, () => testing.checkLaw({ title, property: runsProperty })));
    case "memory":
      return tryLaw(title, (runner) => describeStore("memory", async () => fixtureOf(createMemoryStore()), runner));
    case "sqlite":
      return tryLaw(title, (runner) => describeStore("sqlite", async () => fixtureOf(await openFile()), runner));
    case "postgres":
      return tryLaw(title, (runner) => {
        describeStore("postgres", openJournal, runner);
        for (const [law, body] of Object.entries(lawsOfServers())) runner.test(law, body);
      });
    default:
      throw new Error(`a checker must be of a family that this driver knows, found ${family}`);
  }
}

/** One run after the other until something is seen. A run that crashes, or waits for what never comes, shows nothing; another
 *  one may. */
async function firstOf(judge) {
  const crashes = [];
  for (let run = 0; run < tries; run++) {
    try {
      const seen = await orNothingLeft(judge(seed + run));
      if (seen !== null) return seen;
    } catch (error) {
      crashes.push(error);
    }
  }
  if (crashes.length > 0) throw crashes[0];
  return null;
}

/** What was judged, or an error when nothing is left to do that could bring it about. */
async function orNothingLeft(judged) {
  let hear;
  const nothingLeft = new Promise((_, reject) => {
    hear = () => reject(new Error("it waits for what never comes"));
    process.once("beforeExit", hear);
  });
  try {
    return await Promise.race([judged, nothingLeft]);
  } finally {
    process.off("beforeExit", hear);
  }
}

/** The law of that title, of those that are declared. */
async function tryLaw(title, declare) {
  const laws = new Map();
  declare({ describe: (_, body) => body(), test: (each, body) => laws.set(each, body) });
  const law = laws.get(title);
  if (law === undefined)
    throw new Error(`there must be a law ${JSON.stringify(title)}, found ${[...laws.keys()].join("; ")}`);
  try {
    await law();
    return null;
  } catch (error) {
    if (isCrash(error)) throw error;
    return error.message;
  }
}

/** Is it what a program dies of that does not even run, and not what a law says? */
function isCrash(error) {
  const isLaw = error.name === "LawBroken" || error.code === "ERR_ASSERTION";
  const { cause } = error;
  return !isLaw || cause instanceof TypeError || cause instanceof ReferenceError;
}

function capturesProperty() {
  return fc.asyncProperty(captureCalls, async (calls) => {
    const ledger = await openLedger(createMemoryStore());
    await checkCaptures(ledger, calls);
    await ledger.close();
  });
}

function runsProperty() {
  return fc.asyncProperty(runCalls, async (calls) => {
    const clock = testing.manualClock();
    const ledger = await openLedger(createMemoryStore(), { clock });
    await checkRuns(ledger, clock, calls);
    await ledger.close();
  });
}

async function openFile() {
  const { openSqliteStore } = await load("src/store/sqlite/store.js");
  return openSqliteStore(join(mkdtempSync(join(scratch, "store-")), "state.ledger"));
}

/** A journal of its own on the PostgreSQL of the run. */
async function openJournal() {
  const journal = `defect_${randomBytes(6).toString("hex")}`;
  const url = new URL(process.env.RUNLEDGER_TEST_POSTGRES);
  url.searchParams.set("journal", journal);
  const dispose = () => ask(`DROP SCHEMA IF EXISTS ${journal} CASCADE`);
  // Only who needs them waits for the driver and the store.
  const { openPostgresStore } = await load("src/store/postgres/store.js");
  try {
    const store = await openPostgresStore(url.href);
    return { journal, store, reopen: () => openPostgresStore(url.href), dispose };
  } catch (error) {
    await dispose();
    throw error;
  }
}

async function ask(text) {
  const { default: pg } = await import("pg");
  const client = new pg.Client(process.env.RUNLEDGER_TEST_POSTGRES);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** What a store on a server promises that one in a process cannot break. */
function lawsOfServers() {
  return {
    "a commit whose connection is lost before it is done is told, and is not there": async () => {
      const { journal, store, dispose } = await openJournal();
      const ledger = await openLedger(store);
      try {
        // Behind all statements of the transaction, and before it is committed.
        await ask(`CREATE FUNCTION ${journal}.dies() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER dies AFTER INSERT ON ${journal}.entries DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION ${journal}.dies()`);
        const told = await ledger.append("a/1", [{ type: "a.b" }]).catch(({ code }) => code);
        assert.equal(told, "STORE_UNAVAILABLE");
        assert.equal((await ask(`SELECT 1 FROM ${journal}.entries`)).length, 1); // how it began
      } finally {
        await ledger.close();
        await store.close();
        await dispose();
      }
    },
    "time is the database's, whatever the clock of the host says": async () => {
      const { now } = Date;
      const hours = 5 * 3_600_000;
      Date.now = () => now() + hours;
      const { store, dispose } = await openJournal();
      try {
        assert.ok(Math.abs((store.clock ?? Date).now() - now()) < hours / 2, "the time must be the database's");
      } finally {
        Date.now = now;
        await store.close();
        await dispose();
      }
    },
  };
}

function fixtureOf(store) {
  return { store, dispose: async () => {} };
}

/** The commands of the queue as callers send them who hold no claim. */
function commandsSubject() {
  const { enqueue, claimNext, requeue, requestCancel, complete } = queueCommands;
  const runId = fc.constantFrom("r1", "r2", "r3");
  const claim = fc.record({
    holder: fc.constantFrom("A", "B"),
    leaseMs: fc.constantFrom(1, 1_000, 86_400_000),
    tokenHash: fc.constant(hashToken("a token of theirs")),
  });
  const item = fc.record(
    { runId, parent: fc.constant("p"), priority: fc.constantFrom(-1, 1), input: fc.constant("y".repeat(1_200)), claim },
    { requiredKeys: ["runId"] },
  );
  const wishes = fc.oneof(
    { weight: 4, arbitrary: item.map((each) => enqueue(each)) },
    { weight: 5, arbitrary: claim.map((each) => claimNext({ ...each, exclude: [] })) },
    { weight: 1, arbitrary: runId.map((each) => requeue({ runId: each })) },
    { weight: 1, arbitrary: runId.map((each) => requestCancel({ runId: each, reason: "no use" })) },
    { weight: 1, arbitrary: runId.map((each) => complete({ runId: each })) },
  );
  return {
    commands: Object.values(queueCommands),
    projections: [queue],
    events: [queueEvents],
    wishes,
    numRuns: tries,
  };
}

/** Runs that come, are claimed, and are given back. */
function projectionSubject() {
  const start = Date.UTC(2026, 0, 1);
  const item = { availableAt: start, priority: 1, affinity: "A", parent: null, reclaimsMax: 2 };
  const life = (stream, count) => [
    { stream, type: "queue.enqueued", data: item },
    ...Array.from({ length: count }, (_, index) => [
      { stream, type: "queue.claimed", data: { claim: claimOf(index + 1) } },
      { stream, type: "queue.parked", data: { availableAt: start + 10_000_000 } },
    ]).flat(),
  ];
  const claimOf = (generation) => ({
    holder: "A",
    generation,
    tokenHash: hashToken("a token of theirs"),
    expiresAt: start + 20_000_000,
    superseded: null,
  });
  const lives = fc.uniqueArray(fc.constantFrom("queue/r1", "queue/r2", "queue/r3"), { maxLength: 3 });
  const histories = fc.tuple(lives, fc.integer({ min: 0, max: 3 }));
  return {
    projection: queue,
    events: [queueEvents],
    histories: histories.map(([streams, count]) => streams.flatMap((stream) => life(stream, count))),
    numRuns: tries,
  };
}
