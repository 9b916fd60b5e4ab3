/** The PostgreSQL store by itself: for hosts that open stores, and for the verifier. `openLedger("postgres://…")` needs none of
 *  it. */
export { openPostgresRawReader } from "./store/postgres/raw-reader.js";
export { openPostgresStore } from "./store/postgres/store.js";
export type { PostgresStoreOptions } from "./store/postgres/store.js";
export type { RawReader } from "./journal/raw-reader.js";
export type { FaultSeam, Store } from "./journal/store.js";
