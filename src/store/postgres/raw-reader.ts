import type { RawReader } from "../../journal/raw-reader.js";
import { LedgerError } from "../../kernel/errors.js";
import type { ConnectionOptions } from "./connection.js";
import type { PostgresLocation } from "./location.js";

/** The rows of the journal at a place, for the verifier. */
export async function openRawReaderAt({ shown }: PostgresLocation, _: ConnectionOptions): Promise<RawReader> {
  throw new LedgerError("STORE_UNSUPPORTED", `the rows of ${shown} cannot be read raw yet`);
}
