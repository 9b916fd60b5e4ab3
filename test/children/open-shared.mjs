/** The store at a path, or at the address of a journal in PostgreSQL. */
import { openPostgresStore } from "../../dist/src/store/postgres/store.js";
import { openSqliteStore } from "../../dist/src/store/sqlite/store.js";

export function openShared(place, options) {
  return place.startsWith("postgres:") ? openPostgresStore(place, options) : openSqliteStore(place, options);
}
