/** `ledger.verify({ level: "deep" })` over what the engine itself keeps, and over files that somebody edited. */
import Database from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { defineProjection } from "../../projections/define-projection.js";
import { verify } from "../../src/forensic/index.js";
import { defineEvents, openRawReader } from "../../src/index.js";
import type { Ledger, LedgerOptions, VerifyReport } from "../../src/index.js";
import { describeStores, ledgerPath, open } from "./fixture.js";

interface Account {
  balance: number;
  name: string;
}

const accountEvents = defineEvents(
  "account",
  { open: true },
  { "account.opened": {}, "account.paid": {}, "account.closed": {} },
);

const accounts = defineProjection<Account>()({
  name: "accounts",
  version: 1,
  indexes: { balance: ({ balance }) => [balance], named: ({ name }) => (name === "nobody" ? null : [name]) },
  on: {
    "account.opened": {
      key: ({ stream }) => stream,
      apply: (_, { data }) => ({ balance: 0, name: data["name"] as string }),
    },
    "account.paid": {
      key: ({ stream }) => stream,
      apply: (account, { data }) => {
        account!.balance += data["amount"] as number;
      },
    },
    "account.closed": { key: ({ stream }) => stream, apply: () => null },
  },
});

const options: LedgerOptions = { events: [accountEvents], projections: [accounts] };

/** Twelve accounts, of which one was closed, each paid into several times. */
async function fill(ledger: Ledger): Promise<void> {
  for (let account = 10; account < 22; account++)
    await ledger.append(`account/${account}`, [
      { type: "account.opened", data: { name: account % 3 === 0 ? "nobody" : `owner \0 ${account} é` } },
    ]);
  for (let payment = 0; payment < 48; payment++)
    await ledger.append(`account/${10 + (payment % 12)}`, [{ type: "account.paid", data: { amount: payment - 20 } }]);
  await ledger.append("account/14", [{ type: "account.closed" }]);
}

const deep = (ledger: Ledger): Promise<VerifyReport> => ledger.verify({ level: "deep" });

describeStores("documents that the engine keeps", (openOne) => {
  test("are what the events fold to", async () => {
    const ledger = await openOne(options);
    await fill(ledger);

    expect(await deep(ledger)).toMatchObject({
      verdict: "OK",
      findings: [],
      checked: { tables: 1, documents: 11 },
    });
  });

  test("are so between any two appends, and while appends go on", async () => {
    const ledger = await openOne(options);
    for (let account = 1; account <= 5; account++) {
      const stream = `account/${account}`;
      await ledger.append(stream, [{ type: "account.opened", data: { name: "x" } }]);
      const going = ledger.append(stream, [{ type: "account.paid", data: { amount: account } }]);
      expect(await deep(ledger)).toMatchObject({ verdict: "OK", findings: [] });
      await going;
    }
  });
});

/** A closed file whose documents are current. */
async function file(): Promise<string> {
  const path = ledgerPath();
  const ledger = await open(path, options);
  await fill(ledger);
  await ledger.close();
  return path;
}

function edit(path: string, ...statements: readonly (readonly [sql: string, ...values: unknown[]])[]): void {
  const database = new Database(path);
  for (const [sql, ...values] of statements)
    expect(database.prepare(sql).run(...values).changes, sql).toBeGreaterThan(0);
  database.close();
}

/** Verifies a file with other code than, or the same as, wrote it; a ledger would refuse to open some of them. */
async function verifyFile(path: string, given: LedgerOptions = options): Promise<VerifyReport> {
  const { projections = [], events = [] } = given;
  const reader = await openRawReader(path);
  try {
    return await verify(reader, { level: "deep", projections, events });
  } finally {
    await reader.close();
  }
}

const table = "doc_1";

describe("a ledger file in which somebody edited", () => {
  const keys = ["account/10", "account/16", "account/21"];

  test.each(keys)("T23 the document of %s says where it differs and which event set it", async (key) => {
    const path = await file();
    edit(path, [`UPDATE ${table} SET doc = json_set(doc, '$.balance', 1000000) WHERE key = ?`, key]);
    const report = await verifyFile(path);

    expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null, failures: 1 });
    expect(report.findings[0]).toMatchObject({
      code: "E_PROJECTION",
      stream: key,
      revision: 5,
      have: "1000000",
      document: { fault: "changed", table: 1, projection: "accounts", version: 1, key, path: "/balance" },
    });
  });

  test.each(keys)("T23 and took the document of %s away", async (key) => {
    const path = await file();
    edit(path, [`DELETE FROM ${table} WHERE key = ?`, key]);

    expect((await verifyFile(path)).findings).toMatchObject([{ stream: key, document: { fault: "missing", key } }]);
  });

  test.each(["account/0", "account/14", "account/9"])("T23 and added a document of %s", async (key) => {
    const path = await file();
    edit(path, [`INSERT INTO ${table} SELECT ?, seq, index_0, index_1, doc FROM ${table} LIMIT 1`, key]);

    expect((await verifyFile(path)).findings).toMatchObject([{ document: { fault: "extra", key } }]);
  });

  test.each([
    ["the bytes of an index", "UPDATE doc_1 SET index_0 = zeroblob(9) WHERE key = 'account/16'", "index"],
    ["what is in an index", "UPDATE doc_1 SET index_1 = NULL WHERE key = 'account/16'", "index"],
    ["what is in no index", "UPDATE doc_1 SET index_1 = index_0 WHERE key = 'account/12'", "index"],
    ["the position of a document", "UPDATE doc_1 SET seq = seq - 1 WHERE key = 'account/16'", "seq"],
    ["the text so that it is none", "UPDATE doc_1 SET doc = substr(doc, 2) WHERE key = 'account/16'", "changed"],
    [
      "the text so that it is no UTF-8",
      "UPDATE doc_1 SET doc = CAST(x'7b2261223a22ff227d' AS TEXT) WHERE key = 'account/16'",
      "changed",
    ],
    ["the position of the mark", "UPDATE folded SET position = position - 1", "position"],
    ["the position of the mark beyond the end", "UPDATE folded SET position = position + 1000", "position"],
    ["the entry of the mark", "UPDATE folded SET entry_id = zeroblob(32)", "position"],
    ["the tables of the mark", "UPDATE folded SET tables = '[1,9]'", "position"],
    ["the indexes of the table", 'UPDATE projections SET indexes = \'["named","balance"]\'', "table"],
    ["the status of the table", "UPDATE projections SET status = 'lost'", "table"],
  ])("%s", async (_, sql, fault) => {
    const path = await file();
    edit(path, [sql]);
    const report = await verifyFile(path);

    expect(report).toMatchObject({ verdict: "DERIVED", exitCode: 1, firstBad: null });
    expect(report.findings[0]).toMatchObject({ code: "E_PROJECTION", document: { fault } });
  });
});

describe("other code than wrote the documents", () => {
  test("finds a table that it has no code for, and does not call it in order", async () => {
    const report = await verifyFile(await file(), {});

    expect(report).toMatchObject({ verdict: "OK", checked: { tables: 0, documents: 0 } });
    expect(report.findings).toMatchObject([{ code: "W_PROJECTION_UNKNOWN", document: { projection: "accounts" } }]);
    expect(report.lines.filter(({ check }) => check === "documents").map(({ status }) => status)).toEqual(["warn"]);
  });

  test("T52 of the same version is seen in the first document that it makes otherwise", async () => {
    const changed = defineProjection<Account>()({
      name: "accounts",
      version: 1,
      indexes: Object.fromEntries(accounts.indexes),
      on: {
        ...Object.fromEntries(accounts.on),
        "account.opened": { key: ({ stream }) => stream, apply: () => ({ balance: 1, name: "nobody" }) },
      },
    });
    const report = await verifyFile(await file(), { ...options, projections: [changed] });

    expect(report).toMatchObject({ verdict: "DERIVED", failures: 11 });
    expect(report.findings[0]).toMatchObject({ document: { key: "account/10", path: "/balance", fault: "changed" } });
  });
});

test("a table that stopped is compared up to where it stopped", async () => {
  const path = ledgerPath();
  const picky = defineProjection<{ n: number }>()({
    name: "picky",
    version: 1,
    on: {
      "account.paid": {
        key: ({ stream }) => stream,
        apply: (document, { data }) => {
          if (data["amount"] === 13) throw new Error("an unlucky number");
          return { n: (document?.n ?? 0) + 1 };
        },
      },
    },
  });
  const ledger = await open(path, { ...options, projections: [picky, accounts] });
  await fill(ledger);
  await ledger.close();
  const report = await verifyFile(path, { ...options, projections: [picky, accounts] });

  expect(report).toMatchObject({ verdict: "OK", checked: { tables: 2 } });
  expect(report.findings).toMatchObject([{ code: "W_PROJECTION_FAILED", document: { projection: "picky" } }]);
  expect(report.findings[0]?.message).toContain("an unlucky number");
});

test("definitions are those that the ledger was opened with, and no others", async () => {
  const ledger = await open("memory:", options);
  for (const more of [{ projections: [accounts] }, { events: [accountEvents] }])
    await expect(ledger.verify({ level: "deep", ...more } as never)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
});
