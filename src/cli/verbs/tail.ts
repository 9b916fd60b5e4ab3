/** `runledger tail`: what happens, as it happens. Ends when it is interrupted. Writes only for a consumer. */
import type { Command } from "commander";
import { LedgerError, openLedger } from "../../index.js";
import type { Ledger, SubscribeOptions } from "../../index.js";
import { isFact, parseFilter } from "../../engine/event-filter.js";
import { parseArea, parseLabel, parseName, parseStream, parseType } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { defineOption, loadDefinitions } from "../definitions.js";
import type { DefineOptions } from "../definitions.js";
import { putEvent } from "../event-view.js";
import { UsageError } from "../exit.js";
import { exitCodeOfInterrupt, interruptibly } from "../interrupt.js";
import { ledgerFile, sayWhenCopied, whenThere } from "../open.js";
import { Positions } from "../resolve.js";
import { parseSelector } from "../selector.js";
import type { Selector } from "../selector.js";

interface TailOptions extends CommonOptions, DefineOptions {
  readonly stream?: string;
  readonly kind?: string;
  readonly type?: string;
  readonly actor?: string;
  readonly from?: Selector;
  readonly consumer?: string;
  readonly reset?: true;
  readonly lines?: number;
  readonly oneline?: true;
}

const linesDefault = 10;

const moreHelp = `
Shows the last events, then each one as it is appended, by any process, until it is interrupted and ends with 130 (143 when
asked to terminate). The journal's own events, receipts and refusals are shown when --stream, --kind or --type asks for them.

With --consumer it goes on where the consumer of that name was: what it was shown and asked to go on from does not come
again, what was shown last before it ended may. A new consumer begins at --from, or at the start; with --reset a known one
does, which is how one that is FENCED goes on. One at a time.

Examples:
  runledger tail --kind run
  runledger tail -n 0 --json | jq -r .type
  runledger tail --consumer mailer --type order.placed --json | ./send-mail`;

export function addTail(program: Command, line: CommandLine): void {
  program
    .command("tail")
    .description("show events as they happen")
    .option(...ledgerOption)
    .option("--stream <name>", "only events of this stream", checked("--stream", parseStream))
    .option("--kind <kind>", "only events of streams of this kind", checked("--kind", parseArea))
    .option("--type <type>", "only events of this type", checked("--type", parseType))
    .option("--actor <name>", "only events by this actor", checked("--actor", parseLabel))
    .option(
      "-n, --lines <count>",
      `so many of the last events first (default: ${linesDefault})`,
      wholeNumber("--lines", 0, 1_000_000),
    )
    .option("--from <selector>", "begin with this event instead", parseSelector)
    .option("--consumer <name>", "go on where this consumer was; writes", checked("--consumer", parseName))
    .option("--reset", "let the consumer begin anew, at --from or at the start")
    .option("--oneline", "one line an event")
    .option(...defineOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (options: TailOptions) => tail(line, options));
}

async function tail(line: CommandLine, options: TailOptions): Promise<void> {
  const { consumer, lines } = options;
  if (lines !== undefined && (options.from !== undefined || consumer !== undefined))
    throw new UsageError("--lines must stand without --from and --consumer, which say where to begin");
  if (options.reset && consumer === undefined) throw new UsageError("--reset must stand with --consumer");
  const { events } = await loadDefinitions(options, line.env);
  line.writes = consumer !== undefined;
  await interruptibly(async (state) => {
    try {
      const file = ledgerFile(options.ledger, line.env);
      const mode = consumer === undefined ? { readOnly: true } : { create: false };
      const ledger = await whenThere(openLedger(file, { events, ...mode }));
      try {
        await sayWhenCopied(line.terminal, file, ledger);
        await follow(line, ledger, options, state.signal);
      } finally {
        await ledger.close();
      }
    } catch (error) {
      if (state.interrupt === null || !(error instanceof LedgerError) || error.code !== "ABORTED") throw error;
      line.exitCode = exitCodeOfInterrupt(state.interrupt);
    }
  });
}

async function follow(
  { terminal }: CommandLine,
  ledger: Ledger,
  options: TailOptions,
  signal: AbortSignal,
): Promise<void> {
  const { stream, kind, type, actor, consumer } = options;
  const filters = {
    ...(stream === undefined ? {} : { streams: [stream] }),
    ...(kind === undefined ? {} : { kinds: [kind] }),
    ...(type === undefined ? {} : { types: [type] }),
  };
  const positions = await Positions.of(ledger);
  const digits = String(positions.size - 1).length;
  const from = await startOf(ledger, positions, options, filters);
  const named = consumer === undefined ? {} : { consumer, reset: options.reset ?? false };
  for await (const { entries } of ledger.subscribe({ ...filters, ...named, from, signal })) {
    for (const event of entries) {
      if (actor !== undefined && event.actor !== actor) continue;
      await putEvent(event, terminal, options, digits);
      await terminal.flush();
    }
  }
}

type Filters = Pick<SubscribeOptions, "streams" | "kinds" | "types">;

/** Where to begin: where it is told, at the start for a new consumer, or so many events before the end. */
async function startOf(
  ledger: Ledger,
  positions: Positions,
  { from, consumer, lines = linesDefault, actor, stream }: TailOptions,
  filters: Filters,
): Promise<number> {
  if (from !== undefined) return positions.find(from);
  if (consumer !== undefined) return 0;
  if (lines === 0) return positions.size;
  const isShown = parseFilter(filters) ?? isFact;
  const lastFirst =
    stream === undefined
      ? ledger.read({ ...filters, direction: "backward" })
      : ledger.readStream(stream, { direction: "backward" });
  let start = positions.size;
  let left = lines;
  for await (const event of lastFirst) {
    if (!isShown(event) || (actor !== undefined && event.actor !== actor)) continue;
    start = event.position;
    if (--left === 0) break;
  }
  return start;
}
