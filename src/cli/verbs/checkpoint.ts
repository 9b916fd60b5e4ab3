/** `runledger checkpoint`: what the journal is, in three lines that others can keep. Writes with --store or --change-key
 *  alone. */
import type { Command } from "commander";
import type { Ledger, LedgerCheckpoint } from "../../index.js";
import { hexOf } from "../../kernel/digest.js";
import { jsonOption, keyFile, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { UsageError } from "../exit.js";
import { grouped } from "../figures.js";
import { ledgerFile, withLedger } from "../open.js";

interface CheckpointVerbOptions extends CommonOptions {
  readonly key?: string;
  readonly size?: number;
  readonly store?: true;
  readonly changeKey?: string;
}

const moreHelp = `
It prints a C2SP tlog-checkpoint, signed when the journal has a key. Keep it where whoever can write the ledger cannot: it
alone shows later that the journal was cut, put back or written anew (\`verify --from\`, \`consistency\`). A key lives in a
file of mode 0600 outside the directory of the ledger (\`keygen\`). It ends with 3 when the key that must sign is missing.

--change-key lets another key sign from here on; --key is then the key until now, unless the journal had none. When it was
interrupted, the same command again ends it.

Examples:
  runledger checkpoint --key ~/.keys/audit.key > audit.checkpoint
  runledger checkpoint --store --key ~/.keys/audit.key
  runledger checkpoint --key ~/.keys/audit.key --change-key ~/.keys/audit-2.key`;

export function addCheckpoint(program: Command, line: CommandLine): void {
  program
    .command("checkpoint")
    .description("print what the journal is, for others to keep")
    .option(...ledgerOption)
    .option("--key <file>", "the file of the key that signs", keyFile("--key"))
    .option("--size <n>", "of the first n events (default: all)", wholeNumber("--size", 1, Number.MAX_SAFE_INTEGER))
    .option("--store", "keep it in the ledger as well")
    .option("--change-key <file>", "let the key in this file sign from here on", keyFile("--change-key"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((options: CheckpointVerbOptions) => checkpoint(line, options));
}

async function checkpoint(line: CommandLine, options: CheckpointVerbOptions): Promise<void> {
  const { terminal, env } = line;
  const { key, size, changeKey } = options;
  if (changeKey !== undefined && size !== undefined)
    throw new UsageError("--change-key makes the checkpoint of all events, found --size too");
  line.writes = options.store === true || changeKey !== undefined;
  const make = (ledger: Ledger): Promise<LedgerCheckpoint> =>
    changeKey === undefined ? ledger.checkpoint(size === undefined ? {} : { size }) : ledger.changeKey(changeKey);
  const made = await withLedger(terminal, ledgerFile(options.ledger, env), make, {
    ...(line.writes ? { readOnly: false, create: false } : {}),
    ...(key === undefined ? {} : { key }),
  });
  if (options.json) {
    const { origin, root, signed, note } = made;
    const stored = line.writes;
    await terminal.json({ origin, size: made.size, root: hexOf(root), signed, stored, note });
  } else await terminal.bytes(Buffer.from(made.note));
  if (!made.signed)
    await terminal.say(`note: nobody signed this: the journal had no key at ${grouped(made.size)} events`);
}
