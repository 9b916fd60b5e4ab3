/** Changes a closed ledger file as somebody with the `sqlite3` shell would: past the guard triggers, which are put back. */
import Database from "better-sqlite3";

export function damage(file: string, sql: string, ...values: unknown[]): void {
  withoutGuards(file, (database) => {
    const { changes } = database.prepare(sql).run(...values);
    if (changes === 0) throw new Error(`nothing was changed by ${sql}`);
  });
}

/** Many changes at once. */
export function withoutGuards(file: string, change: (database: Database.Database) => void): void {
  const database = new Database(file);
  try {
    const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
    database.transaction(change)(database);
    for (const { sql: trigger } of triggers) database.exec(trigger);
  } finally {
    database.close();
  }
}
