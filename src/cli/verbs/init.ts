/** `runledger init`: a new ledger, never an old one. Writes. */
import { lstat } from "node:fs/promises";
import type { Command } from "commander";
import { LedgerError, openLedger } from "../../index.js";
import type { Ledger } from "../../index.js";
import { parseOrigin } from "../../kernel/names.js";
import { checked, jsonOption, keyFile, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeText } from "../escape.js";
import { isAddress, ledgerName } from "../ledger-name.js";
import { ledgerFile } from "../open.js";

interface InitOptions extends CommonOptions {
  readonly origin?: string;
  readonly key?: string;
}

const moreHelp = `
Refused (STORE_EXISTS) when the file is there, whatever it holds. In PostgreSQL a ledger is a schema with its tables, and
?journal= names it; the database must be there. Passwords are best kept off command lines: $RUNLEDGER, $PGPASSWORD and
~/.pgpass hold them, too.

Examples:
  runledger init --ledger audit.ledger --origin example.com/audit
  runledger init --ledger 'postgres://ann@db.example.com/work?journal=audit'`;

export function addInit(program: Command, line: CommandLine): void {
  program
    .command("init")
    .description("create a new ledger")
    .option(...ledgerOption)
    .option(
      "--origin <name>",
      "the identity of the journal (default: runledger/ and 26 random characters)",
      checked("--origin", parseOrigin),
    )
    .option("--key <file>", "the file of the key that signs its checkpoints; names the journal", keyFile("--key"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((options: InitOptions) => init(line, options));
}

async function init(line: CommandLine, options: InitOptions): Promise<void> {
  const { terminal, env } = line;
  line.writes = true;
  const file = ledgerFile(options.ledger, env);
  if (!isAddress(file)) await refuseExisting(file);
  const ledger = await openLedger(file, {
    create: "new", // somebody else may be making it at this very moment
    ...(options.origin === undefined ? {} : { origin: options.origin }),
    ...(options.key === undefined ? {} : { key: options.key }),
  });
  try {
    const status = await ledger.status();
    const { origin, format, head } = status;
    const shown = ledgerName(file, status);
    const { position, id } = head;
    const key = await verifierKeyOf(ledger);
    if (options.json) await terminal.json({ ledger: shown, origin, format, head: { position, id }, key });
    else
      await terminal.line(
        `created ${escapeText(shown)}: ${origin}, format ${format}${key === null ? "" : `, key ${key}`}`,
      );
  } finally {
    await ledger.close();
  }
}

/** The key that the journal names, as its first entry says it. */
async function verifierKeyOf(ledger: Ledger): Promise<string | null> {
  for await (const { data } of ledger.read({ limit: 1 })) if (typeof data["key"] === "string") return data["key"];
  return null;
}

async function refuseExisting(file: string): Promise<void> {
  try {
    await lstat(file);
  } catch {
    // What stands in the way of looking stands in the way of creating, and is said there.
    return;
  }
  throw new LedgerError("STORE_EXISTS", `${file} must not be there yet, found it`, {
    details: { location: file },
    hint: "`runledger status` shows what it holds",
  });
}
