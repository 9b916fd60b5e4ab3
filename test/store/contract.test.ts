/** Every store passes the same contract. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { describeStore } from "../../src/testing/describe-store.js";
import { addressOf, dropJournal, freshName } from "../postgres/journal.js";

const runner = { describe, test };
let seed = Number(process.env.RUNLEDGER_SEED);

describeStore("memory", async () => ({ store: createMemoryStore(), dispose: async () => {} }), runner);

describeStore(
  "memory, made asynchronous",
  async () => ({ store: asyncMemoryStore(seed++), dispose: async () => {} }),
  runner,
);

describeStore(
  "sqlite",
  async () => {
    const directory = mkdtempSync(join(tmpdir(), "store-"));
    const path = join(directory, "state.ledger");
    return {
      store: await openSqliteStore(path),
      reopen: () => openSqliteStore(path),
      dispose: async () => rmSync(directory, { recursive: true }),
    };
  },
  runner,
);

describeStore(
  "postgres",
  async () => {
    const journal = freshName();
    const url = addressOf(journal);
    return {
      store: await openPostgresStore(url),
      reopen: () => openPostgresStore(url),
      dispose: () => dropJournal(journal),
    };
  },
  runner,
);
