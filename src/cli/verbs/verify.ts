/** `runledger verify`: is it intact? Reads stored rows and writes nothing. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { formatReport, verify } from "../../forensic/index.js";
import type { VerifyReport } from "../../forensic/index.js";
import { verifyWorkers } from "../../index.js";
import { jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { defineOption, loadDefinitions } from "../definitions.js";
import type { DefineOptions } from "../definitions.js";
import { escapeSentence } from "../escape.js";
import { UsageError } from "../exit.js";
import { grouped } from "../figures.js";
import { collect, readCheckpoints, readVerifierKeys } from "../outside.js";
import { ledgerName } from "../ledger-name.js";
import { ledgerFile, withRawReader } from "../open.js";
import { shellWord } from "../shell-words.js";
import type { Style, Terminal } from "../terminal.js";

interface VerifyVerbOptions extends CommonOptions, DefineOptions {
  readonly quick?: true;
  readonly full?: true;
  readonly deep?: true;
  readonly workers?: number;
  readonly from?: readonly string[];
  readonly key?: readonly string[];
  readonly requireAnchor?: true;
}

const moreHelp = `
It ends with 0 when everything that was checked is in order, 1 when something is not, 3 when there is nothing to check, the
format is not known, or --key was given and no checkpoint is signed by it, and 4 when it is in order but not anchored and
--require-anchor was given. The report always says how much was checked, and how much rests on this ledger alone.

Whoever holds the file or the database can cut off its tail, or write all of it anew, and it is in order again. A checkpoint
that was kept elsewhere shows both (--from); one that is signed shows it whoever kept it (--key). Take keys from somewhere you
trust, never from the ledger or from who hands it to you. With --quick, checkpoints are compared by size and signature alone.

--deep checks, too, that each claim was legal and each event under a fence was written while its claim was live. What is
derived from events says nothing of them: it tells where it differs (DERIVED), and which event explains it. It takes
the host's projections from --define; a table whose code is not given is listed as not checked.

Examples:
  runledger verify audit.ledger
  runledger verify audit.ledger --deep --define ./shop.js
  runledger verify audit.ledger --from monday.checkpoint --key example.com/audit+9baf461a+AQOhB7…
  runledger verify --quick --json | jq -r .verdict`;

export function addVerify(program: Command, line: CommandLine): void {
  program
    .command("verify")
    .description("check that a ledger is intact")
    .argument("[file]", "the ledger, as with --ledger")
    .option(...ledgerOption)
    .option("--quick", "the first entry and the last ones only")
    .option("--full", "everything that is evidence (default)")
    .option("--deep", "that, receipts, claims and fences, and the documents of projections, folded anew")
    .option(...defineOption)
    .option(
      "--workers <n>",
      "with --full: threads that check a large ledger, the main one included (default: 2 where there are processors)",
      wholeNumber("--workers", 1, 64),
    )
    .option("--from <file>", "a checkpoint that was kept elsewhere; - is standard input; may be repeated", collect)
    .option("--key <key>", "a verifier key that is trusted, or a file that holds it; may be repeated", collect)
    .option("--require-anchor", "end with 4 unless a checkpoint from outside vouches for the ledger")
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((file: string | undefined, options: VerifyVerbOptions) => check(line, file, options));
}

async function check(line: CommandLine, argument: string | undefined, options: VerifyVerbOptions): Promise<void> {
  const levels = (["quick", "full", "deep"] as const).filter((each) => options[each]);
  if (levels.length > 1) throw new UsageError("verify is one of --quick, --full and --deep");
  const [level = "full"] = levels;
  if (options.workers !== undefined && level !== "full")
    throw new UsageError(`--workers must stand with --full, found it with --${level}`);
  if (options.quick && options.requireAnchor)
    throw new UsageError("--require-anchor needs --full: a quick verification computes no root to compare");
  if (argument !== undefined && options.ledger !== undefined)
    throw new UsageError("the ledger is named either with --ledger or without");
  const { terminal } = line;
  const from = await readCheckpoints(options.from, terminal.stdin);
  const keys = await readVerifierKeys(options.key, terminal.stdin);
  const definitions = await loadDefinitions(options, line.env);
  const file = ledgerFile(argument ?? options.ledger, line.env);
  const workers = verifyWorkers(file, options.workers ?? Math.min(2, availableParallelism()));
  let shown = file;
  const verified = await withRawReader(terminal, file, (reader) => {
    shown = ledgerName(file, reader);
    return verify(reader, {
      level,
      ...definitions,
      from,
      keys,
      requireAnchor: options.requireAnchor ?? false,
      now: Date.now(),
      workers,
      onProgress: ({ phase, done, total }) =>
        terminal.progress(`${grouped(done)} of ${grouped(total)} ${phase} verified`),
    });
  });
  terminal.endProgress();
  // Whoever named the ledger here must name it there too.
  const named = (argument ?? options.ledger) === undefined ? "" : ` --ledger ${shellWord(shown)}`;
  const report = { ...verified, next: verified.next.map((command) => `${command}${named}`) };
  if (options.json) await terminal.json(report);
  else for (const text of formatReport(report).trimEnd().split("\n")) await terminal.line(coloured(terminal, text));
  line.exitCode = exitCodeOfReport(report);
}

/** Nothing checked is never in order, whatever the report says (case J04). */
function exitCodeOfReport({ exitCode, checked }: VerifyReport): number {
  return exitCode === 0 && checked.entries === 0 ? 3 : exitCode;
}

const styles: Readonly<Record<string, Style>> = {
  ok: "green",
  FAIL: "red",
  warn: "yellow",
  info: "cyan",
  verdict: "bold",
};

/** A line of the report, its first word in the colour of what it says. */
function coloured(terminal: Terminal, text: string): string {
  const [word = ""] = text.split(" ", 1);
  const style = styles[word];
  const rest = escapeSentence(text.slice(word.length));
  return style === undefined ? escapeSentence(text) : terminal.style(style, word) + rest;
}
