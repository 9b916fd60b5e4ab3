/** `runledger append`: JSON Lines into a journal, in batches. Writes. */
import type { Command } from "commander";
import { openLedger } from "../../index.js";
import type { Ledger } from "../../index.js";
import { entriesPerTxMax } from "../../kernel/limits.js";
import { parseLabel, parseStream, parseType } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { readBatches } from "../batches.js";
import { escapeText } from "../escape.js";
import { counted, grouped, sayDuration } from "../figures.js";
import { ingest } from "../ingest.js";
import type { Ingested, Kept } from "../ingest.js";
import { checkInputs, readInputs } from "../inputs.js";
import { exitCodeOfInterrupt, interruptibly } from "../interrupt.js";
import type { Interrupt } from "../interrupt.js";
import { ledgerFile } from "../open.js";
import { Progress } from "../progress.js";
import type { Terminal } from "../terminal.js";

interface AppendOptions extends CommonOptions {
  readonly stream: string;
  readonly type: string;
  readonly content?: true;
  readonly actor?: string;
  readonly batch: number;
}

const moreHelp = `
A line is one JSON object, the event's data. With --content it is any JSON value of up to 64 MiB, kept beside the journal
in canonical form, erasable: the data is then {"line": <reference>}. Blank lines are skipped. A line that is not JSON, is
not well-formed UTF-8, starts with a byte order mark, names a member twice or is refused by the ledger stops the command
with its number: every line before it is kept, none after it. Each batch is atomic. Numbers are those of JavaScript.
The ledger is created when there is none. An interrupt waits for the batch on its way, says what was kept, and ends with 130.

Examples:
  runledger append --stream log/web < access.jsonl
  tail -f app.jsonl | runledger append --stream log/app --type app.logged --batch 1
  runledger append --stream batch/2026-03 --content --actor importer a.jsonl b.jsonl`;

export function addAppend(program: Command, line: CommandLine): void {
  program
    .command("append")
    .description("append JSON Lines as events, from files or standard input")
    .argument("[files...]", "JSON Lines files; - or none is standard input")
    .option(...ledgerOption)
    .requiredOption("--stream <name>", "the stream, <kind>/<name>", checked("--stream", parseStream))
    .option("--type <type>", "the type of the events, area.pastTense", checked("--type", parseType), "line.appended")
    .option("--content", "store each line as content instead of as data")
    .option("--actor <name>", "who does it", checked("--actor", parseLabel))
    .option("--batch <lines>", "lines in one atomic append", wholeNumber("--batch", 1, entriesPerTxMax), 1_000)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (files: string[], options: AppendOptions) => append(line, files, options));
}

async function append(line: CommandLine, files: readonly string[], options: AppendOptions): Promise<void> {
  const { terminal, env } = line;
  line.writes = true;
  const file = ledgerFile(options.ledger, env);
  await checkInputs(files);
  if (terminal.stdin.isTTY && (files.length === 0 || files.includes("-"))) {
    await terminal.say("reading lines from the terminal; Ctrl-D ends them");
  }
  await interruptibly(async (state) => {
    const progress = new Progress(terminal, "event");
    const input = { terminal, files, options, signal: state.signal, progress };
    const done = await fill(await openLedger(file), input);
    await summarise(terminal, options, done, state.interrupt, progress);
    if (done.problem !== null) throw done.problem;
    if (state.interrupt !== null) line.exitCode = exitCodeOfInterrupt(state.interrupt);
  });
}

interface Filling {
  readonly terminal: Terminal;
  readonly files: readonly string[];
  readonly options: AppendOptions;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

interface Filled extends Ingested {
  readonly blank: number;
}

/** Appends all input to an open ledger, and closes it whatever happens. */
async function fill(ledger: Ledger, { terminal, files, options, signal, progress }: Filling): Promise<Filled> {
  let blank = 0;
  const asContent = options.content === true;
  const lines = readInputs(files, { stdin: terminal.stdin, signal, onBlank: () => blank++ });
  const batches = readBatches(lines, { type: options.type, asContent }, options.batch);
  const labels = options.actor === undefined ? {} : { actor: options.actor };
  try {
    const onKept = (kept: Kept): void => progress.at(kept.events);
    const ingested = await ingest(ledger, batches, { stream: options.stream, labels, asContent, signal, onKept });
    return { ...ingested, blank };
  } finally {
    await ledger.close();
  }
}

async function summarise(
  terminal: Terminal,
  options: AppendOptions,
  { events, first, last, problem, blank }: Filled,
  interrupt: Interrupt | null,
  progress: Progress,
): Promise<void> {
  const complete = problem === null && interrupt === null;
  const elapsedMs = progress.elapsedMs();
  const rate = progress.rate(events);
  if (options.json) {
    const { stream, type } = options;
    const seconds = Math.round(elapsedMs) / 1_000;
    await terminal.json({ stream, type, events, first, last, blank, complete, seconds, rate });
  }
  const how = interrupt === null ? (complete ? "appended" : "kept") : `interrupted by ${interrupt}: kept`;
  const where = first === null || last === null ? "" : `, #${first} to #${last},`;
  const spent = events === 0 ? "" : ` in ${sayDuration(elapsedMs)} (${grouped(rate)}/s)`;
  const skipped = blank === 0 ? "" : `; ${counted(blank, "blank line")} skipped`;
  await terminal.say(`${how} ${counted(events, "event")}${where} in ${escapeText(options.stream)}${spent}${skipped}`);
}
