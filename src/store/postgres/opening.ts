/** Finding the journal, or making it.
 *  Invariant: it is made in one transaction; of two that make it at the same time one waits for the names that the other takes,
 *  and then finds it there. */
import type { FaultSeam } from "../../journal/store.js";
import { LedgerError } from "../../kernel/errors.js";
import type { Connection } from "./connection.js";
import { createJournal } from "./create.js";
import { sqlState } from "./errors.js";
import type { PostgresLocation } from "./location.js";
import { inspect, nothingThere } from "./shape.js";

/** Somebody else took the name of a schema, a table or a type meanwhile. */
const taken: ReadonlySet<string | null> = new Set(["42P06", "42P07", "42710", "23505"]);
const triesMax = 10;

export interface FindOptions {
  readonly create: boolean;
  readonly faults: FaultSeam | undefined;
}

export async function findOrCreate(
  connection: Connection,
  place: PostgresLocation,
  { create, faults }: FindOptions,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const found = await inspect(connection, place, "write");
    if (found === "ours") return;
    if (!create) throw nothingThere(place.shown, found);
    try {
      await make(connection, place.schema, found === "nothing", faults);
      return;
    } catch (cause) {
      await connection.command("ROLLBACK").catch(() => {}); // its first error is the one to be seen
      if (!taken.has(sqlState(cause))) throw cause;
      if (tries === triesMax)
        throw new LedgerError("STORE_BUSY", `${place.shown} is being made by others, again and again`, { cause });
    }
  }
}

async function make(
  connection: Connection,
  schema: string,
  isNew: boolean,
  faults: FaultSeam | undefined,
): Promise<void> {
  faults?.("create", "before");
  await connection.script(["BEGIN", ...(isNew ? [`CREATE SCHEMA "${schema}"`] : [])]);
  faults?.("create", "after");
  faults?.("schema", "before");
  await connection.script([...createJournal(schema), "COMMIT"]);
  faults?.("schema", "after");
}
