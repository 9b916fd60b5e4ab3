/** What the store itself says is wrong, before any content is looked at: identifiers, schema, storage classes, pages. */
import type { RawProblem, RawProblemPart } from "../../journal/raw-reader.js";
import type { Connection } from "./connection.js";
import { sqliteCode } from "./errors.js";
import type { Header } from "./header.js";
import { applicationId, layoutVersion, schema, schemaIdentifier } from "./schema.js";
import { shapeDifferences, storedIdentifier } from "./shape.js";

/** At most so many findings of one kind are listed. */
const problemsMax = 100;

/** All problems, identifiers and schema first: with another schema nothing below it can be trusted. */
export function findProblems(connection: Connection, header: Header, part: RawProblemPart): readonly RawProblem[] {
  const problems = headerProblems(header);
  const readable = attempt(problems, "schema", () => problems.push(...schemaProblems(connection)));
  if (!readable || part === "schema") return problems;
  problems.push(...(part === "all" ? allPages(connection) : tablePages(connection, part)));
  attempt(problems, "entries", () => problems.push(...positionProblems(connection)));
  return problems;
}

function schemaProblems(connection: Connection): RawProblem[] {
  const differences = shapeDifferences(connection);
  const problems = differences.map(({ where, message }): RawProblem => ({ code: "E_SCHEMA", where, message }));
  if (differences.some(({ where }) => where === "meta")) return problems;
  const identifier = storedIdentifier(connection);
  if (identifier === schemaIdentifier) return problems;
  const message = `the schema identifier must be ${schemaIdentifier}, found ${identifier}`;
  return [...problems, { code: "E_SCHEMA", where: "meta", message }];
}

function headerProblems(header: Header): RawProblem[] {
  const expected: readonly (readonly [where: string, expected: number, found: number])[] = [
    ["application_id", applicationId, header.applicationId],
    ["user_version", layoutVersion, header.userVersion],
    ["encoding", 1, header.encoding],
  ];
  return expected
    .filter(([, value, found]) => value !== found)
    .map(([where, value, found]) => ({
      code: "E_SCHEMA",
      where,
      message: `${where} must be ${value}, found ${found}`,
    }));
}

/** The whole file at once; when that breaks off, table by table, so that it is known which of them cannot be read. */
function allPages(connection: Connection): RawProblem[] {
  const found: RawProblem[] = [];
  const whole = attempt(found, "file", () => found.push(...pageProblems(connection, `${problemsMax}`)));
  return whole ? found : [...found, ...tablePages(connection, "all")];
}

function tablePages(connection: Connection, part: "all" | "but-entries"): RawProblem[] {
  const found: RawProblem[] = [];
  const fixed = schema.flatMap(({ type, name }) => (type === "table" ? [name] : []));
  for (const name of [...fixed, ...documentTables(connection)]) {
    if (part === "but-entries" && name === "entries") continue;
    attempt(found, name, () => found.push(...pageProblems(connection, name)));
  }
  return found;
}

/** Names of tables of documents that are there. */
function documentTables(connection: Connection): readonly string[] {
  const names = connection
    .prepare<unknown[], string>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .pluck()
    .all();
  return names.filter((name) => /^doc_\d+$/.test(name));
}

/** SQLite's own check: of pages, of rows against indexes, of values against the classes of their columns. It answers in
 *  sentences: "Tree 9 page 9: …", "row 3 missing from index contents_plain", "non-INTEGER value in entries.rev". */
function pageProblems(connection: Connection, part: string): RawProblem[] {
  const lines = connection.prepare<unknown[], string>(`PRAGMA integrity_check(${part})`).pluck().all();
  const sentences = lines
    .flatMap((line) => line.split("\n"))
    .filter((line) => line !== "ok" && !line.startsWith("***"));
  return sentences.map((message): RawProblem => {
    const column = / value in (\S+)$/.exec(message)?.[1];
    if (column !== undefined) return { code: "E_TYPE", where: column, message };
    const tree = /^Tree (\d+) /.exec(message)?.[1];
    const where = tree === undefined ? / (?:index|in) (\w+)$/.exec(message)?.[1] : nameOfTree(connection, Number(tree));
    return { code: "E_CORRUPT", where: where ?? "file", message };
  });
}

function nameOfTree(connection: Connection, rootPage: number): string | undefined {
  return connection
    .prepare<[number], string>("SELECT name FROM sqlite_schema WHERE rootpage = ?")
    .pluck()
    .get(rootPage);
}

/** A position that a number cannot hold exactly would be read as its neighbour. Case A16. */
function positionProblems(connection: Connection): RawProblem[] {
  const row = connection
    .prepare<unknown[], [bigint | null, bigint | null]>(
      "SELECT (SELECT min(seq) FROM entries), (SELECT max(seq) FROM entries)",
    )
    .raw()
    .safeIntegers()
    .get();
  const [first, last] = row ?? [null, null];
  const problems: RawProblem[] = [];
  for (const seq of [first, last]) {
    if (seq === null || (seq >= 0n && seq <= BigInt(Number.MAX_SAFE_INTEGER))) continue;
    problems.push({
      code: "E_TYPE",
      where: "entries.seq",
      message: `a position must be from 0 to 2^53−1, found ${seq}`,
    });
  }
  return problems;
}

/** Looks; what SQLite refuses to read is a problem too. False when it was. */
function attempt(problems: RawProblem[], where: string, look: () => void): boolean {
  try {
    look();
    return true;
  } catch (cause) {
    const code = sqliteCode(cause);
    if (code === null) throw cause;
    const damaged = /^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code);
    const message = `${where} cannot be read: ${(cause as Error).message} (${code})`;
    problems.push({ code: damaged ? "E_CORRUPT" : "E_SCHEMA", where, message });
    return false;
  }
}
