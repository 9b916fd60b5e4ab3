/** A peer from npm, when `npm install` was run in `test/bench`: it stays out of the project's own lock file. */
import { createRequire } from "node:module";
import type { NewEvent } from "../../../src/index.js";

export interface EmmettStore {
  append(stream: string, event: NewEvent): Promise<unknown>;
}

/** What is used of the package. */
interface EmmettSqlite {
  getSQLiteEventStore(options: { readonly fileName: string }): {
    appendToStream(stream: string, events: readonly unknown[]): Promise<unknown>;
  };
}

/** Opens emmett-sqlite as it is shipped; null, and the reason said, when it cannot be loaded. */
export async function openEmmett(path: string, say: (sentence: string) => void): Promise<EmmettStore | null> {
  let emmett: EmmettSqlite;
  try {
    const require = createRequire(new URL("../../../../test/bench/package.json", import.meta.url));
    emmett = require("@event-driven-io/emmett-sqlite") as EmmettSqlite; // an optional package: there are no types to rely on
  } catch (cause) {
    const [reason] = String(cause).split("\n");
    say(`emmett-sqlite not run: \`npm install\` in test/bench brings it (${reason})`);
    return null;
  }
  const store = emmett.getSQLiteEventStore({ fileName: path });
  const append = (stream: string, event: NewEvent): Promise<unknown> => store.appendToStream(stream, [event]);
  await append("job/first", { type: "job.stepFinished", data: {} }); // makes its tables
  return { append };
}
