/** `runledger log`: what happened, in order. */
import type { Command } from "commander";
import type { Ledger, LedgerEvent } from "../../index.js";
import { parseArea, parseLabel, parseStream, parseType } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption, moment, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { defineOption, loadDefinitions } from "../definitions.js";
import type { DefineOptions } from "../definitions.js";
import { putEvent } from "../event-view.js";
import { missingStream } from "../lookalike.js";
import { ledgerFile, withLedger } from "../open.js";
import { Positions } from "../resolve.js";
import { parseRange } from "../selector.js";
import type { SelectorRange } from "../selector.js";

interface LogOptions extends CommonOptions, DefineOptions {
  readonly stream?: string;
  readonly kind?: string;
  readonly type?: string;
  readonly actor?: string;
  readonly since?: number;
  readonly until?: number;
  readonly limit?: number;
  readonly reverse?: true;
  readonly oneline?: true;
}

const moreHelp = `
Oldest first; --reverse shows the newest first, and --limit counts from where the log starts. Times are UTC; --since and
--until are in the log themselves, and a date is its first moment.

Examples:
  runledger log --reverse --limit 20 --oneline
  runledger log '#100..@' --kind run --actor alice
  runledger log --since 2026-03-01 --json | jq -r .id`;

export function addLog(program: Command, line: CommandLine): void {
  program
    .command("log")
    .description("show events in order")
    .argument("[range]", "A..B, A.. or ..B (default: all)")
    .option(...ledgerOption)
    .option("--stream <name>", "only events of this stream", checked("--stream", parseStream))
    .option("--kind <kind>", "only events of streams of this kind", checked("--kind", parseArea))
    .option("--type <type>", "only events of this type", checked("--type", parseType))
    .option("--actor <name>", "only events by this actor", checked("--actor", parseLabel))
    .option("--since <time>", "only events at this time or later", moment("--since"))
    .option("--until <time>", "only events at this time or earlier", moment("--until"))
    .option("--limit <count>", "at most so many events", wholeNumber("--limit", 1, Number.MAX_SAFE_INTEGER))
    .option("--reverse", "newest first")
    .option("--oneline", "one line an event")
    .option(...defineOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (range: string | undefined, options: LogOptions) => {
      const parsed = range === undefined ? { from: null, to: null } : parseRange(range);
      const { events } = await loadDefinitions(options, line.env);
      await withLedger(
        line.terminal,
        ledgerFile(options.ledger, line.env),
        (ledger) => log(line, ledger, parsed, options),
        { events },
      );
    });
}

async function log(
  { terminal }: CommandLine,
  ledger: Ledger,
  range: SelectorRange,
  options: LogOptions,
): Promise<void> {
  const positions = await Positions.of(ledger);
  const bounds = await boundsOf(positions, range, options);
  const digits = String(positions.size - 1).length;
  let shown = 0;
  for await (const event of eventsOf(ledger, bounds, options)) {
    await putEvent(event, terminal, options, digits);
    if (++shown === options.limit) break;
  }
  await terminal.flush();
  if (shown > 0) return;
  if (options.stream !== undefined && (await isMissing(ledger, options.stream)))
    throw await missingStream(ledger, options.stream);
  await terminal.say("no event is in this range and passes these filters");
}

interface Bounds {
  readonly first: number;
  readonly last: number;
}

/** Times never fall from one event to the next, so that a span of time is a range of positions. */
async function boundsOf(positions: Positions, range: SelectorRange, { since, until }: LogOptions): Promise<Bounds> {
  const { first, last } = await positions.range(range);
  const earliest = since === undefined ? 0 : await positions.firstAfter(since - 1);
  const latest = until === undefined ? last : (await positions.firstAfter(until)) - 1;
  return { first: Math.max(first, earliest), last: Math.min(last, latest) };
}

async function* eventsOf(
  ledger: Ledger,
  { first, last }: Bounds,
  options: LogOptions,
): AsyncGenerator<LedgerEvent, void, undefined> {
  if (first > last) return;
  const { stream, kind, type, actor } = options;
  const backward = options.reverse === true;
  const direction = backward ? "backward" : "forward";
  const reading =
    stream === undefined
      ? ledger.read({
          from: backward ? last : first,
          direction,
          ...(kind === undefined ? {} : { kinds: [kind] }),
          ...(type === undefined ? {} : { types: [type] }),
        })
      : ledger.readStream(stream, { direction });
  for await (const event of reading) {
    if (backward ? event.position < first : event.position > last) return;
    if (backward ? event.position > last : event.position < first) continue;
    if (kind !== undefined && !event.stream.startsWith(`${kind}/`)) continue;
    if (type !== undefined && event.type !== type) continue;
    if (actor !== undefined && event.actor !== actor) continue;
    yield event;
  }
}

async function isMissing(ledger: Ledger, stream: string): Promise<boolean> {
  return (await ledger.readStream(stream, { limit: 1 }).toArray()).length === 0;
}
