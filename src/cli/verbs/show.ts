/** `runledger show`: one event with everything that is known of it. */
import type { Command } from "commander";
import { LedgerError } from "../../index.js";
import type { Ledger, LedgerEvent } from "../../index.js";
import { jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { defineOption, loadDefinitions } from "../definitions.js";
import type { DefineOptions } from "../definitions.js";
import { escapeJson, escapeText } from "../escape.js";
import { lookAtContent, namedContents } from "../event-contents.js";
import type { ContentObject } from "../event-contents.js";
import { eventObject, idDigitsShown } from "../event-view.js";
import { counted, grouped, isoTime } from "../figures.js";
import { ledgerFile, withLedger } from "../open.js";
import { Positions } from "../resolve.js";
import { parseSelector } from "../selector.js";
import type { Terminal } from "../terminal.js";

const moreHelp = `
Examples:
  runledger show @
  runledger show run/r17@9 --json | jq .contents`;

export function addShow(program: Command, line: CommandLine): void {
  program
    .command("show")
    .description("show one event with its data and contents")
    .argument("<selector>", "which event; see runledger --help")
    .option(...ledgerOption)
    .option(...defineOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (selector: string, options: CommonOptions & DefineOptions) => {
      const parsed = parseSelector(selector);
      const { events } = await loadDefinitions(options, line.env);
      const file = ledgerFile(options.ledger, line.env);
      const show = async (ledger: Ledger): Promise<void> => {
        const view = await look(ledger, await (await Positions.of(ledger)).event(parsed));
        if (options.json)
          await line.terminal.json({
            ...eventObject(view.event),
            contents: view.contents,
            previous: mark(view.previous),
            next: mark(view.next),
            checkpoint: view.checkpoint,
          });
        else for (const text of describe(view, line.terminal)) await line.terminal.line(text);
      };
      await withLedger(line.terminal, file, show, { events });
    });
}

interface EventView {
  readonly event: LedgerEvent;
  readonly contents: readonly ContentObject[];
  /** Its neighbours in its stream. */
  readonly previous: LedgerEvent | null;
  readonly next: LedgerEvent | null;
  readonly checkpoint: CheckpointObject;
}

/** What the ledger's largest stored checkpoint is to an event. */
interface CheckpointObject {
  readonly state: "covers" | "none" | "damaged";
  readonly size: number | null;
  readonly signed: boolean | null;
}

async function look(ledger: Ledger, event: LedgerEvent): Promise<EventView> {
  const contents: ContentObject[] = [];
  for (const named of namedContents(event.data)) contents.push(await lookAtContent(ledger, named));
  return {
    event,
    contents,
    previous: await neighbour(ledger, event, -1),
    next: await neighbour(ledger, event, 1),
    checkpoint: await lookAtCheckpoint(ledger, event.position),
  };
}

async function lookAtCheckpoint(ledger: Ledger, position: number): Promise<CheckpointObject> {
  try {
    const [latest] = await ledger.checkpoints({ limit: 1 });
    if (latest === undefined || latest.size <= position) return { state: "none", size: null, signed: null };
    return { state: "covers", size: latest.size, signed: latest.signed };
  } catch (error) {
    // It is no reason not to show the event.
    if (error instanceof LedgerError && error.code === "STORE_DAMAGED")
      return { state: "damaged", size: null, signed: null };
    throw error;
  }
}

async function neighbour(ledger: Ledger, { stream, revision }: LedgerEvent, step: number): Promise<LedgerEvent | null> {
  if (revision + step < 1) return null;
  const [found] = await ledger.readStream(stream, { from: revision + step, limit: 1 }).toArray();
  return found ?? null;
}

function mark(event: LedgerEvent | null): { readonly position: number; readonly id: string } | null {
  return event === null ? null : { position: event.position, id: event.id };
}

function describe({ event, contents, previous, next, checkpoint }: EventView, terminal: Terminal): string[] {
  const { tx, meta, fence } = event;
  const fields: (readonly [string, string | undefined])[] = [
    ["event", terminal.style("bold", `#${event.position}`)],
    ["id", terminal.style("yellow", event.id)],
    ["stream", terminal.style("cyan", `${escapeText(event.stream)}@${event.revision}`)],
    ["type", `${event.type}, version ${event.version}`],
    ["at", isoTime(event.at)],
    ["actor", optional(event.actor)],
    ["tx", `#${tx.first}..#${tx.first + tx.count - 1} (${counted(tx.count, "event")})`],
    ["command", optional(event.command)],
    ["cause", event.cause],
    ["correlation", optional(event.correlation)],
    ["fence", fence && `${escapeText(fence[0])}, incarnation ${fence[1]}, generation ${fence[2]}`],
    ["meta", meta && escapeJson(JSON.stringify(meta))],
    ["previous", neighbourLine(previous)],
    ["next", neighbourLine(next)],
    ["checkpoint", checkpointLine(checkpoint)],
    ...contents.map((content): readonly [string, string] => ["content", contentLine(content)]),
  ];
  const lines = fields.flatMap(([name, value]) =>
    value === undefined ? [] : [`${terminal.style("dim", name.padEnd(11))}  ${value}`],
  );
  return [...lines, terminal.style("dim", "data"), ...escapeJson(JSON.stringify(event.data, null, 2)).split("\n")];
}

function optional(value: string | undefined): string | undefined {
  return value === undefined ? undefined : escapeText(value);
}

function neighbourLine(event: LedgerEvent | null): string {
  return event === null
    ? "none in its stream"
    : `#${event.position}  ${event.id.slice(0, idDigitsShown)}  ${event.type}`;
}

function checkpointLine({ state, size, signed }: CheckpointObject): string {
  if (state === "damaged") return "the largest one that is stored cannot be read; `runledger verify` tells more";
  if (state === "none") return "none that is stored covers it";
  return `covered by the stored one of ${counted(size ?? 0, "event")}, ${signed ? "signed" : "unsigned"}`;
}

function contentLine({ pointer, n, bytes, state, media, excerpt, erasedBy }: ContentObject): string {
  const what = state === "erased" ? `erased by #${erasedBy}` : state;
  const size = bytes === 1 ? "1 byte" : `${grouped(bytes)} bytes`;
  return [escapeText(pointer), `number ${n}`, media, size, what, excerpt].filter((part) => part !== null).join("  ");
}
