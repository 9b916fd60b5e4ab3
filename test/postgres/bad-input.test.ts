/** What is not as it must be is refused with a code and a hint, and nothing is made or changed. */
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, test } from "vitest";
import { openLedger, openRawReader, verifyWorkers } from "../../src/index.js";
import type { Ledger, LedgerError } from "../../src/index.js";
import { addressOf, dropJournal, freshName, serverUrl, sql } from "./journal.js";
import { ask } from "./place.js";
import { Proxy } from "./proxy.js";
import { startServer } from "./server.js";

const password = "zebra-of-the-tests";
const made: string[] = [];

afterEach(async () => {
  for (const journal of made.splice(0)) await dropJournal(journal);
});

function fresh(): string {
  const name = freshName();
  made.push(name);
  return name;
}

function changed(change: (url: URL) => void, journal = fresh()): string {
  const url = new URL(addressOf(journal));
  change(url);
  return url.href;
}

/** Whoever opens it in any way is refused with the same code and a hint, and hears no password. */
async function refused(address: string, code: string): Promise<LedgerError> {
  let last: LedgerError | undefined;
  for (const open of [
    () => openLedger(address, { create: "new" }),
    () => openLedger(address),
    () => openLedger(address, { create: false }),
    () => openLedger(address, { readOnly: true }),
    () => openRawReader(address),
  ]) {
    const error = await open().then(
      async (opened) => {
        await opened.close();
        return new Error("it was opened");
      },
      (thrown: unknown) => thrown as LedgerError,
    );
    expect(error).toMatchObject({ name: "LedgerError", code, hint: expect.any(String) as string });
    const { stack: _, ...shown } = error;
    const words = `${error.message} ${inspect(shown, { depth: 9 })}`;
    for (const secret of [password, new URL(serverUrl).password]) expect(words).not.toContain(secret);
    last = error as LedgerError;
  }
  return last!;
}

async function schemas(): Promise<unknown[]> {
  return sql("SELECT nspname FROM pg_namespace WHERE nspname = ANY ($1)", [made]);
}

test("an address that cannot be one is INVALID_ARGUMENT", async () => {
  for (const address of ["postgres://ann:zebra-of-the-tests/@h/d", addressOf("Upper-Case"), `${serverUrl}?sslmode=of`])
    await refused(address, "INVALID_ARGUMENT");
  expect(() => verifyWorkers("postgres://h/d?journal=public", 2)).toThrow("journal");
});

test("a certificate that cannot be read is INVALID_ARGUMENT", async () => {
  await refused(
    changed((url) => url.searchParams.set("sslrootcert", "/nowhere/ca.pem")),
    "INVALID_ARGUMENT",
  );
});

test("a host that is none, and a port where nobody listens, are STORE_UNAVAILABLE", async () => {
  await refused(
    changed((url) => (url.hostname = "nowhere.invalid")),
    "STORE_UNAVAILABLE",
  );
  await refused(
    changed((url) => (url.port = "1")),
    "STORE_UNAVAILABLE",
  );
});

test("a server that is none is STORE_UNAVAILABLE, whether it says something else or nothing", async () => {
  const other = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const silent = createServer(() => {});
  for (const server of [other, silent]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await refused(`postgres://ann:${password}@127.0.0.1:${port}/d?connect_timeout=1`, "STORE_UNAVAILABLE");
    server.close();
  }
});

/** A message of a server: its letter, its length and what it says. */
const message = (letter: number, length: number, ...says: number[]): Buffer =>
  Buffer.from([letter, length >>> 24, (length >>> 16) & 255, (length >>> 8) & 255, length & 255, ...says]);

test.each([
  ["a message of no kind", message(0, 4)],
  ["a message that is too short", message(0x4b, 4)],
])("a server that sends %s is STORE_UNAVAILABLE, and crashes nobody", async (_, bytes) => {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(bytes));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await refused(`postgres://ann:${password}@127.0.0.1:${port}/d?connect_timeout=1`, "STORE_UNAVAILABLE");
  server.close();
});

test("TLS that the server does not speak is STORE_UNAVAILABLE", async () => {
  await refused(
    changed((url) => url.searchParams.set("sslmode", "verify-full")),
    "STORE_UNAVAILABLE",
  );
});

test("a database that is not there is NOT_FOUND", async () => {
  await refused(
    changed((url) => (url.pathname = "/no_database_of_that_name")),
    "NOT_FOUND",
  );
});

test("a role that may not make schemas is ACCESS_DENIED, and nothing is made", async () => {
  const role = freshName();
  await sql(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  try {
    const address = changed((url) => {
      url.username = role;
      url.password = password;
    });
    await expect(openLedger(address)).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.any(String) as string,
    });
    expect(await schemas()).toEqual([]);
  } finally {
    await sql(`DROP ROLE ${role}`);
  }
});

test("a server that takes no writes is READ_ONLY", async () => {
  const name = fresh();
  await (await openLedger(addressOf(name))).close();
  const address = changed((url) => url.searchParams.set("options", "-c default_transaction_read_only=on"), name);

  await expect(openLedger(address)).rejects.toMatchObject({ code: "READ_ONLY", hint: expect.any(String) as string });
  const ledger = await openLedger(address, { readOnly: true });
  expect((await ledger.status()).size).toBe(1);
  await ledger.close();
});

test("a schema with somebody else's tables is STORE_FOREIGN, and stays as it was", async () => {
  const name = fresh();
  await sql(`CREATE SCHEMA ${name}; CREATE TABLE ${name}.invoices (id int); INSERT INTO ${name}.invoices VALUES (7)`);

  await refused(addressOf(name), "STORE_FOREIGN");

  expect(await sql("SELECT table_name FROM information_schema.tables WHERE table_schema = $1", [name])).toEqual([
    { table_name: "invoices" },
  ]);
});

/** A journal whose `meta` says something else under a key. */
async function marked(key: string, value: string): Promise<{ name: string; meta: () => Promise<unknown[]> }> {
  const name = fresh();
  await (await openLedger(addressOf(name))).close();
  await sql(`UPDATE ${name}.meta SET value = $2 WHERE key = $1`, [key, value]);
  return { name, meta: () => sql(`SELECT * FROM ${name}.meta ORDER BY key`) };
}

test.each(["2", "9", "10", "0010", "100"])(
  "a newer layout, %s, is SCHEMA_UNKNOWN to everybody, and stays as it was",
  async (layout) => {
    const { name, meta } = await marked("layout", layout);
    const before = await meta();

    const error = await refused(addressOf(name), "SCHEMA_UNKNOWN");

    expect(error.message).toContain(`found ${layout}`);
    expect(await meta()).toEqual(before);
  },
);

test.each(["runledger/2", "runledger/10", "runledger/1 ", "RUNLEDGER/1"])(
  "a schema of the format %j is SCHEMA_UNKNOWN, is what the verifier finds, and stays as it was",
  async (format) => {
    const { name, meta } = await marked("schema", format);
    const before = await meta();

    for (const options of [{}, { create: false }, { readOnly: true }])
      await expect(openLedger(addressOf(name), options)).rejects.toMatchObject({
        code: "SCHEMA_UNKNOWN",
        message: expect.stringContaining(`schema identifier runledger/1, found ${format}`) as string,
        hint: expect.any(String) as string,
      });
    // As of a file: rows of this layout can be read, so they are looked at, and what they say they are is a finding.
    const reader = await openRawReader(addressOf(name));
    expect(await reader.problems("schema")).toEqual([
      { code: "E_SCHEMA", where: "meta", message: `the schema identifier must be runledger/1, found ${format}` },
    ]);
    await reader.close();
    expect(await meta()).toEqual(before);
  },
);

describe("a server of its own kind", () => {
  test.each(["SQL_ASCII", "LATIN1"])(
    "with a database of %s is STORE_UNSUPPORTED, and nothing is made",
    async (encoding) => {
      const database = freshName();
      await sql(`CREATE DATABASE ${database} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
      try {
        const address = changed((url) => (url.pathname = `/${database}`));
        const error = await refused(address, "STORE_UNSUPPORTED");
        expect(error.message).toContain(`a database of the encoding UTF8, found ${encoding}`);
        expect(await ask(address, "SELECT nspname FROM pg_namespace WHERE nspname = ANY ($1)", [made])).toEqual([]);
      } finally {
        await sql(`DROP DATABASE ${database} WITH (FORCE)`);
      }
    },
  );

  test("that is too old is STORE_UNSUPPORTED, and nothing is made", async () => {
    const [{ server_version_num: found }] = (await sql("SHOW server_version_num")) as [{ server_version_num: string }];
    const proxy = await Proxy.start(serverUrl);
    try {
      proxy.replaced.push({ from: Buffer.from(found), to: Buffer.from("130022") });
      const url = new URL(proxy.url);
      url.searchParams.set("journal", fresh());
      const error = await refused(url.href, "STORE_UNSUPPORTED");
      expect(error.message).toContain("PostgreSQL 14 or newer, found version 130022");
      expect(await schemas()).toEqual([]);
    } finally {
      await proxy.close();
    }
  });

  test("that wants passwords is ACCESS_DENIED to a wrong one and to nobody's, and says that there is none", async () => {
    const server = await startServer({ sync: false });
    try {
      const at = (change: (url: URL) => void): string => {
        const url = new URL(addressOf("closed", server.url));
        change(url);
        return url.href;
      };
      await refused(
        at((url) => (url.password = password)),
        "ACCESS_DENIED",
      );
      await refused(
        at((url) => (url.username = "nobody_of_that_name")),
        "ACCESS_DENIED",
      );
      await refused(
        at((url) => (url.password = "")),
        "ACCESS_DENIED",
      );
    } finally {
      await server.stop();
    }
  });

  test("that has no connection left is STORE_UNAVAILABLE", async () => {
    const server = await startServer({
      sync: false,
      flags: ["-c", "max_connections=5", "-c", "superuser_reserved_connections=0", "-c", "reserved_connections=0"],
    });
    try {
      const ledgers: Ledger[] = [];
      const tried = await Promise.allSettled(
        Array.from({ length: 6 }, async () => {
          const ledger = await openLedger(addressOf("full", server.url));
          ledgers.push(ledger);
        }),
      );
      const refusal: unknown = tried.find(({ status }) => status === "rejected");
      expect(refusal).toMatchObject({
        reason: { code: "STORE_UNAVAILABLE", hint: expect.any(String) as string },
      });
      for (const ledger of ledgers) await ledger.close();
    } finally {
      await server.stop();
    }
  });
});
