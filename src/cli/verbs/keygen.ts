/** `runledger keygen`: a key that signs checkpoints, in a file of its own. Prints the verifier key and nothing else of it. */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import type { Command } from "commander";
import { newOrigin } from "../../journal/events/journal.js";
import { formatSignerKey, parseSignerKey } from "../../journal/note-keys.js";
import { writeKeyFile } from "../../engine/key-file.js";
import { parseOrigin } from "../../kernel/names.js";
import { checked, jsonOption, keyFile } from "../arguments.js";
import type { CommandLine } from "../arguments.js";
import { escapeText } from "../escape.js";
import { UsageError } from "../exit.js";
import { isAddress } from "../ledger-name.js";
import { ledgerFile, withLedger } from "../open.js";

interface KeygenOptions {
  readonly out: string;
  readonly origin?: string;
  readonly ledger?: string;
  readonly json?: true;
}

const moreHelp = `
The key is named after the journal whose checkpoints it signs: with --origin, as the journal of --ledger, or anew. It goes
into a new file of mode 0600, which must not be in the directory of the ledger: a copy of the one would take the other
along. What is printed is the verifier key, which anybody may have: who is to check signatures needs it from you.

Examples:
  runledger keygen --origin example.com/audit --out ~/.keys/audit.key > audit.vkey
  runledger init --ledger audit.ledger --key ~/.keys/audit.key`;

export function addKeygen(program: Command, line: CommandLine): void {
  program
    .command("keygen")
    .description("make a key that signs checkpoints")
    .requiredOption("--out <file>", "the new file of the key", keyFile("--out"))
    .option("--origin <name>", "the journal that it signs for", checked("--origin", parseOrigin))
    .option("--ledger <file>", "the ledger that it signs for")
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((options: KeygenOptions) => keygen(line, options));
}

async function keygen(line: CommandLine, options: KeygenOptions): Promise<void> {
  const { terminal, env } = line;
  line.writes = true;
  if (options.origin !== undefined && options.ledger !== undefined)
    throw new UsageError("a key is named either with --origin or as the journal of --ledger");
  const file = ledgerFile(options.ledger, env);
  const origin = await originOf(line, options, file);
  const text = formatSignerKey(origin, randomBytes(32));
  // The ledger that would be meant without a word counts as well, when it is there.
  const beside = !isAddress(file) && (options.ledger !== undefined || existsSync(file)) ? file : null;
  await writeKeyFile(options.out, `${text}\n`, beside);
  const { text: key } = parseSignerKey(text, "key").verifier;
  if (options.json) await terminal.json({ file: options.out, origin, key });
  else await terminal.line(key);
  await terminal.say(`the key of ${origin} is in ${escapeText(options.out)}; whoever has that file can sign`);
}

async function originOf(line: CommandLine, { origin, ledger }: KeygenOptions, file: string): Promise<string> {
  if (origin !== undefined) return origin;
  if (ledger === undefined) return newOrigin(randomBytes);
  return withLedger(line.terminal, file, async (opened) => opened.origin);
}
