/** `runledger cat`: exact bytes, nothing added and nothing left out, so that others can hash them. */
import type { Command } from "commander";
import { entryId, LedgerError } from "../../index.js";
import type { Ledger } from "../../index.js";
import { ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { isPlainText } from "../escape.js";
import { chooseContent } from "../event-contents.js";
import { exitCodes, UsageError } from "../exit.js";
import { ledgerFile, withLedger, withRawReader } from "../open.js";
import { Positions } from "../resolve.js";
import { parseSelector } from "../selector.js";
import type { Selector } from "../selector.js";
import type { Terminal } from "../terminal.js";

interface CatOptions extends CommonOptions {
  readonly content?: true;
}

const moreHelp = `
An entry is printed without a line feed, so that its id is the SHA-256 of a zero byte and what is printed:
  { printf '\\0'; runledger cat '#12'; } | sha256sum

With --content, a content of the event: the only one, the Nth, or the one at a JSON pointer into the event's data.
What a terminal would take for commands goes to files and pipes only.

Examples:
  runledger cat @ | jq .
  runledger cat --content log/web@3 /line > line.json`;

export function addCat(program: Command, line: CommandLine): void {
  program
    .command("cat")
    .description("print the exact bytes of an entry or of a content")
    .argument("<selector>", "which event; see runledger --help")
    .argument("[content]", "with --content: its JSON pointer, or its number among the event's contents")
    .option(...ledgerOption)
    .option("--content", "print a content of the event")
    .addHelpText("after", moreHelp)
    .action(async (selector: string, choice: string | undefined, options: CatOptions) => {
      if (choice !== undefined && !options.content) throw new UsageError("a content is chosen with --content only");
      const parsed = parseSelector(selector);
      const file = ledgerFile(options.ledger, line.env);
      if (options.content)
        await withLedger(line.terminal, file, (ledger) => catContent(line.terminal, ledger, parsed, choice));
      else await catEntry(line, file, parsed);
    });
}

async function catContent(
  terminal: Terminal,
  ledger: Ledger,
  selector: Selector,
  choice: string | undefined,
): Promise<void> {
  const event = await (await Positions.of(ledger)).event(selector);
  const { bytes } = await ledger.content(chooseContent(event, choice).reference);
  await put(terminal, bytes);
}

/** The bytes come from the stored row, not from a parsed event; a damaged entry is shown as it is, and said to be. A
 *  position needs no look-up, so that the first entry can be seen even when nothing opens for its damage. */
async function catEntry(line: CommandLine, file: string, selector: Selector): Promise<void> {
  const position =
    selector.kind === "position"
      ? selector.position
      : await withLedger(line.terminal, file, async (ledger) => (await Positions.of(ledger)).find(selector));
  await withRawReader(line.terminal, file, async (reader) => {
    const [row] = await reader.entries(position === 0 ? null : position - 1, 1, true);
    if (row?.seq !== position || !(typeof row.entry === "string" || row.entry instanceof Uint8Array)) {
      throw missingEntry(position, await reader.entryCount());
    }
    await put(line.terminal, Buffer.from(row.entry));
    const id = entryId(row.entry);
    if (id === row.id) return;
    await line.terminal.say(`event #${position} is damaged: its bytes must hash to ${String(row.id)}, found ${id}`);
    line.exitCode = exitCodes.wrong;
  });
}

function missingEntry(position: number, count: number): LedgerError {
  const details = { position, size: count };
  if (position >= count)
    return new LedgerError("NOT_FOUND", `#${position} must name one of ${count} events, found none`, { details });
  return new LedgerError("STORE_DAMAGED", `event #${position} must be stored as an entry, found something else`, {
    details,
    hint: "run `runledger verify` on it",
  });
}

async function put(terminal: Terminal, bytes: Uint8Array): Promise<void> {
  if (terminal.isInteractive && !isPlainText(bytes)) {
    throw new UsageError("these bytes would not be shown by a terminal as they are", "send them to a file or a pipe");
  }
  await terminal.bytes(bytes);
}
