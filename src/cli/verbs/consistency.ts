/** `runledger consistency`: the proof that the journal of one size begins with that of another. */
import type { Command } from "commander";
import { LedgerError } from "../../index.js";
import type { Ledger } from "../../index.js";
import { rolledBack } from "../../engine/rolled-back.js";
import { incarnationOf, parseCheckpoint } from "../../journal/checkpoint.js";
import type { Checkpoint } from "../../journal/checkpoint.js";
import { formatAddCheckpoint } from "../../journal/proof-file.js";
import { hexOf } from "../../kernel/digest.js";
import { jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { UsageError } from "../exit.js";
import { ledgerFile, withLedger } from "../open.js";
import { readSmallFile } from "../small-file.js";

/** A size, and the checkpoint that says what the journal was then, when one was given. */
interface End {
  readonly size: number;
  readonly given: { readonly checkpoint: Checkpoint; readonly note: string } | null;
}

const moreHelp = `
Each end is a number of events, or a file with a checkpoint, which is held against the ledger: STORE_ROLLED_BACK, and 1 as
the exit code, when the journal is shorter or has another root there. It prints the proof in the form of a C2SP
add-checkpoint, with the checkpoint of B: a file's as it is, the ledger's own where it keeps one.

Examples:
  runledger checkpoint --store --key ~/.keys/audit.key
  runledger consistency audit.checkpoint > audit.consistency
  runledger check-proof audit.consistency --from audit.checkpoint --key audit.vkey
  runledger consistency 1000 2000`;

export function addConsistency(program: Command, line: CommandLine): void {
  program
    .command("consistency")
    .description("prove that the journal begins with what it was before")
    .argument("<a>", "the smaller end: a number of events, or a file with a checkpoint")
    .argument("[b]", "the larger one (default: a larger checkpoint that the ledger keeps, else all events)")
    .option(...ledgerOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((a: string, b: string | undefined, options: CommonOptions) => consistency(line, a, b, options));
}

async function consistency(line: CommandLine, a: string, b: string | undefined, options: CommonOptions): Promise<void> {
  const { terminal, env } = line;
  const from = await parseEnd(a, terminal.stdin);
  const to = b === undefined ? null : await parseEnd(b, terminal.stdin);
  if (to !== null && from.size > to.size)
    throw new UsageError(`the ends must be in order, found ${from.size} and ${to.size} events`);
  await withLedger(terminal, ledgerFile(options.ledger, env), async (ledger) => {
    for (const end of [from, to]) if (end !== null) await checkPlace(ledger, end);
    const made = await ledger.consistency(from.size, to?.size);
    const { size1, root1, size2, root2, proof } = made;
    checkRoot(from, root1);
    if (to !== null) checkRoot(to, root2);
    const checkpoint = to?.given?.note ?? made.checkpoint;
    const text = formatAddCheckpoint({ oldSize: size1, proof, checkpoint });
    if (!options.json) return terminal.bytes(Buffer.from(text));
    const [from1, to1] = [hexOf(root1), hexOf(root2)];
    return terminal.json({ size1, root1: from1, size2, root2: to1, proof: proof.map(hexOf), checkpoint, text });
  });
}

async function parseEnd(text: string, stdin: NodeJS.ReadableStream): Promise<End> {
  if (/^\d+$/.test(text)) {
    const size = Number(text);
    if (Number.isSafeInteger(size) && size >= 1 && String(size) === text) return { size, given: null };
    throw new UsageError(`a number of events must be from 1, found ${text}`, "name a file of digits with ./ before it");
  }
  const note = (await readSmallFile(text, stdin)).toString("utf8");
  const checkpoint = parseCheckpoint(note);
  if (checkpoint.size === 0) throw new UsageError("a checkpoint must cover an event, found one of none");
  return { size: checkpoint.size, given: { checkpoint, note } };
}

/** Is there such a place in this journal? */
async function checkPlace(ledger: Ledger, { size, given }: End): Promise<void> {
  const entries = (await ledger.status()).size;
  if (given !== null && incarnationOf(given.checkpoint.origin, ledger.origin) === null)
    throw rolledBack("origin", given.checkpoint.origin, ledger.origin);
  if (size <= entries) return;
  if (given !== null) throw rolledBack("entries", size, entries);
  throw new LedgerError("NOT_FOUND", `the journal must have ${size} events, found ${entries}`, {
    details: { expected: size, found: entries },
  });
}

function checkRoot({ size, given }: End, found: Uint8Array): void {
  if (given === null || Buffer.from(given.checkpoint.root).equals(found)) return;
  throw rolledBack("root", hexOf(given.checkpoint.root), hexOf(found), size);
}
