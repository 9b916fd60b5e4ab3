/** What the store itself says is wrong, before any content is looked at: identifiers, schema, storage classes, pages. */
import type { RawProblem } from "../../journal/raw-reader.js";
import type { Connection } from "./connection.js";
import { sqliteCode } from "./errors.js";
import type { Header } from "./header.js";
import { applicationId, layoutVersion, schemaIdentifier } from "./schema.js";
import { shapeDifferences, storedIdentifier } from "./shape.js";

/** At most so many findings of one kind are listed. */
const problemsMax = 100;

/** All problems, identifiers and schema first: with another schema nothing below it can be trusted. */
export function findProblems(connection: Connection, header: Header): readonly RawProblem[] {
  const problems: RawProblem[] = [...headerProblems(header)];
  attempt(problems, "schema", () => {
    for (const { where, message } of shapeDifferences(connection)) problems.push({ code: "E_SCHEMA", where, message });
    if (problems.some(({ where }) => where === "meta")) return;
    const identifier = storedIdentifier(connection);
    if (identifier !== schemaIdentifier) {
      problems.push({
        code: "E_SCHEMA",
        where: "meta",
        message: `the schema identifier must be ${schemaIdentifier}, found ${identifier}`,
      });
    }
  });
  attempt(problems, "pages", () => problems.push(...pageProblems(connection)));
  attempt(problems, "entries", () => problems.push(...positionProblems(connection)));
  return problems;
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

/** SQLite's own check, of pages, of rows against indexes and of values against the classes of their columns. */
function pageProblems(connection: Connection): RawProblem[] {
  const lines = connection.prepare<unknown[], string>(`PRAGMA integrity_check(${problemsMax})`).pluck().all();
  return lines
    .filter((line) => line !== "ok")
    .map((line) => {
      const type = /^(?:non-|NULL value|[A-Z]+ value in )/.test(line);
      return { code: type ? "E_TYPE" : "E_CORRUPT", where: /\bin ([a-z_]+)/.exec(line)?.[1] ?? "file", message: line };
    });
}

/** A position that a number cannot hold exactly would be read as its neighbour. Case A16. */
function positionProblems(connection: Connection): RawProblem[] {
  const row = connection
    .prepare<unknown[], [bigint | null, bigint | null]>("SELECT min(seq), max(seq) FROM entries")
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

function attempt(problems: RawProblem[], where: string, look: () => void): void {
  try {
    look();
  } catch (cause) {
    const code = sqliteCode(cause);
    if (code === null) throw cause;
    const damaged = code.startsWith("SQLITE_CORRUPT") || code === "SQLITE_NOTADB" || code.startsWith("SQLITE_IOERR");
    problems.push({
      code: damaged ? "E_CORRUPT" : "E_SCHEMA",
      where,
      message: `${where} cannot be read: ${(cause as Error).message} (${code})`,
    });
  }
}
