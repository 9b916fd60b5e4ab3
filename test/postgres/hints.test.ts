/** Hints from the commits of one process to whoever waits in another one, and that nothing rests on them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { Ledger, Store } from "../../src/index.js";
import { openPostgresStore } from "../../src/store/postgres/store.js";
import { onCleanup } from "../engine/fixture.js";
import { ask, behindProxy, journalUrl, schemaOf, serverUrl } from "./place.js";
import { channelOf } from "../../src/store/postgres/listen.js";

const appender = fileURLToPath(new URL("../children/postgres-appender.mjs", import.meta.url));

/** A journal, with somebody who waits for its next event. */
async function waiting() {
  const url = journalUrl();
  const store = await openPostgresStore(url);
  onCleanup(() => store.close());
  const ledger = await openLedger(store);
  onCleanup(() => ledger.close());
  const subscription = ledger.subscribe({ from: "head" });
  onCleanup(async () => {
    await subscription.return();
  });
  await subscription.next(); // it has caught up
  const channel = channelOf(schemaOf(url));
  const listeners = async (): Promise<number[]> =>
    (await ask(serverUrl(), "SELECT pid FROM pg_stat_activity WHERE query = $1", [`LISTEN ${channel}`])).map(
      ({ pid }) => pid as number,
    );
  return { url, store, ledger, subscription, channel, listeners };
}

/** Appends one event in another process, which ends then. */
async function appendElsewhere(url: string): Promise<void> {
  const child = spawn(process.execPath, [appender, url], { stdio: ["ignore", "ignore", "inherit"] });
  expect((await once(child, "exit"))[0]).toBe(0);
}

function append(ledger: Ledger): Promise<unknown> {
  return ledger.append("a/1", [{ type: "thing.happened", data: {} }]);
}

function heardBy(store: Store): number[] {
  const heard: number[] = [];
  onCleanup(store.listen((position) => heard.push(position)));
  return heard;
}

test("a commit of another process is heard of, and wakes whoever waits here", async () => {
  const { url, store, subscription, listeners } = await waiting();
  const next = subscription.next();
  await expect.poll(listeners).toHaveLength(1);
  const heard = heardBy(store);

  await appendElsewhere(url);

  expect((await next).value?.entries).toHaveLength(1);
  await expect.poll(() => heard.at(-1)).toBeGreaterThan(0);
});

test("commits are announced by the position of the last one, and nothing else is", async () => {
  const { store, ledger, url } = await waiting();
  const other = await openPostgresStore(url);
  onCleanup(() => other.close());
  const heard = heardBy(other);
  await append(ledger);
  const appended = async (): Promise<number> => {
    await append(ledger);
    return heard.length;
  };
  await expect.poll(appended).toBeGreaterThan(1);
  const { size } = await ledger.status();
  await expect.poll(() => heard.at(-1)).toBe(size - 1);
  const before = heard.length;

  await store.maintain();
  await ledger.checkpoint({});
  await ledger.read().toArray();
  await append(ledger);

  await expect.poll(() => heard.at(-1)).toBe(size);
  expect(heard.length).toBe(before + 1);
});

test("no commit is announced from within another one, which would no longer wait for its disk", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await openLedger(url);
  onCleanup(() => ledger.close());
  await append(ledger);
  const other = new Client({ connectionString: serverUrl() });
  await other.connect();
  onCleanup(() => other.end());
  const executed: string[] = [];
  proxy.hear = (text) => void executed.push(text);
  const announced = (): number => executed.filter((text) => text.includes("pg_notify")).length;
  for (let round = 0; round < 5; round++) {
    // One that is announced at once, and one that has to wait for its announcement, with another commit behind it that waits for the lock.
    await append(ledger);
    await append(ledger);
    await other.query("BEGIN");
    await other.query(`SELECT FROM "${schemaOf(direct)}".head FOR UPDATE`);
    const behind = append(ledger);
    await sleep(30);
    await other.query("COMMIT");
    await behind;
  }
  await expect.poll(announced).toBeGreaterThan(2);

  let within = false;
  const wrong = executed.filter((text) => {
    if (text.startsWith("BEGIN")) within = true;
    if (text === "COMMIT" || text === "ROLLBACK") within = false;
    return within && text.includes("pg_notify");
  });
  expect(wrong).toEqual([]);
});

test("whoever waits goes on by asking when the connection that listens is ended, and it comes back", async () => {
  const { url, ledger, subscription, listeners } = await waiting();
  const elsewhere = await openLedger(url);
  onCleanup(() => elsewhere.close());
  for (let round = 0; round < 3; round++) {
    const next = subscription.next();
    await expect.poll(listeners).toHaveLength(1);
    for (const pid of await listeners()) await ask(serverUrl(), "SELECT pg_terminate_backend($1)", [pid]);

    await append(elsewhere);

    expect((await next).value?.entries).toHaveLength(1);
  }
  const last = subscription.next();
  await expect.poll(listeners).toHaveLength(1);
  await append(ledger);
  await last;
});

test("wrong hints cost a look and nothing else: what is handed out is what was committed", async () => {
  const { url, ledger, subscription, channel, listeners } = await waiting();
  const next = subscription.next();
  await expect.poll(listeners).toHaveLength(1);

  for (const payload of ["999999", "0", "-5", "no number", "123456789012345678901234567890"])
    await ask(url, "SELECT pg_notify($1, $2)", [channel, payload]);
  await append(ledger);

  const { size } = await ledger.status();
  expect((await next).value?.entries.map(({ position }) => position)).toEqual([size - 1]);
});

test("nobody listens where nobody waits, and a ledger that is closed leaves no connection", async () => {
  const { store, ledger, subscription, listeners } = await waiting();
  const next = subscription.next().catch(() => {});
  await expect.poll(listeners).toHaveLength(1);

  await ledger.close();
  await next;
  await store.close();

  await expect.poll(listeners).toEqual([]);
});
