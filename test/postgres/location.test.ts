import { inspect } from "node:util";
import { expect, test } from "vitest";
import { LedgerError } from "../../src/index.js";
import { parsePostgresLocation } from "../../src/store/postgres/location.js";

test("an address names a database as pg takes it, and a journal in it", () => {
  const { config, schema, shown } = parsePostgresLocation(
    "postgresql://ann:zebra@db.example:6432/work?sslmode=verify-full&journal=billing&application_name=invoices",
  );

  expect(schema).toBe("billing");
  expect(config.connectionString).toBe(
    "postgresql://ann:zebra@db.example:6432/work?sslmode=verify-full&application_name=invoices",
  );
  expect(config.fallback_application_name).toBe("runledger");
  expect(shown).toBe("postgres://db.example:6432/work?journal=billing");
});

test.each([
  ["postgres://h/d", "postgres://h/d"],
  ["postgres://h/d?journal=a", "postgres://h/d"],
  ["postgres://h/d?journal=a&host=/run/postgresql", "postgres://h/d?host=/run/postgresql"],
  ["postgres:///d?user=ann&journal=a", "postgres:///d?user=ann"],
  ["postgres://", "postgres://"],
  ["POSTGRES://h/d?options=-c%20role%3Dwriter", "POSTGRES://h/d?options=-c%20role%3Dwriter"],
  ["postgres://a:p%25w%3F@[::1]:1/d?jour%6eal=a", "postgres://a:p%25w%3F@[::1]:1/d"],
])("everything but the journal is handed on letter for letter: %s", (address, handed) => {
  expect(parsePostgresLocation(address).config.connectionString).toBe(handed);
});

test("the journal is named runledger when nothing else is said, and messages name it", () => {
  const { schema, shown } = parsePostgresLocation("postgres://ann@h/d");

  expect(schema).toBe("runledger");
  expect(shown).toBe("postgres://h/d?journal=runledger");
});

test("a host that does not answer is given up after 10 seconds, or after connect_timeout", () => {
  expect(parsePostgresLocation("postgres://h/d").config.connectionTimeoutMillis).toBe(10_000);
  expect(parsePostgresLocation("postgres://h/d?connect_timeout=3").config.connectionTimeoutMillis).toBe(3_000);
});

test.each([
  [42, "an address such as"],
  ["mysql://ann:zebra@h/d", "an address such as"],
  ["postgres:/ann:zebra@h/d", "an address such as"],
  ["postgresql:ann:zebra@h/d", "an address such as"],
  ["postgres://ann:zeb ra@h/d", "white space"],
  ["postgres://ann:zebra@h/d\n", "white space"],
  ["postgres://ann:zebra@h/d\ud800", "white space"],
  ["postgres://ann:zeb/ra@h/d", "an address such as"],
  ["postgres://ann:zeb#ra@h/d", "an address such as"],
  ["postgres://ann:12#zebra@h/d", "without #"],
  ["postgres://ann:12/zebra@h/d", "one database"],
  ["postgres://ann:12?zebra@h/d", "name=value"],
  ["postgres://ann:zebra%@h/d", "two hex digits"],
  ["postgres://ann:zebra%ff@h/d", "two hex digits"],
  ["postgres://ann:zebra@h:99999/d", "an address such as"],
  ["postgres://ann:zebra@h/d?port=none", "from 1 to 65535"],
  ["postgres://ann:zebra@h,i/d", "one host"],
  ["postgres://ann:zebra@h/d?target_session_attrs=read-write", "one host"],
  ["postgres://ann:zebra@h/d/e", "one database"],
  ["postgres://ann:zebra@h/d?sslmode=requir", "disable, prefer, require"],
  ["postgres://ann:zebra@h/d?connect_timeout=soon", "seconds"],
  ["postgres://ann:zebra@h/d?schema=work", "named by journal="],
  ["postgres://ann:zebra@h/d?Journal=work", "named by journal="],
  ["postgres://ann:zebra@h/d?journal=a&journal=b", "one journal"],
  ["postgres://ann:zebra@h/d?journal=", "a schema of its own"],
  ["postgres://ann:zebra@h/d?journal=Billing", "a schema of its own"],
  ["postgres://ann:zebra@h/d?journal=a-b", "a schema of its own"],
  ["postgres://ann:zebra@h/d?journal=pg_work", "a schema of its own"],
  ["postgres://ann:zebra@h/d?journal=public", "a schema of its own"],
  ["postgres://ann:zebra@h/d?journal=information_schema", "a schema of its own"],
  [`postgres://ann:zebra@h/d?journal=${"a".repeat(64)}`, "a schema of its own"],
])("%j is refused with what an address must be, and nothing of the address is shown", (address, expected) => {
  const error = refusal(() => parsePostgresLocation(address));

  expect(error.code).toBe("INVALID_ARGUMENT");
  expect(error.message).toContain(expected);
  expect(error.hint).toBeDefined();
  expect(inspect(error, { depth: 9 })).not.toMatch(/zeb|ra@/);
});

test.each([
  "postgres://ann:zebra@h,i/d",
  "postgres://ann:zebra@h:5432,i:5433/d",
  "postgres://ann:zebra@h/d?host=h,i",
  "postgres://ann:zebra@h/d?target_session_attrs=primary",
])("%j, for a failover, is refused with what to name instead", (address) => {
  const error = refusal(() => parsePostgresLocation(address));

  expect(error.hint).toContain("leads to the primary");
  expect(inspect(error, { depth: 9 })).not.toContain("zebra");
});

function refusal(call: () => unknown): LedgerError {
  try {
    call();
  } catch (error) {
    if (error instanceof LedgerError) return error;
    throw error;
  }
  throw new Error("it was taken");
}
