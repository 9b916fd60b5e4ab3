/** Where a journal lives in PostgreSQL: an address as `pg` takes it, and the schema that `?journal=` names.
 *  Invariants: nothing is connected to or read here; no message and no detail carries what stands in the address, for it may
 *  hold a password, also in the wrong place; `shown` holds host, port, database and journal and nothing else. */
import { LedgerError } from "../../kernel/errors.js";

/** What `pg` gets: the address without `journal`, and what it does not read from an address itself. Its own type is no part of
 *  ours, for hosts need not have its declarations. */
export interface PostgresConfig {
  readonly connectionString: string;
  readonly fallback_application_name: string;
  readonly connectionTimeoutMillis: number;
  readonly keepAlive: boolean;
  /** How long an answer may take. */
  readonly query_timeout?: number;
}

export interface PostgresLocation {
  readonly config: PostgresConfig;
  /** Needs no quotes in SQL. */
  readonly schema: string;
  /** For messages: without user, password and parameters. */
  readonly shown: string;
}

const journalDefault = "runledger";
const journalPattern = /^[a-z][a-z0-9_]{0,62}$/;
/** A host that does not answer at all is given up after so long. */
const connectMsDefault = 10_000;
const connectSecondsMax = 86_400;
/** As libpq takes them for failovers; with ports they make no URL. */
const severalHosts = /^[a-z]+:\/\/(?:[^@/?#]*@)?[^@/?#:,]+(?::\d+)?(?:,[^@/?#:,]+(?::\d+)?)+(?=[/?#]|$)/i;
const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full", "no-verify"];

/** Is it meant to be the address of a journal in PostgreSQL? One slash too few makes no file of it, whose name would be shown. */
export function isPostgresAddress(location: string): boolean {
  return /^postgres(ql)?:/i.test(location);
}

export function parsePostgresLocation(value: unknown): PostgresLocation {
  if (typeof value !== "string" || !/^postgres(ql)?:\/\//i.test(value))
    throw refused("an address such as postgres://user@host/database?journal=name", "something else");
  if (/[\s\u0000-\u001f\u007f]/.test(value) || !value.isWellFormed())
    throw refused("an address without white space and control characters", "some");
  if (severalHosts.test(value)) throw severalRefused();
  const url = parse(value);
  if (url.hash !== "") throw refused("an address without #", "one");
  if (url.hostname.includes(",")) throw severalRefused();
  const parts = [url.username, url.password, url.hostname, url.pathname];
  if (!parts.every(isDecodable)) throw refused("an address whose % stand before two hex digits of UTF-8", "another %");
  if (/[@/]/.test(url.pathname.slice(1))) throw refused("an address with one database behind the host", "more");
  const schema = parseJournal(checkParameters(url).getAll("journal"));
  const shown = `postgres://${url.host}${url.pathname}?journal=${schema}`;
  const config: PostgresConfig = {
    connectionString: withoutJournal(value),
    fallback_application_name: "runledger",
    connectionTimeoutMillis: connectMs(url.searchParams),
    keepAlive: true,
  };
  return { config, schema, shown };
}

function parse(value: string): URL {
  try {
    return new URL(value);
  } catch {
    // The cause would carry the address.
    throw refused("an address such as postgres://user@host:5432/database?journal=name", "one that cannot be read");
  }
}

/** Those that decide where to connect and how safely; `pg` reads past what it does not know. */
function checkParameters(url: URL): URLSearchParams {
  const parameters = url.searchParams;
  // What stands there otherwise is the rest of a password with a question mark.
  if (![...parameters.keys()].every((name) => /^[a-z_]+$/i.test(name)))
    throw refused("an address whose parameters are name=value", "others");
  // `pg` would read past them, and the journal would be another one.
  const mistaken = [...parameters.keys()].some((name) => name === "schema" || name !== name.toLowerCase());
  if (mistaken)
    throw refused("an address whose journal is named by journal=, in small letters like all of them", "others");
  const sslmode = parameters.get("sslmode");
  if (sslmode !== null && !sslModes.includes(sslmode))
    throw refused(`an address whose sslmode is one of ${sslModes.join(", ")}`, "another one");
  // `pg` knows one host, and would take them for its name.
  if (parameters.get("host")?.includes(",") === true || parameters.has("target_session_attrs")) throw severalRefused();
  const port = parameters.get("port");
  if (port !== null && !isWhole(port, 1, 65_535))
    throw refused("an address whose port is from 1 to 65535", "another one");
  return parameters;
}

function parseJournal(names: readonly string[]): string {
  const [name = journalDefault] = names;
  if (names.length > 1) throw refused("an address with one journal", `${names.length}`);
  const reserved = name.startsWith("pg_") || name === "public" || name === "information_schema";
  if (!reserved && journalPattern.test(name)) return name;
  throw refused(
    "an address whose journal is the name of a schema of its own",
    journalPattern.test(name) ? `${name}, which is PostgreSQL's` : "another name",
    "a journal is named with a to z, 0 to 9 and _, begins with a letter and has at most 63 of them",
  );
}

/** `pg` reads no timeout from an address. Seconds, as all who speak to PostgreSQL write them; 0 waits as long as it takes. */
function connectMs(parameters: URLSearchParams): number {
  const seconds = parameters.get("connect_timeout");
  if (seconds === null) return connectMsDefault;
  if (!isWhole(seconds, 0, connectSecondsMax))
    throw refused(`an address whose connect_timeout is from 0 to ${connectSecondsMax} seconds`, "another one");
  return Number(seconds) * 1000;
}

/** Everything else stays as it was written, letter for letter. */
function withoutJournal(value: string): string {
  const [before, query] = split(value, "?");
  const kept = query.split("&").filter((part) => part !== "" && !isJournal(part));
  return kept.length === 0 ? before : `${before}?${kept.join("&")}`;
}

function isJournal(part: string): boolean {
  return new URLSearchParams(part).has("journal");
}

function split(text: string, by: string): [before: string, behind: string] {
  const at = text.indexOf(by);
  return at === -1 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

function isWhole(text: string, min: number, max: number): boolean {
  return /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max;
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text);
    return true;
  } catch {
    return false;
  }
}

const encodeHint =
  "write characters such as @ / ? # % of a password as %40 %2F %3F %23 %25, or give it as PGPASSWORD or in ~/.pgpass";

function refused(expected: string, found: string, hint: string = encodeHint): LedgerError {
  return new LedgerError("INVALID_ARGUMENT", `location must be ${expected}, found ${found}`, {
    details: { path: "location", expected, found },
    hint,
  });
}

function severalRefused(): LedgerError {
  return refused(
    "an address with one host",
    "several, or target_session_attrs, which chooses among several",
    "name one host that leads to the primary, also after a failover: a DNS name that follows it, or a proxy that hands out whole sessions",
  );
}
