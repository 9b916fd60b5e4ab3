/** Journals of the tests: a schema each, in the database of the run's server (see `postgres-server.ts`). */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { onCleanup, onEndOfFile } from "../cleanups.js";

/** The address of the server that the run uses, with the rights of a superuser; no journal is named. */
export const serverUrl = process.env["RUNLEDGER_TEST_POSTGRES"]!;

/** A name that no other test has, of this run or of another one on the same server. */
export function freshName(): string {
  return `test_${randomBytes(6).toString("hex")}`;
}

export function addressOf(journal: string, server: string = serverUrl): string {
  const url = new URL(server);
  url.searchParams.set("journal", journal);
  return url.href;
}

/** One connection for all tests of a file. */
let connected: Promise<pg.Client> | undefined;

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(serverUrl);
  onEndOfFile(() => {
    connected = undefined;
    return client.end();
  });
  await client.connect();
  // Whoever still holds a table when it is to go has forgotten to close, which is better said than waited for.
  await client.query("SET lock_timeout = '20s'; SET client_min_messages = 'warning'");
  return client;
}

/** Runs SQL as a superuser, as a person with psql would, and answers with the rows of the last statement. */
export async function sql(text: string, values?: unknown[]): Promise<Record<string, unknown>[]> {
  const client = await (connected ??= connect());
  const found = await client.query<Record<string, unknown>>(text, values);
  // Several statements have an answer each, of which the type does not know.
  return (Array.isArray(found) ? (found.at(-1) as typeof found) : found).rows;
}

export async function dropJournal(journal: string): Promise<void> {
  await sql(`DROP SCHEMA IF EXISTS "${journal}" CASCADE`);
}

/** Gives addresses of journals in a database where nobody else reads, so that no other test holds back what is cleaned up. It is gone
 *  after the test. */
export async function ownDatabase(): Promise<() => string> {
  const database = freshName();
  await sql(`CREATE DATABASE ${database}`);
  onCleanup(async () => void (await sql(`DROP DATABASE ${database} WITH (FORCE)`)));
  const server = new URL(serverUrl);
  server.pathname = `/${database}`;
  return () => addressOf(freshName(), server.href);
}
