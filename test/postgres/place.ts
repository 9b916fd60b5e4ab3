/** Where the tests of real servers are, and a journal of one's own there. */
import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { expect } from "vitest";
import { LedgerError } from "../../src/index.js";
import type { Ledger } from "../../src/index.js";
import { onCleanup } from "../engine/fixture.js";
import { Proxy } from "./proxy.js";

/** The server of this run: an address with a superuser's rights. */
export function serverUrl(): string {
  const url = process.env["RUNLEDGER_TEST_POSTGRES"];
  if (url === undefined) throw new Error("RUNLEDGER_TEST_POSTGRES must name a server");
  return url;
}

/** The same address for a journal: a schema that is gone after the test. */
export function journalUrl(server = serverUrl()): string {
  const name = `j_${randomUUID().replaceAll("-", "")}`;
  onCleanup(async () => {
    await ask(server, `DROP SCHEMA IF EXISTS "${name}" CASCADE`);
  });
  return withJournal(server, name);
}

export function withJournal(server: string, name: string): string {
  const url = new URL(server);
  url.searchParams.set("journal", name);
  return url.href;
}

/** The schema of a journal's address. */
export function schemaOf(url: string): string {
  return new URL(url).searchParams.get("journal") ?? "runledger";
}

/** Asks the server something on a connection of its own. */
export async function ask(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Record<string, unknown>[]> {
  const plain = new URL(url);
  plain.searchParams.delete("journal");
  const client = new Client({ connectionString: plain.href });
  await client.connect();
  try {
    const { rows } = await client.query(text, [...values]);
    return rows as Record<string, unknown>[];
  } finally {
    await client.end();
  }
}

/** A network that fails, and a journal of one's own behind it. */
export interface Behind {
  readonly proxy: Proxy;
  /** Of the journal, through the proxy. */
  readonly url: string;
  /** Of the same journal, past it. */
  readonly direct: string;
}

export async function behindProxy(server = serverUrl()): Promise<Behind> {
  const direct = journalUrl(server);
  const proxy = await Proxy.start(server);
  onCleanup(() => proxy.close());
  return { proxy, url: withJournal(proxy.url, schemaOf(direct)), direct };
}

/** Waits until the server is at the end of all that it was sent by connections that the proxy had before and lost. */
export async function handled(proxy: Proxy, direct: string, before: readonly number[]): Promise<void> {
  const gone = before.filter((pid) => !proxy.backends.includes(pid));
  expect(gone.length).toBeGreaterThan(0);
  const left = (): Promise<unknown[]> =>
    ask(direct, "SELECT pid FROM pg_stat_activity WHERE pid = ANY ($1::int[])", [gone]);
  await expect.poll(left).toEqual([]);
}

/** Is everything that is stored what it must be? */
export async function expectSound(ledger: Ledger): Promise<void> {
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK", findings: [] });
}

/** What a promise rejects with; it must. */
export async function refusal(promise: Promise<unknown>): Promise<LedgerError> {
  const error = await promise.then(
    () => "accepted",
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(LedgerError);
  return error as LedgerError;
}
