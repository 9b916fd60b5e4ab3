/** Every store passes the same contract. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "vitest";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { openSqliteStore } from "../../src/store/sqlite/store.js";
import { asyncMemoryStore } from "../../src/testing/async-memory-store.js";
import { describeStore } from "../../src/testing/describe-store.js";

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
