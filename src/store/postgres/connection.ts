/** One connection to a database, as the adapter uses it: statements by name, rows as arrays, numbers exact.
 *  Invariants: what is asked goes out at once, behind what was asked before, and is answered in that order; a connection that
 *  failed says so to everybody who waits, and is not used again. */
import type { Socket } from "node:net";
import pg from "pg";
import type { CustomTypesConfig } from "pg";
import { invariant } from "../../kernel/errors.js";
import type { PostgresConfig } from "./location.js";
import { asSent } from "./arrays.js";
import type { Ask, Statement } from "./ask.js";
import { Together } from "./together.js";

/** What `pg` has and does not say in its types. */
interface Inside {
  readonly connection: NodeJS.EventEmitter & {
    readonly stream: Socket;
    attachListeners(stream: Socket): void;
  };
  ref(): void;
  unref(): void;
}

export interface ConnectionOptions {
  readonly config: PostgresConfig;
  /** How long waiting for a lock may take; how long connecting may, the address says. */
  readonly timeoutMs: number;
}

const commit: Ask = { statement: { name: "commit", text: "COMMIT" }, values: [] };

/** No host may keep what it has locked for longer while it does nothing: one that stands still loses its batch. */
const stallMsMax = 10_000;
/** Where half of a message has come the server waits for the rest, which it does not take for standing still: whoever is gone
 *  is noticed by three probes that nobody answers, 5 s apart. */
const probes = { idleS: 10, intervalS: 5, count: 3 };
/** So a writer that is gone has the lock no longer than this. */
export const goneMsMax: number = Math.max(stallMsMax, (probes.idleS + probes.count * probes.intervalS) * 1_000);
/** What is not answered for so long beyond what it may wait by itself is lost: the server or the way to it is gone. */
const silenceMsMax = 30_000;
/** A server that is told goodbye closes the connection; one that does not is not waited for. */
const farewellMsMax = 1_000;

/** What a session promises, of what the server knows: compatible servers lack some of it. */
const settings: readonly (readonly [name: string, value: string])[] = [
  // Statements are planned once, when tables may be empty still: they must lean on the indexes all the same.
  ["plan_cache_mode", "force_generic_plan"],
  ["enable_seqscan", "off"],
  ["jit", "off"],
  // Lists of nothing are sent as text, and NULL in them is no word.
  ["array_nulls", "on"],
  // What the catalogues put into words is compared.
  ["quote_all_identifiers", "off"],
];

/** Numbers of 64 bits come as text. What a number cannot hold stays a bigint, which nobody takes for a number. */
function exact(text: string): number | bigint {
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : BigInt(text);
}

const int8 = pg.types.builtins.INT8;
const types: CustomTypesConfig = {
  getTypeParser: ((oid: Parameters<typeof pg.types.getTypeParser>[0], format?: "text") =>
    oid === int8 ? exact : (pg.types.getTypeParser(oid, format) as unknown)) as typeof pg.types.getTypeParser,
};

export class Connection {
  private readonly client: pg.Client;
  private readonly texts = new Map<string, string>();
  private gathering = false;
  /** Statements that are not answered yet. */
  private waiting = 0;
  private failure: unknown = null;
  private ending: Promise<void> | null = null;

  private constructor(client: pg.Client) {
    this.client = client;
    this.guard();
    client.on("error", (cause: unknown) => {
      this.failure ??= cause;
    });
    client.on("end", () => {
      this.failure ??= new Error("the connection has ended");
    });
  }

  static async open({ config, timeoutMs }: ConnectionOptions, role: "reads" | "writes"): Promise<Connection> {
    const client = new pg.Client({
      keepAliveInitialDelayMillis: stallMsMax,
      query_timeout: timeoutMs + silenceMsMax,
      ...config,
      types,
      pipeline: true,
    });
    const connection = new Connection(client);
    try {
      await client.connect();
      await connection.script(setUp(timeoutMs, role));
      return connection;
    } catch (cause) {
      connection.destroy();
      throw cause;
    }
  }

  /** May it not be used any more? */
  get broken(): boolean {
    return this.failure !== null || this.ending !== null;
  }

  /** The process of the server behind it. */
  get backend(): number | null {
    return (this.client as { readonly processID?: number | null }).processID ?? null;
  }

  /** Rows of a statement. */
  rows<Row>(statement: Statement | string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.ask(statement, values).then(({ rows }) => rows as Row[]);
  }

  /** How many rows a statement changed. */
  run(statement: Statement | string, values: readonly unknown[] = []): Promise<number> {
    return this.ask(statement, values).then(({ rowCount }) => rowCount ?? 0);
  }

  /** Does several statements behind one another; where one fails, nothing behind it is done. Answers the rows of each. Throws, and
   *  does not reject, when it cannot be sent. */
  together(asks: readonly Ask[]): Promise<readonly (readonly unknown[])[]> {
    return this.group(asks).then((results) => results.map(({ rows }) => rows));
  }

  /** Ends the transaction, and says what the server calls that: where a statement failed it is a ROLLBACK. */
  commit(): Promise<string> {
    return this.group([commit]).then(([result]) => result!.command);
  }

  private group(asks: readonly Ask[]): Promise<readonly pg.QueryArrayResult[]> {
    for (const { statement } of asks) this.requireSame(statement);
    const sent = asks.map(({ statement, values }) => ({ statement, values: values.map(asSent) }));
    const query = (): Promise<pg.QueryArrayResult | pg.QueryArrayResult[]> =>
      new Promise((resolve, reject) => {
        const settle = (error: Error | undefined, found: unknown): void => {
          if (error === undefined || error === null) resolve(found as pg.QueryArrayResult[]);
          else reject(error);
        };
        this.client.query(new Together(sent, settle));
      });
    return this.send(query).then((results) => [results].flat());
  }

  /** Does something without values, and says what the server calls it that it has done. */
  command(text: string): Promise<string> {
    return this.ask(text, []).then(({ command }) => command);
  }

  /** Does several things in one message; what fails ends it there. */
  async script(texts: readonly string[]): Promise<void> {
    await this.ask(texts.join("; "), []);
  }

  /** Hears of notifications. */
  onNotification(hear: (channel: string, payload: string) => void): void {
    this.client.on("notification", ({ channel, payload }) => hear(channel, payload ?? ""));
  }

  /** Calls back once when it fails. */
  onFailure(hear: () => void): void {
    this.client.once("end", hear);
  }

  /** Ends it in good order, unless nothing is heard of the server. Never throws. */
  close(): Promise<void> {
    this.ending ??= this.end();
    return this.ending;
  }

  /** Ends it at once, whatever is on its way: the server undoes what it was at. */
  destroy(): void {
    this.failure ??= new Error("the connection was given up");
    this.cut();
    void this.close();
  }

  private async end(): Promise<void> {
    this.keepAlive(true);
    const timer = setTimeout(() => this.cut(), farewellMsMax);
    await this.client.end().catch(() => {});
    clearTimeout(timer);
  }

  /** Only one that waits for an answer keeps its process alive: a ledger that is open and left alone does not, wherever it is. */
  private keepAlive(keeps: boolean): void {
    if (keeps) this.inside.ref();
    else this.inside.unref();
  }

  private cut(): void {
    this.inside.connection.stream.destroy();
  }

  private get inside(): Inside {
    return this.client as unknown as Inside;
  }

  /** What is no message of PostgreSQL ends the connection: `pg` would throw where nobody can catch it, or take what comes behind
   *  it for answers. */
  private guard(): void {
    const { connection } = this.inside;
    const attach = connection.attachListeners.bind(connection);
    connection.attachListeners = (stream) => {
      attach(stream);
      const hear = stream.listeners("data").at(-1) as (bytes: Buffer) => void; // the one that was just attached
      stream.off("data", hear).on("data", (bytes: Buffer) => {
        try {
          if (!stream.destroyed) hear(bytes);
        } catch (cause) {
          stream.destroy(new Error("the server sent what is no message of PostgreSQL", { cause }));
        }
      });
    };
    // The server's own errors have a code, always; the others are those of the parser.
    connection.on("errorMessage", (error: Error & { readonly code?: string }) => {
      if (error.code === undefined) throw error;
    });
  }

  /** Throws, and does not reject, when it cannot be sent, so that nothing is sent behind it in its belief. */
  private ask(statement: Statement | string, values: readonly unknown[]): Promise<pg.QueryArrayResult> {
    if (typeof statement !== "string") this.requireSame(statement);
    const named = typeof statement === "string" ? { text: statement } : statement;
    return this.send(() =>
      this.client.query({
        ...named,
        // Without values it is one message, and may be several statements.
        ...(values.length === 0 && typeof statement === "string" ? {} : { values: values.map(asSent) }),
        rowMode: "array",
      }),
    );
  }

  private requireSame({ name, text }: Statement): void {
    if (name === "") return;
    const known = this.texts.get(name);
    invariant(known === undefined || known === text, `statement ${name} must stay the same`);
    if (known === undefined) this.texts.set(name, text);
  }

  /** What is asked in one go is sent in one go. */
  private gather(): void {
    if (this.gathering) return;
    this.gathering = true;
    const { stream } = this.inside.connection;
    stream.cork();
    process.nextTick(() => {
      this.gathering = false;
      stream.uncork();
    });
  }

  private async send<Result>(query: () => Promise<Result>): Promise<Result> {
    this.gather();
    if (this.waiting++ === 0) this.keepAlive(true);
    try {
      return await query();
    } catch (cause) {
      if (!(cause instanceof pg.DatabaseError) || isFatal(cause)) this.failure ??= cause;
      throw cause;
    } finally {
      if (--this.waiting === 0 && this.ending === null) this.keepAlive(false);
    }
  }
}

/** Does the server end the connection behind this error? */
function isFatal({ severity }: pg.DatabaseError): boolean {
  return severity === "FATAL" || severity === "PANIC";
}

// No waiting at all is the least that there is: 0 would be for ever.
function setUp(timeoutMs: number, role: "reads" | "writes"): readonly string[] {
  const writing = [
    ["lock_timeout", `${Math.max(timeoutMs, 1)}ms`],
    ["tcp_keepalives_idle", `${probes.idleS}s`],
    ["tcp_keepalives_interval", `${probes.intervalS}s`],
    ["tcp_keepalives_count", `${probes.count}`],
  ] as const;
  const wanted = [...settings, ...(role === "writes" ? writing : [])].map(([name, value]) => `('${name}', '${value}')`);
  const idle = "idle_in_transaction_session_timeout";
  return [
    // First of all: who may create in a schema that the role looks through, as everybody may in `public` up to PostgreSQL 14,
    // would give our statements functions and operators that fit better, and run them with the rights of this role.
    "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false)",
    `SELECT set_config(w.name, w.value, false) FROM (VALUES ${wanted.join(", ")}) w (name, value) JOIN pg_catalog.pg_settings s ON s.name = w.name`,
    // Who gives a host less time, in the address or for the role, has the last word; more than ours nobody gets.
    `SELECT set_config(name, '${stallMsMax}ms', false) FROM pg_catalog.pg_settings WHERE '${role}' = 'writes' AND name = '${idle}' AND (setting = '0' OR setting::bigint > ${stallMsMax})`,
    // Who acknowledges what is not on disk promises too much, whatever the role's default is; more than that may be asked for.
    `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`,
  ];
}
