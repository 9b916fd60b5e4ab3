/** The one place that chooses a store by its location. */
import { hostname } from "node:os";
import { Ledger } from "./api/ledger.js";
import { Areas } from "./engine/areas.js";
import { Commands } from "./engine/commands.js";
import { builtInCommands } from "./commands/built-in.js";
import { Engine } from "./engine/engine.js";
import { journalExists, readGenesis } from "./engine/genesis.js";
import { checkKeyName, loadSigner } from "./engine/keys.js";
import { Catalogue } from "./engine/projector/catalogue.js";
import type { Diagnostic, LedgerOptions } from "./engine/types.js";
import { builtInEvents } from "./journal/events/built-in.js";
import { parseCheckpoint } from "./journal/checkpoint.js";
import { randomBytes } from "./kernel/random.js";
import type { Store } from "./journal/store.js";
import { systemClock, withTimers } from "./kernel/clock.js";
import { invalid, LedgerError } from "./kernel/errors.js";
import { busyTimeoutMsDefault, cacheDocumentsDefault, cacheDocumentsMax } from "./kernel/limits.js";
import { checkBoolean, checkMembers, isList, parseInteger } from "./kernel/members.js";
import { parseOrigin } from "./kernel/names.js";
import { abandon } from "./kernel/promises.js";
import { createMemoryStore } from "./store/memory/store.js";
import { isPostgresAddress } from "./store/postgres/location.js";
import { openSqliteStore } from "./store/sqlite/store.js";
import { verifyWorkers } from "./verify-workers.js";

const urlPattern = /^[a-z][a-z0-9+.-]*:\/\//i;

const optionNames = [
  "readOnly",
  "create",
  "origin",
  "key",
  "expectAtLeast",
  "events",
  "projections",
  "builds",
  "cacheDocuments",
  "commands",
  "strict",
  "dedupe",
  "clock",
  "acceptClockStep",
  "busyTimeoutMs",
  "allowNetworkFilesystem",
  "onEvent",
  "redact",
  "testing",
];

/** Opens a ledger: a path to a file, `"memory:"`, a journal in PostgreSQL (`postgres://user@host/database?journal=name`, and
 *  whatever else `pg` takes), or a store. By default it is created when there is none.
 *  `INVALID_ARGUMENT`: an option or an address that is wrong; `NOT_FOUND`: nothing there and nothing to be created, or no such
 *  database; `STORE_FOREIGN`: a file that is not ours, a schema with somebody else's tables; `SCHEMA_UNKNOWN`: a newer format;
 *  `STORE_UNSAFE_PATH`: a link or not a regular file; `STORE_UNSUPPORTED`: a network file system, a server that is too old, a
 *  database of another encoding than UTF-8; `STORE_UNAVAILABLE`: a server that does not answer; `ACCESS_DENIED`: one that does
 *  not let the user in, or a role without the rights; `READ_ONLY`: a standby; `RESOURCES_EXHAUSTED`; `STORE_DAMAGED`;
 *  `STORE_BUSY`; `STORE_EXISTS`: one is there and `create` is `"new"`; `STORE_ROLLED_BACK`: not what `expectAtLeast` says;
 *  `KEY_UNSAFE`: a key file that others can read, or that lies beside the ledger. After any of them not a byte was changed.
 *  @public */
export async function openLedger(location: string | Store, options: LedgerOptions = {}): Promise<Ledger> {
  checkOptions(options);
  const areas = new Areas([...builtInEvents, ...(options.events ?? [])], options.strict ?? false);
  const catalogue = new Catalogue(options.projections ?? []);
  const commands = new Commands(options.testing?.ownCommands ?? builtInCommands, options.commands ?? [], areas);
  const onEvent = guarded(options.onEvent);
  const busyTimeoutMs = options.busyTimeoutMs ?? busyTimeoutMsDefault;
  const ownsStore = typeof location === "string";
  const ledgerFile = fileOf(ownsStore ? location : checkStore(location).location);
  const signer = options.key === undefined ? null : await loadSigner(options.key, "options.key", ledgerFile);
  if (signer !== null && options.origin !== undefined) checkKeyName(signer, options.origin, "options.key");
  const expectAtLeast = options.expectAtLeast === undefined ? null : parseCheckpoint(options.expectAtLeast);
  if (options.create === "new") {
    if (expectAtLeast !== null && expectAtLeast.size > 0)
      throw invalid("options.create", "true or false beside expectAtLeast, which says that there is a journal", "new");
    if (ownsStore) await refuseExisting(location, options, busyTimeoutMs);
  }
  const hasClock = ownsStore ? isPostgresAddress(location) : location.clock !== null;
  if (hasClock && options.clock !== undefined && options.testing === undefined)
    throw invalid("options.clock", "none, for the store has one (tests give `testing` beside it)", options.clock);
  // Where a journal must be, none is made.
  const create = expectAtLeast !== null && expectAtLeast.size > 0 ? false : (options.create ?? true);
  const store = ownsStore ? await openStore(location, { ...options, create }, busyTimeoutMs, onEvent) : location;
  try {
    const engine = await Engine.start({
      store,
      ownsStore,
      create,
      origin: options.origin,
      signer,
      ledgerFile,
      expectAtLeast,
      areas,
      catalogue,
      builds: options.builds ?? "blocking",
      cacheDocuments: options.cacheDocuments ?? cacheDocumentsDefault,
      commands,
      clock: withTimers(options.clock ?? store.clock ?? systemClock),
      acceptClockStep: options.acceptClockStep ?? false,
      dedupe: options.dedupe ?? true,
      busyTimeoutMs,
      randomBytes: options.testing?.randomBytes ?? randomBytes,
      redact: options.redact,
      holder: `${hostname().slice(0, 100)}:${process.pid}`,
      onEvent,
    });
    return new Ledger(engine, ownsStore && location !== "memory:" ? (count) => verifyWorkers(location, count) : null);
  } catch (error) {
    if (ownsStore) await store.close();
    throw error;
  }
}

/** Opens the store that a location means. */
export async function openStore(
  location: string,
  options: LedgerOptions,
  busyTimeoutMs: number,
  onEvent: (event: Diagnostic) => void,
): Promise<Store> {
  const faults = options.testing?.faults === undefined ? {} : { faults: options.testing.faults };
  if (location === "memory:") {
    if (options.readOnly === true)
      throw new LedgerError("NOT_FOUND", "a new memory ledger must be open for writing, found readOnly");
    return createMemoryStore(faults);
  }
  if (isPostgresAddress(location)) {
    const { openPostgresStore } = await import("./store/postgres/store.js");
    const { readOnly = false } = options;
    return openPostgresStore(location, { readOnly, create: options.create !== false, busyTimeoutMs, ...faults });
  }
  const scheme = urlPattern.exec(location)?.[0];
  if (scheme !== undefined)
    // What stands behind it may be a password.
    throw new LedgerError("STORE_UNSUPPORTED", `location must be a path, "memory:" or postgres://…, found ${scheme}…`, {
      details: { found: scheme },
    });
  return openSqliteStore(location, {
    readOnly: options.readOnly ?? false,
    create: options.create !== false,
    busyTimeoutMs,
    allowNetworkFilesystem: options.allowNetworkFilesystem ?? false,
    onDiagnostic: onEvent,
    ...faults,
    ...(options.testing?.filesystemKind === undefined ? {} : { filesystemKind: options.testing.filesystemKind }),
  });
}

/** Looks for a journal without changing a byte of it. Whether this opening made it is decided by who wrote its first entry. */
export async function refuseExisting(location: string, options: LedgerOptions, busyTimeoutMs: number): Promise<void> {
  if (location === "memory:") return;
  const reading = { ...options, readOnly: true, create: false };
  const store = await openStore(location, reading, busyTimeoutMs, () => {}).catch((error: unknown) => {
    if (error instanceof LedgerError && error.code === "NOT_FOUND") return null;
    throw error;
  });
  try {
    const genesis = store === null ? null : await readGenesis(store);
    if (store !== null && genesis !== null) throw journalExists(store, genesis.opened);
  } finally {
    await store?.close();
  }
}

/** Where a journal is in a file, the path of the file. */
function fileOf(location: string): string | null {
  return location === "memory:" || urlPattern.test(location) ? null : location;
}

function checkOptions(options: LedgerOptions): void {
  checkMembers(options, "options", optionNames);
  if (options.create !== "new" && options.create !== undefined && typeof options.create !== "boolean")
    throw invalid("options.create", 'true, false or "new"', options.create);
  if (options.create === "new" && options.readOnly === true)
    throw invalid("options.create", "true or false beside readOnly, which creates nothing", options.create);
  for (const name of ["readOnly", "strict", "dedupe", "acceptClockStep", "allowNetworkFilesystem"] as const)
    checkBoolean(options[name], `options.${name}`);
  if (options.origin !== undefined) parseOrigin(options.origin, "options.origin");
  if (options.busyTimeoutMs !== undefined)
    parseInteger(options.busyTimeoutMs, "options.busyTimeoutMs", 0, 24 * 60 * 60 * 1000);
  if (options.cacheDocuments !== undefined)
    parseInteger(options.cacheDocuments, "options.cacheDocuments", 0, cacheDocumentsMax);
  if (options.builds !== undefined && options.builds !== "blocking" && options.builds !== "background")
    throw invalid("options.builds", '"blocking" or "background"', options.builds);
  if (options.events !== undefined && !isList(options.events))
    throw invalid("options.events", "a list of definitions made by defineEvents", options.events);
  if (options.onEvent !== undefined && typeof options.onEvent !== "function")
    throw invalid("options.onEvent", "a function", options.onEvent);
  if (options.redact !== undefined && typeof options.redact !== "function")
    throw invalid("options.redact", "a function", options.redact);
  const { clock } = options;
  if (clock !== undefined && (typeof clock?.now !== "function" || typeof clock.monotonic !== "function"))
    throw invalid("options.clock", "a clock with now() and monotonic()", clock);
  if (!["undefined", "function"].includes(typeof clock?.schedule))
    throw invalid("options.clock", "a clock whose schedule() is a function, or not there", clock);
}

function checkStore(store: Store): Store {
  if (
    typeof store !== "object" ||
    store === null ||
    typeof store.begin !== "function" ||
    typeof store.snapshot !== "function"
  ) {
    throw invalid("location", 'a path, "memory:" or a store', store);
  }
  return store;
}

/** A hook must not be able to break a commit. */
function guarded(hook: ((event: Diagnostic) => void) | undefined): (event: Diagnostic) => void {
  if (hook === undefined) return () => {};
  return (event) => {
    try {
      const answer: unknown = hook(event);
      // An async function fits the type too, and its rejection would end the process.
      abandon(answer);
    } catch {
      // The hook's own trouble; the contract says that it is dropped.
    }
  };
}
