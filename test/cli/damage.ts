/** Changes a closed ledger file as somebody with the `sqlite3` shell would: past the guard triggers, which are put back. */
import Database from "better-sqlite3";

export function damage(file: string, sql: string, ...values: unknown[]): void {
  const database = new Database(file);
  try {
    const triggers = database.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").all() as {
      name: string;
      sql: string;
    }[];
    for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
    const { changes } = database.prepare(sql).run(...values);
    if (changes === 0) throw new Error(`nothing was changed by ${sql}`);
    for (const { sql: trigger } of triggers) database.exec(trigger);
  } finally {
    database.close();
  }
}
