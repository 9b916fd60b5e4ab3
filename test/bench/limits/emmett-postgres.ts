/** A peer from npm, when `npm install` was run in `test/bench/postgres`: its version needs another core than that of the peer on
 *  SQLite. */
import { createRequire } from "node:module";
import type { NewEvent } from "../../../src/index.js";

export interface EmmettPostgres {
  append(stream: string, event: NewEvent): Promise<unknown>;
  close(): Promise<void>;
}

/** What is used of the package. */
interface Package {
  getPostgreSQLEventStore(url: string): {
    appendToStream(stream: string, events: readonly unknown[]): Promise<unknown>;
    close(): Promise<void>;
  };
}

/** Opens emmett-postgresql as it is shipped; null, and the reason said, when it cannot be loaded. */
export async function openEmmettPostgres(url: string, say: (sentence: string) => void): Promise<EmmettPostgres | null> {
  let emmett: Package;
  try {
    const require = createRequire(new URL("../../../../test/bench/postgres/package.json", import.meta.url));
    emmett = require("@event-driven-io/emmett-postgresql") as Package; // an optional package: there are no types to rely on
  } catch (cause) {
    const [reason] = String(cause).split("\n");
    say(`emmett-postgresql not run: \`npm install\` in test/bench/postgres brings it (${reason})`);
    return null;
  }
  const store = emmett.getPostgreSQLEventStore(url);
  const append = (stream: string, event: NewEvent): Promise<unknown> => store.appendToStream(stream, [event]);
  await append("job/first", { type: "job.stepFinished", data: {} }); // makes its tables
  return { append, close: () => store.close() };
}
