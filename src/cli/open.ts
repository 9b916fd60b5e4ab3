/** Opening a ledger from the command line: which one, and for reading only unless the verb says that it writes. */
import { LedgerError, openLedger, openRawReader } from "../index.js";
import type { Ledger, LedgerOptions, RawReader } from "../index.js";
import { UsageError } from "./exit.js";
import { onInterrupt } from "./interrupt.js";
import type { Terminal } from "./terminal.js";

const fileDefault = "./state.ledger";

/** The file, or the address in PostgreSQL, that the command line means. */
export function ledgerFile(option: string | undefined, env: Readonly<Record<string, string | undefined>>): string {
  const file = option ?? (env["RUNLEDGER"] || fileDefault);
  if (file === "") throw new UsageError("--ledger must name a file, found nothing");
  if (file === "memory:")
    throw new UsageError("--ledger must name a file, found memory:", "a memory ledger ends with its process");
  return file;
}

/** Waits for a ledger that is being opened. Where there is none, whoever stands in another folder hears how to name it. */
export async function whenThere<Opened>(opening: Promise<Opened>): Promise<Opened> {
  return opening.catch((error: unknown) => {
    if (!(error instanceof LedgerError) || error.code !== "NOT_FOUND" || error.hint !== undefined) throw error;
    const { code, message, details } = error;
    throw new LedgerError(code, message, { details, hint: "--ledger, or $RUNLEDGER, names the ledger", cause: error });
  });
}

/** Opens a ledger, for reading unless the options say otherwise, hands it on, and closes it whatever happens. */
export async function withLedger<Result>(
  terminal: Terminal,
  file: string,
  use: (ledger: Ledger) => Promise<Result>,
  options: LedgerOptions = {},
): Promise<Result> {
  return using(await whenThere(openLedger(file, { readOnly: true, ...options })), async (ledger) => {
    await sayWhenCopied(terminal, file, ledger);
    return use(ledger);
  });
}

/** Opens the stored rows of a ledger, hands them on, and closes them whatever happens. */
export async function withRawReader<Result>(
  terminal: Terminal,
  file: string,
  use: (reader: RawReader) => Promise<Result>,
): Promise<Result> {
  return using(await whenThere(openRawReader(file)), async (reader) => {
    if (reader.copied) await sayCopied(terminal, file);
    return use(reader);
  });
}

/** Says that what is read is not the file itself. */
export async function sayWhenCopied(terminal: Terminal, file: string, ledger: Ledger): Promise<void> {
  if ((await ledger.status()).store.copied) await sayCopied(terminal, file);
}

function sayCopied(terminal: Terminal, file: string): Promise<void> {
  return terminal.say(`note: ${file} cannot be read where it is; a private copy is read`);
}

/** An interrupt closes what is open, so that no private copy is left behind, and is then given its way. */
async function using<Opened extends { close(): Promise<void> }, Result>(
  opened: Opened,
  use: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  let ending: Promise<void> = Promise.resolve();
  const stop = onInterrupt((signal) => {
    ending = opened.close().finally(() => process.kill(process.pid, signal));
  });
  try {
    return await use(opened);
  } finally {
    stop();
    // What the interrupt broke off is no news: nothing is said of it before the process ends.
    await ending;
    await opened.close();
  }
}
