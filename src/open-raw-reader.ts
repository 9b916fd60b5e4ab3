/** The one place that chooses a raw reader by the location of a ledger. */
import type { RawReader } from "./journal/raw-reader.js";
import { isPostgresAddress } from "./store/postgres/location.js";
import { openSqliteRawReader } from "./store/sqlite/raw-reader.js";

/** Opens the stored rows of a ledger as they are, for `verify`: those of a file, or of the journal at an address of PostgreSQL.
 *  Creates and changes nothing. @public */
export async function openRawReader(location: string): Promise<RawReader> {
  if (typeof location !== "string" || !isPostgresAddress(location)) return openSqliteRawReader(location);
  const { openPostgresRawReader } = await import("./store/postgres/raw-reader.js");
  return openPostgresRawReader(location);
}
