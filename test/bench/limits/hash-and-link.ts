/** The limit of verify: read every row in pages of a thousand, hash its text, compare with its id, and see that it names
 *  the one before. Nothing is parsed. */
import { hash } from "node:crypto";
import Database from "better-sqlite3";

const pageRows = 1_000;
const linkMark = ',"prev":"';

/** Walks a closed ledger file and returns how many entries were hashed and linked. */
export function hashAndLink(path: string): number {
  const database = new Database(path, { readonly: true });
  const page = database
    .prepare<[number, number], [number, string, string]>(
      "SELECT seq, lower(hex(id)), entry FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
    )
    .raw();
  let previous = "0".repeat(64);
  let checked = 0;
  for (let rows = page.all(-1, pageRows); rows.length > 0; rows = page.all(checked - 1, pageRows)) {
    for (const [seq, id, entry] of rows) {
      const link = entry.lastIndexOf(linkMark) + linkMark.length;
      if (
        seq !== checked++ ||
        hash("sha256", `\0${entry}`, "hex") !== id ||
        entry.slice(link, link + 64) !== previous
      ) {
        throw new Error(`entry ${seq} must hash to its id and name the one before it`);
      }
      previous = id;
    }
  }
  database.close();
  return checked;
}
