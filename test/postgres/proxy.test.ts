/** The proxy itself, against plain connections: what the other tests build on. */
import { Client } from "pg";
import type { ClientConfig } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { Together } from "../../src/store/postgres/together.js";
import { Frames, zeroEnded } from "./frames.js";
import { Proxy } from "./proxy.js";
import type { Cut } from "./proxy.js";
import { serverUrl } from "./place.js";

async function startProxy(): Promise<Proxy> {
  const proxy = await Proxy.start(serverUrl());
  onTestFinished(() => proxy.close());
  return proxy;
}

async function connected(url: string, config: ClientConfig = {}): Promise<Client> {
  const client = new Client({ connectionString: url, ...config });
  client.on("error", () => {});
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

let tables = 0;

/** A table with nothing in it, on a connection that no proxy sees. */
async function table(): Promise<{ name: string; count: () => Promise<number> }> {
  const direct = await connected(serverUrl());
  const name = `proxied_${process.pid}_${++tables}`;
  await direct.query(`CREATE TABLE ${name} (n int)`);
  onTestFinished(async () => {
    await direct.query(`DROP TABLE ${name}`);
  });
  return {
    name,
    async count() {
      // Waits for whoever is still writing, as the ledger does.
      await direct.query("BEGIN");
      await direct.query(`LOCK TABLE ${name} IN EXCLUSIVE MODE`);
      const { rows } = await direct.query<{ count: number }>(`SELECT count(*)::int AS count FROM ${name}`);
      await direct.query("COMMIT");
      return rows[0]!.count;
    },
  };
}

test("messages are found however their bytes are cut up", () => {
  const bytes = Buffer.concat([
    Buffer.from([0, 0, 0, 8, 0, 3, 0, 0]),
    Buffer.from([0x51, 0, 0, 0, 7, 0x61, 0x62, 0]),
    Buffer.from([0x53, 0, 0, 0, 4]),
  ]);
  for (const size of [1, 2, 5, 100]) {
    const frames = new Frames("frontend");
    const found: [string, number][] = [];
    for (let from = 0; from < bytes.length; from += size) {
      for (const { type, body } of frames.push(bytes.subarray(from, from + size))) {
        found.push([type, body.length]);
        frames.untyped = false;
      }
    }
    expect(found).toEqual([["", 4], ["Q", 3], ["S", 0]]); // prettier-ignore
  }
  expect(zeroEnded(Buffer.from("one\0two\0rest"), 2)).toEqual(["one", "two"]);
});

test("what is not struck passes, prepared or not, one by one or behind one another", async () => {
  const proxy = await startProxy();
  const client = await connected(proxy.url, { pipeline: true });
  const texts = ["x".repeat(300_000), "y".repeat(70_000), ""];
  const answers = await Promise.all([
    ...texts.map((text) => client.query({ name: "echo", text: "SELECT $1::text AS text", values: [text] })),
    client.query("SELECT 'plain' AS text"),
  ]);
  expect(answers.map(({ rows }) => rows as unknown)).toEqual([...texts, "plain"].map((text) => [{ text }]));

  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  expect(proxy.backends).toEqual(rows.map(({ pid }) => pid));
});

const kinds = {
  "as a simple query": (client: Client) => client.query("COMMIT"),
  "as an unnamed statement": (client: Client) => client.query({ text: "COMMIT", queryMode: "extended" } as never),
  "as a prepared statement": (client: Client) => client.query({ name: "commit", text: "COMMIT" }),
};

for (const [kind, commit] of Object.entries(kinds)) {
  for (const moment of ["before", "sent", "answered"] as const) {
    test(`a connection is cut at its COMMIT, ${kind}, ${moment}, in a pipeline too`, async () => {
      const proxy = await startProxy();
      for (const pipeline of [false, true]) {
        const { name, count } = await table();
        const client = await connected(proxy.url, { pipeline });
        const struck = proxy.cutWhen({ query: /^COMMIT$/, moment });

        // Whoever counts waits for the lock.
        await client.query("BEGIN");
        await client.query(`LOCK TABLE ${name}`);
        const insert = (): Promise<unknown> => client.query(`INSERT INTO ${name} VALUES (1)`);
        const all = pipeline ? Promise.all([insert(), commit(client)]) : insert().then(() => commit(client));
        await expect(all).rejects.toThrow(/terminated|ECONNRESET|closed/i);

        await struck;
        expect(await count()).toBe(moment === "before" ? 0 : 1);
      }
    });
  }
}

/** Three rows, one by one, with one Sync; answers how many messages that end a statement's answer were heard whole. */
async function insertThree(client: Client, name: string): Promise<number> {
  const wire = (client as unknown as { connection: NodeJS.EventEmitter }).connection;
  let heard = 0;
  wire.on("commandComplete", () => heard++);
  const asks = [1, 2, 3].map((n) => ({ statement: { name: `insert${n}`, text: `INSERT INTO ${name} VALUES (${n})` }, values: [] })); // prettier-ignore
  const answered = new Promise((resolve, reject) => {
    client.query(new Together(asks, (error, results) => (error === undefined ? resolve(results) : reject(error))));
  });
  await expect(answered).rejects.toThrow(/terminated|ECONNRESET|closed/i);
  return heard;
}

for (const n of [1, 2, 3]) {
  test(`of statements with one Sync it is the answer of number ${n} that is cut, when that is named`, async () => {
    const proxy = await startProxy();
    const { name, count } = await table();
    const client = await connected(proxy.url, { pipeline: true });
    const struck = proxy.cutWhen({ query: new RegExp(`VALUES \\(${n}\\)`), moment: "answered" });

    expect(await insertThree(client, name)).toBe(n - 1);

    await struck;
    expect(await count()).toBe(3); // the Sync was on its way already
  });
}

test("of statements with one Sync the answer of one that comes behind a failure is the failure", async () => {
  const proxy = await startProxy();
  const { name, count } = await table();
  const client = await connected(proxy.url, { pipeline: true });
  const struck = proxy.cutWhen({ query: /VALUES \(3\)/, moment: "answered" });
  const other = await connected(serverUrl());
  await other.query(`ALTER TABLE ${name} ADD CHECK (n <> 2)`);

  expect(await insertThree(client, name)).toBe(1);

  await struck;
  expect(await count()).toBe(0);
});

test("only what matches is cut, and as many as were to pass before it do", async () => {
  const proxy = await startProxy();
  const { name, count } = await table();
  const client = await connected(proxy.url);
  const struck = proxy.cutWhen({ query: /^INSERT/, moment: "before", after: 2 });
  await client.query("SELECT 1");
  for (let n = 0; n < 2; n++) await client.query(`INSERT INTO ${name} VALUES (1)`);
  await expect(client.query(`INSERT INTO ${name} VALUES (1)`)).rejects.toThrow();
  await struck;
  expect(await count()).toBe(2);

  const other = await connected(proxy.url);
  await other.query(`INSERT INTO ${name} VALUES (1)`);
  expect(await count()).toBe(3);
});

test("a statement that the server is still at is done although its client is gone", async () => {
  const proxy = await startProxy();
  const { name, count } = await table();
  const client = await connected(proxy.url);
  void proxy.cutWhen({ query: /pg_sleep/, moment: "sent" });
  await expect(client.query(`INSERT INTO ${name} SELECT 1 FROM pg_sleep(0.3)`)).rejects.toThrow();
  await expect.poll(count).toBe(1);
});

test("in an outage connections are cut and none is had, until it is over", async () => {
  const proxy = await startProxy();
  const client = await connected(proxy.url);
  const asked = client.query("SELECT pg_sleep(60)");
  await expect.poll(() => proxy.backends.length).toBe(1);
  proxy.fail();
  await expect(asked).rejects.toThrow();
  await expect(connected(proxy.url)).rejects.toThrow();

  proxy.restore();
  await (await connected(proxy.url)).query("SELECT 1");
});

for (const moment of ["before", "sent", "answered"] as const) {
  test(`in a silence from ${moment} on nothing is heard, and all of it when it is over`, async () => {
    const proxy = await startProxy();
    const { name, count } = await table();
    const client = await connected(proxy.url);
    const struck = proxy.cutWhen({ query: /^INSERT/, moment, silent: true } satisfies Cut);
    let answered = false;
    const asked = client.query(`INSERT INTO ${name} VALUES (1)`).then(() => (answered = true));
    await struck;
    await expect.poll(count).toBe(moment === "before" ? 0 : 1);
    expect(answered).toBe(false);
    await (await connected(proxy.url)).query("SELECT 1");

    proxy.restore();
    await asked;
    expect(await count()).toBe(1);
    await client.query("SELECT 1");
  });
}

test("a silence of all connections holds back new ones too", async () => {
  const proxy = await startProxy();
  const client = await connected(proxy.url);
  proxy.hush();
  let heard = 0;
  const asked = [client.query("SELECT 1"), connected(proxy.url)].map((each) => each.then(() => heard++));
  await expect(connected(proxy.url, { connectionTimeoutMillis: 100 })).rejects.toThrow(/timeout/);
  expect(heard).toBe(0);
  proxy.restore();
  await Promise.all(asked);
});

test("answers that are delayed come in their order", async () => {
  const proxy = await startProxy();
  const client = await connected(proxy.url, { pipeline: true });
  const heard: number[] = [];
  proxy.delayMs = 20;
  const slow = [1, 2].map((n) => client.query("SELECT 1").then(() => heard.push(n)));
  await expect.poll(() => heard.length).toBe(1);
  proxy.delayMs = 0;
  await Promise.all([...slow, client.query("SELECT 1").then(() => heard.push(3))]);
  expect(heard).toEqual([1, 2, 3]);
});

test("what the server says can be replaced by as many bytes", async () => {
  const proxy = await startProxy();
  proxy.replace("standard_conforming_strings\0on", "standard_conforming_strings\0no");
  proxy.replace("wolf", "lamb");
  const client = new Client({ connectionString: proxy.url });
  onTestFinished(() => client.end());
  const said: string[] = [];
  (client as unknown as { connection: NodeJS.EventEmitter }).connection.on(
    "parameterStatus",
    (message: { parameterName: string; parameterValue: string }) => {
      said.push(`${message.parameterName} ${message.parameterValue}`);
    },
  );
  await client.connect();
  expect(said).toContain("standard_conforming_strings no");
  const { rows } = await client.query("SELECT 'wolf and wolf' AS text");
  expect(rows).toEqual([{ text: "lamb and lamb" }]);
  expect(() => proxy.replace("one", "three")).toThrow("as long");
});
