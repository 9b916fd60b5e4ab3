/** Making a ledger file. Two processes may do it at once: one makes the file, one makes the schema, both go on.
 *  Invariant: the file is there for all or for nobody (its directory entry is synced), readable by its owner alone. */
import { closeSync, constants, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";
import type { FaultSeam } from "../../journal/store.js";
import { pragma } from "./connection.js";
import type { Connection } from "./connection.js";
import { systemCode } from "./errors.js";
import { applicationId, layoutVersion, schema, schemaIdentifier } from "./schema.js";

/** Makes an empty file, and the directories above it; a file that appeared meanwhile is left as it is. Row G-21. */
export function createFile(path: string, faults: FaultSeam | undefined): void {
  faults?.("create", "before");
  const parent = dirname(path);
  const firstMade = mkdirSync(parent, { recursive: true, mode: 0o700 });
  try {
    // Closed at once: nobody can hold a lock on it yet. SQLite syncs the file when it writes to it.
    closeSync(openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR, 0o600));
  } catch (cause) {
    if (systemCode(cause) !== "EEXIST") throw cause;
  }
  for (let directory = parent; ; directory = dirname(directory)) {
    syncDirectory(directory);
    if (firstMade === undefined || directory === dirname(firstMade) || directory === dirname(directory)) break;
  }
  faults?.("create", "after");
}

/** Makes the schema in an empty file, as one transaction; does nothing when another process was faster. */
export function createSchema(connection: Connection, faults: FaultSeam | undefined): void {
  pragma(connection, "encoding = 'UTF-8'");
  pragma(connection, "auto_vacuum = NONE");
  connection.exec("BEGIN IMMEDIATE");
  try {
    if (
      connection.prepare("SELECT count(*) FROM sqlite_schema").pluck().get() === 0 &&
      pragma(connection, "application_id") === 0
    ) {
      faults?.("schema", "before");
      pragma(connection, `application_id = ${applicationId}`);
      pragma(connection, `user_version = ${layoutVersion}`);
      for (const { sql } of schema) if (sql !== null) connection.exec(sql);
      connection.prepare("INSERT INTO meta (key, value) VALUES ('schema', ?)").run(schemaIdentifier);
      connection.exec("COMMIT");
      faults?.("schema", "after");
    }
  } finally {
    if (connection.inTransaction) connection.exec("ROLLBACK");
  }
}

function syncDirectory(path: string): void {
  if (process.platform === "win32") return; // directories cannot be opened there
  const descriptor = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
