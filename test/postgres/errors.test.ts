import { inspect } from "node:util";
import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { InvariantError, LedgerError } from "../../src/kernel/errors.js";
import { storeError } from "../../src/store/postgres/errors.js";

const shown = "postgres://h/d?journal=a";

test.each([
  ["40001", "STORE_BUSY"],
  ["40P01", "STORE_BUSY"],
  ["55P03", "STORE_BUSY"],
  ["08000", "STORE_UNAVAILABLE"],
  ["08006", "STORE_UNAVAILABLE"],
  ["57P01", "STORE_UNAVAILABLE"],
  ["57P02", "STORE_UNAVAILABLE"],
  ["57P03", "STORE_UNAVAILABLE"],
  ["53300", "STORE_UNAVAILABLE"],
  ["57014", "STORE_UNAVAILABLE"],
  ["25P03", "STORE_UNAVAILABLE"],
  ["25006", "READ_ONLY"],
  ["53100", "STORE_FULL"],
  ["53200", "RESOURCES_EXHAUSTED"],
  ["28P01", "ACCESS_DENIED"],
  ["28000", "ACCESS_DENIED"],
  ["42501", "ACCESS_DENIED"],
  ["3D000", "NOT_FOUND"],
  ["XX001", "STORE_DAMAGED"],
  ["XX002", "STORE_DAMAGED"],
  ["23505", "STORE_DAMAGED"],
  ["23514", "STORE_DAMAGED"],
  ["P0001", "STORE_DAMAGED"],
  ["42P01", "STORE_DAMAGED"],
  ["3F000", "STORE_DAMAGED"],
  ["42601", "STORE_UNSUPPORTED"],
  ["0A000", "STORE_UNSUPPORTED"],
  ["22021", "STORE_UNSUPPORTED"],
  ["XX000", "STORE_UNAVAILABLE"],
])("SQLSTATE %s is %s", (state, code) => {
  const error = storeError(told(state), shown, "appending to");

  expect(error).toMatchObject({ code, details: { location: shown, found: state } });
  expect((error as Error).message).toContain("appending to postgres://h/d?journal=a failed");
});

test.each([
  ["ECONNREFUSED", "STORE_UNAVAILABLE"],
  ["ECONNRESET", "STORE_UNAVAILABLE"],
  ["EPIPE", "STORE_UNAVAILABLE"],
  ["ETIMEDOUT", "STORE_UNAVAILABLE"],
  ["ENOTFOUND", "STORE_UNAVAILABLE"],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "STORE_UNAVAILABLE"],
  ["EMFILE", "RESOURCES_EXHAUSTED"],
])("the system's %s is %s", (found, code) => {
  expect(storeError(Object.assign(new Error("x"), { code: found }), shown, "opening")).toMatchObject({ code });
});

test("what pg says of a connection has no code and no class of its own, and means that there is none", () => {
  const error = storeError(new Error("Connection terminated unexpectedly"), shown, "opening");

  expect(error).toMatchObject({
    code: "STORE_UNAVAILABLE",
    details: { found: "Connection terminated unexpectedly" },
  });
});

test("a certificate that cannot be read is a mistake in the address, a socket that is not there is not", () => {
  const file = Object.assign(new Error("x"), { code: "ENOENT", syscall: "open", path: "/ca.pem" });
  const socket = Object.assign(new Error("x"), { code: "ENOENT", syscall: "connect", address: "/run/s" });

  expect(storeError(file, shown, "opening")).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(storeError(socket, shown, "opening")).toMatchObject({ code: "STORE_UNAVAILABLE" });
});

test("a bug stays one: what is no trouble of the store is handed on as it is", () => {
  const causes = [new TypeError("x"), new InvariantError("x"), new LedgerError("CLOSED", "x"), "x"];

  expect(causes.map((cause) => storeError(cause, shown, "opening"))).toEqual(causes);
});

test("no error carries what stands in a row or a parameter", () => {
  const cause = Object.assign(told("23514"), { detail: "Failing row contains (secret)", where: "$1 = 'secret'" });
  const value = Object.assign(told("22P02"), { message: 'invalid input syntax for type bigint: "secret"' });

  for (const error of [cause, value].map((each) => storeError(each, shown, "appending to"))) {
    expect(inspect(error, { depth: 9 })).not.toContain("secret");
    expect(JSON.stringify(error)).not.toContain("secret");
  }
});

function told(state: string): DatabaseError {
  return Object.assign(new DatabaseError("the server's words", 1, "error"), { code: state, severity: "ERROR" });
}
