/** `runledger session`: what a run or an attempt had to say, byte for byte, as it was captured. */
import { isUtf8 } from "node:buffer";
import type { Command } from "commander";
import { sessionCaptures } from "../../../projections/session-capture.js";
import { LedgerError } from "../../index.js";
import type { Ledger, SessionRecord } from "../../index.js";
import { captureKey, parseAttemptKey } from "../../journal/events/session.js";
import { parseRunId } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption, oneOf } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeOutput } from "../escape.js";
import { exitCodes } from "../exit.js";
import { ledgerFile, withLedger } from "../open.js";
import { readsOf } from "../read-documents.js";
import type { Terminal } from "../terminal.js";

const outputs = ["stdout", "stderr"] as const;

interface SessionOptions extends CommonOptions {
  readonly only?: (typeof outputs)[number];
}

const moreHelp = `
RUN is a run id, and ATTEMPT one of its attempts, such as build.1; '' is the run itself. Without it the last attempt that has
a capture is shown, or the run itself when none has. Records come in the order in which they were captured, stdout and stderr
alike, each with the line end that it had; into a file or a pipe they go byte for byte, on a terminal control characters are
shown as \\u{…}.

A record whose content was erased, is missing or damaged is said on stderr by its number, the others are printed, and the
command ends with 1.

Examples:
  runledger session nightly
  runledger session nightly build.1 --only stderr > build.err
  runledger session nightly --json | jq -r 'select(.state != "present") | .number'`;

export function addSession(program: Command, line: CommandLine): void {
  program
    .command("session")
    .description("print the captured output of a run")
    .argument("<run>", "a run id", checked("RUN", parseRunId))
    .argument("[attempt]", "one of its attempts (default: the last one)", checked("ATTEMPT", parseAttemptKey))
    .option(...ledgerOption)
    .option("--only <output>", "stdout or stderr alone", oneOf("--only", outputs))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (run: string, attempt: string | undefined, options: SessionOptions) => {
      await withLedger(line.terminal, ledgerFile(options.ledger, line.env), async (ledger) => {
        await print(line, ledger, run, attempt ?? (await lastAttempt(ledger, run)), options);
      });
    });
}

/** A record as JSON shows it. Times are ms since the epoch; what is not known is null. */
interface RecordObject {
  readonly number: number;
  readonly type: string | null;
  readonly at: number | null;
  readonly reportedAt: number | null;
  readonly partial: boolean;
  readonly position: number | null;
  readonly state: "present" | "erased" | "missing" | "damaged";
  readonly digest: string | null;
  readonly bytes: number | null;
  readonly media: string | null;
  /** What it holds, where that is UTF-8. */
  readonly text: string | null;
  /** What it holds, where it is not. */
  readonly base64: string | null;
}

/** The last one that has a capture; empty: the run itself. */
async function lastAttempt(ledger: Ledger, run: string): Promise<string> {
  const { reader } = await readsOf(ledger, sessionCaptures);
  // The run itself has one at most.
  const { documents } = await reader.find({ index: "run", prefix: [run], order: "desc", limit: 2 });
  const captures = documents.map(({ document }) => document);
  const last = captures.find(({ attemptId }) => attemptId !== "") ?? captures[0];
  if (last !== undefined) return last.attemptId;
  throw new LedgerError("NOT_FOUND", `run ${JSON.stringify(run)} must have a capture, found none`, {
    details: { run },
    hint: "`runledger state session-capture` lists the captures there are",
  });
}

async function print(
  line: CommandLine,
  ledger: Ledger,
  run: string,
  attempt: string,
  { only, json }: SessionOptions,
): Promise<void> {
  const { terminal } = line;
  const output = new Output(terminal);
  const troubles = new Troubles();
  try {
    for await (const record of ledger.sessions.events(run, attempt)) {
      // Whose record it was that is lost is not known.
      if (only !== undefined && record.type !== null && record.type !== only) continue;
      if (record.trouble !== null) troubles.add(record.number, record.trouble);
      if (json) await terminal.json(recordObject(record));
      else if (record.content !== null) await output.put(record.content.bytes, record.partial);
    }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "NOT_FOUND") throw error;
    throw new LedgerError("NOT_FOUND", `${captureKey(run, attempt)} must have a capture, found none`, {
      details: { run, attempt },
      hint: `\`runledger run ${run}\` lists what was captured of it`,
      cause: error,
    });
  } finally {
    await output.flush();
    await terminal.flush();
    for (const sentence of troubles.sentences(captureKey(run, attempt))) await terminal.say(sentence);
  }
  if (!troubles.isNone) line.exitCode = exitCodes.wrong;
}

const bufferedBytesMax = 64 * 1024;
const lineFeed = Uint8Array.of(0x0a);

/** Output as it was, put out in larger pieces. */
class Output {
  private readonly terminal: Terminal;
  private waiting: Uint8Array[] = [];
  private bytes = 0;

  constructor(terminal: Terminal) {
    this.terminal = terminal;
  }

  async put(bytes: Uint8Array, partial: boolean): Promise<void> {
    this.waiting.push(bytes);
    if (!partial) this.waiting.push(lineFeed);
    this.bytes += bytes.length + 1;
    if (this.bytes >= bufferedBytesMax) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.bytes === 0) return;
    const bytes = Buffer.concat(this.waiting);
    this.waiting = [];
    this.bytes = 0;
    if (this.terminal.isInteractive) this.terminal.queue(escapeOutput(bytes.toString()));
    else await this.terminal.bytes(bytes);
  }
}

/** What is wrong, by the numbers of records; those of one entry that is lost are one piece of news. */
class Troubles {
  private readonly found: { readonly first: number; last: number; readonly trouble: LedgerError }[] = [];

  get isNone(): boolean {
    return this.found.length === 0;
  }

  add(number: number, trouble: LedgerError): void {
    const last = this.found.at(-1);
    if (last?.trouble === trouble) last.last = number;
    else this.found.push({ first: number, last: number, trouble });
  }

  sentences(key: string): readonly string[] {
    return this.found.map(({ first, last, trouble }) => {
      const which = first === last ? `record ${first} of ${key} is` : `records ${first} to ${last} of ${key} are`;
      return `${which} ${stateOf(trouble)}: ${trouble.message}`;
    });
  }
}

function stateOf(trouble: LedgerError | null): RecordObject["state"] {
  switch (trouble?.code) {
    case undefined:
      return "present";
    case "CONTENT_ERASED":
      return "erased";
    case "CONTENT_MISSING":
      return "missing";
    default:
      return "damaged";
  }
}

function recordObject(record: SessionRecord): RecordObject {
  const { number, type, at, reportedAt, partial, position, reference, content, trouble } = record;
  const isText = content !== null && isUtf8(content.bytes);
  return {
    number,
    type,
    at,
    reportedAt,
    partial,
    position,
    state: stateOf(trouble),
    digest: reference?.$content ?? null,
    bytes: reference?.bytes ?? null,
    media: content?.media ?? null,
    text: isText ? content.text() : null,
    base64: content === null || isText ? null : Buffer.from(content.bytes).toString("base64"),
  };
}
