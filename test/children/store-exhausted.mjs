/** Opens a ledger file with fewer and fewer free descriptors, and says what came of it: `ok`, or the code of the error.
 *  Run with a low limit of open files. usage: store-exhausted.mjs PATH */
import { closeSync, openSync, writeSync } from "node:fs";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";
import { openSqliteRawReader } from "../../dist/src/store/sqlite/raw-reader.js";

const [path] = process.argv.slice(2);

const ways = {
  write: async () => {
    const store = await openSqliteStore(path);
    try {
      const transaction = await store.begin();
      await transaction.rollback();
      await store.maintain();
    } finally {
      await store.close();
    }
  },
  read: async () => {
    const store = await openSqliteStore(path, { readOnly: true });
    try {
      const snapshot = await store.snapshot();
      if ((await snapshot.entries(0, 10)).length === 0) throw new Error("no entries");
    } finally {
      await store.close();
    }
  },
  verify: async () => {
    const raw = await openSqliteRawReader(path);
    try {
      await raw.evidence();
      const problems = await raw.problems();
      if (problems.length > 0) throw new Error(JSON.stringify(problems));
      if ((await raw.entryCount()) === 0) throw new Error("no entries");
    } finally {
      await raw.close();
    }
  },
};

// Everything that is loaded late is loaded now: what is measured is the store.
for (const way of Object.values(ways)) await way();

const taken = [];
for (;;) {
  try {
    taken.push(openSync("/dev/null", "r"));
  } catch {
    break;
  }
}
for (let free = 0; free <= 12 && free <= taken.length; free++) {
  for (const [name, way] of Object.entries(ways)) {
    let outcome = { ok: true };
    try {
      await way();
    } catch (error) {
      outcome = { code: error.code ?? error.name, message: error.message, hint: error.hint };
    }
    writeSync(1, `${JSON.stringify({ free, name, ...outcome })}\n`);
  }
  closeSync(taken.pop());
}
