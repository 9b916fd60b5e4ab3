/** `runledger verify`: is it intact? Reads stored rows and writes nothing. */
import { availableParallelism } from "node:os";
import type { Command } from "commander";
import { formatReport, verify } from "../../forensic/index.js";
import type { VerifyLevel, VerifyReport } from "../../forensic/index.js";
import { verifyWorkers } from "../../index.js";
import { jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeSentence } from "../escape.js";
import { UsageError } from "../exit.js";
import { grouped } from "../figures.js";
import { ledgerFile, withRawReader } from "../open.js";
import type { Style, Terminal } from "../terminal.js";

interface VerifyVerbOptions extends CommonOptions {
  readonly quick?: true;
  readonly full?: true;
  readonly workers?: number;
}

const moreHelp = `
It ends with 0 when everything that was checked is in order, 1 when something is not, 3 when there is nothing to check or
the format is not known. The report always says how much was checked, and how much rests on this file alone.

Examples:
  runledger verify audit.ledger
  runledger verify --quick --json | jq -r .verdict`;

export function addVerify(program: Command, line: CommandLine): void {
  program
    .command("verify")
    .description("check that a ledger is intact")
    .argument("[file]", "the ledger, as with --ledger")
    .option(...ledgerOption)
    .option("--quick", "the first entry and the last ones only")
    .option("--full", "everything (default)")
    .option(
      "--workers <n>",
      "threads that check a large ledger (default: 2 where there are processors for them)",
      wholeNumber("--workers", 1, 64),
    )
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((file: string | undefined, options: VerifyVerbOptions) => check(line, file, options));
}

async function check(line: CommandLine, argument: string | undefined, options: VerifyVerbOptions): Promise<void> {
  if (options.quick && options.full) throw new UsageError("verify is either --quick or --full");
  if (argument !== undefined && options.ledger !== undefined)
    throw new UsageError("the ledger is named either with --ledger or without");
  const level: VerifyLevel = options.quick ? "quick" : "full";
  const { terminal } = line;
  const file = ledgerFile(argument ?? options.ledger, line.env);
  const workers = verifyWorkers(file, options.workers ?? Math.min(2, availableParallelism()));
  const report = await withRawReader(terminal, file, (reader) =>
    verify(reader, {
      level,
      now: Date.now(),
      workers,
      onProgress: ({ phase, done, total }) =>
        terminal.progress(`${grouped(done)} of ${grouped(total)} ${phase} verified`),
    }),
  );
  terminal.endProgress();
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
