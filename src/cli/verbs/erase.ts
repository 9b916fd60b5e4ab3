/** `runledger erase`: takes the bytes of contents, for good. Writes only when told twice. */
import type { Command } from "commander";
import { LedgerError, openLedger } from "../../index.js";
import type { EraseOptions, ErasedContent, Erasure, ErasurePlan, NamingEntry } from "../../index.js";
import { isDigest } from "../../kernel/digest.js";
import { parseLabel, parseReason } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeText } from "../escape.js";
import { idDigitsShown } from "../event-view.js";
import { UsageError } from "../exit.js";
import { counted, grouped, isoTime } from "../figures.js";
import { exitCodeOfInterrupt, interruptibly } from "../interrupt.js";
import { isAddress } from "../ledger-name.js";
import { ledgerFile, whenThere, withLedger } from "../open.js";
import type { Terminal } from "../terminal.js";

interface VerbOptions extends CommonOptions {
  readonly reason: string;
  readonly shared?: true;
  readonly actor?: string;
  readonly yes?: true;
}

const moreHelp = `
A digest is what an event names its content by, 64 hex digits; \`runledger show\` prints it. Without --yes the ledger is
opened read-only and the command only tells what would go: each content, and every event that names it. With --yes the
bytes, media types and salts of all of them go in one commit with an event that says so, or none does. With them go the
salts of receipts whose commands wrote them, so that no guess of what was erased can be checked. The events stay as
they are, and so does all that they say themselves: the reason too can never be erased. Copies that were made elsewhere are
not reached; the command lists where they may live.

Examples:
  runledger erase 696214ad726df272ab9f927b64f934399c35a43b63c161c731e901da1ad93725 --reason "ticket 4711"
  runledger show '#12' --json | jq -r '.contents[].digest' | xargs runledger erase --reason "ticket 4711" --yes`;

export function addErase(program: Command, line: CommandLine): void {
  program
    .command("erase")
    .description("erase contents for good; tells what would go unless --yes")
    .argument("<digests...>", "the contents, by the digests that events name them by")
    .option(...ledgerOption)
    .requiredOption(
      "--reason <text>",
      "why, 1 to 200 characters; recorded, not erasable",
      checked("--reason", parseReason),
    )
    .option("--shared", "also what events of several streams name, for all of them")
    .option("--actor <name>", "who does it", checked("--actor", parseLabel))
    .option("--yes", "erase; without it nothing is written")
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (digests: string[], options: VerbOptions) => erase(line, digests.map(parseDigest), options));
}

function parseDigest(text: string): string {
  const digest = text.toLowerCase();
  if (isDigest(digest)) return digest;
  throw new UsageError(
    `a digest must be 64 hex digits, found ${JSON.stringify(text)}`,
    "`runledger show` prints the digests of an event's contents",
  );
}

async function erase(line: CommandLine, digests: readonly string[], options: VerbOptions): Promise<void> {
  const { terminal, env } = line;
  const file = ledgerFile(options.ledger, env);
  const wish: EraseOptions = {
    reason: options.reason,
    shared: options.shared === true,
    ...(options.actor === undefined ? {} : { actor: options.actor }),
  };
  try {
    if (options.yes) {
      line.writes = true;
      await eraseNow(line, file, digests, options, wish);
    } else {
      const plan = await withLedger(terminal, file, (ledger) => ledger.erase(digests, { ...wish, dryRun: true }));
      await show(terminal, file, options, plan);
      await terminal.say("nothing was erased: --yes does it, for good");
    }
  } catch (error) {
    if (!(error instanceof LedgerError) || error.code !== "CONTENT_SHARED") throw error;
    const hint = "--shared erases it for all of them";
    throw new LedgerError(error.code, error.message, { details: error.details, hint });
  }
}

/** An interrupt gives up what has not begun to be written; what has is finished, and told. */
async function eraseNow(
  line: CommandLine,
  file: string,
  digests: readonly string[],
  options: VerbOptions,
  wish: EraseOptions,
): Promise<void> {
  await interruptibly(async (state) => {
    try {
      const ledger = await whenThere(openLedger(file, { create: false }));
      try {
        await show(line.terminal, file, options, await ledger.erase(digests, { ...wish, signal: state.signal }));
      } finally {
        await ledger.close();
      }
    } catch (error) {
      if (state.interrupt === null || !(error instanceof LedgerError) || error.code !== "ABORTED") throw error;
      await line.terminal.say(`interrupted by ${state.interrupt}: nothing was erased`);
    }
    if (state.interrupt !== null) line.exitCode = exitCodeOfInterrupt(state.interrupt);
  });
}

async function show(
  terminal: Terminal,
  file: string,
  options: VerbOptions,
  done: ErasurePlan | Erasure,
): Promise<void> {
  const erasure = "position" in done ? done : null;
  if (options.json) {
    const { reason, contents, salts, elsewhere } = done;
    await terminal.json({
      dryRun: erasure === null,
      reason,
      contents,
      salts,
      elsewhere,
      position: erasure?.position ?? null,
      id: erasure?.id ?? null,
      at: erasure?.at ?? null,
      time: erasure === null ? null : isoTime(erasure.at),
      scrubbed: erasure?.scrubbed ?? null,
    });
  } else for (const text of describe(done, erasure, terminal)) await terminal.line(text);
  if (erasure?.scrubbed === false)
    await terminal.say(
      isAddress(file)
        ? "note: the server was not made to clean up: its files may hold the erased bytes until its own vacuum"
        : "note: somebody has the ledger open: the erased bytes may stand in its write-ahead log until it is closed",
    );
}

function describe(done: ErasurePlan, erasure: Erasure | null, terminal: Terminal): string[] {
  const field = (name: string, values: readonly string[]): string[] =>
    values.map((value, index) => `${terminal.style("dim", (index === 0 ? name : "").padEnd(10))}  ${value}`);
  const { contents, salts } = done;
  const count =
    counted(contents.length, "content") + (salts.length === 0 ? "" : ` and ${counted(salts.length, "salt")}`);
  return [
    ...contents.flatMap((content) => field("content", contentLines(content, terminal))),
    ...field(
      "salt of",
      salts.flatMap(({ entries }) => entries.map(entryLine)),
    ),
    ...field("reason", [escapeText(done.reason)]),
    ...field("elsewhere", done.elsewhere),
    ...(erasure === null
      ? field("would go", [count])
      : field("erased", [`${count}, by #${erasure.position}  ${erasure.id}`])),
  ];
}

function contentLines({ digest, n, media, bytes, entries }: ErasedContent, terminal: Terminal): string[] {
  const size = bytes === 1 ? "1 byte" : `${grouped(bytes)} bytes`;
  return [
    `${terminal.style("yellow", digest)}  number ${n}  ${media}  ${size}, named by ${counted(entries.length, "event")}`,
    ...entries.map(entryLine),
  ];
}

function entryLine({ position, id, type, stream, revision }: NamingEntry): string {
  return `#${position}  ${id.slice(0, idDigitsShown)}  ${type}  ${escapeText(stream)}@${revision}`;
}
