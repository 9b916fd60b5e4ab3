/** `runledger run`: what became of one run. */
import type { Command } from "commander";
import type { Attempt } from "../../../projections/attempt.js";
import type { SessionCapture } from "../../../projections/session-capture.js";
import { parseRunId } from "../../kernel/names.js";
import { checked, jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { Columns } from "../columns.js";
import { escapeSentence, escapeText } from "../escape.js";
import { grouped, isoTime, sayDuration } from "../figures.js";
import type { Holder } from "../holders.js";
import { ledgerFile, withLedger } from "../open.js";
import { readRunHistory } from "../run-history.js";
import type { RunHistory } from "../run-history.js";
import { durationOf, sayExit, sayOwner } from "../run-view.js";
import { shellWord } from "../shell-words.js";
import type { Terminal } from "../terminal.js";

const moreHelp = `
It tells how the run stands and who owns it, who held it under which generation and until when, its attempts, what was
captured of them, and the timeline: what happened, in the order of the journal, with what was refused to holders that had lost
their claim. Of a run of exec it tells the command, unless that was erased. BYTES are those of the records, without the ends of
lines. Renewals of a claim are counted and not listed. Times are UTC, in JSON ms since 1970.
It ends with 3 when the ledger does not know the run.

Examples:
  runledger run nightly-2026-03-01
  runledger run nightly-2026-03-01 --json | jq -r '.attempts[] | [.attempt, .status] | @tsv'`;

export function addRun(program: Command, line: CommandLine): void {
  program
    .command("run")
    .description("tell what became of a run: attempts, holders, refusals, captures, and the timeline")
    .argument("<run>", "its id, as `runledger runs` lists it", checked("the run", parseRunId))
    .option(...ledgerOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (runId: string, options: CommonOptions) => {
      const { terminal, env } = line;
      await withLedger(terminal, ledgerFile(options.ledger, env), async (ledger) => {
        const history = await readRunHistory(ledger, runId);
        if (options.json) await terminal.json(historyObject(runId, history));
        else await show(terminal, runId, history);
      });
    });
}

function historyObject(runId: string, history: RunHistory): object {
  const { run, command, item, owner, holders, attempts, captures, timeline } = history;
  return {
    run: runId,
    status: run?.status ?? null,
    title: run?.title ?? null,
    definition: run?.definition ?? null,
    command: command?.command ?? null,
    folder: command?.cwd ?? null,
    parent: run?.parent ?? null,
    revision: run?.revision ?? null,
    createdAt: run?.createdAt ?? null,
    startedAt: run?.startedAt ?? null,
    finishedAt: run?.finishedAt ?? null,
    durationMs: run === null ? null : durationOf(run),
    exit: run?.exit ?? null,
    reason: run?.reason ?? null,
    cancel: run?.cancel ?? null,
    owner,
    queue: item === null ? null : queueObject(item),
    holders,
    attempts: attempts.map(attemptObject),
    captures: captures.map(captureObject),
    timeline,
  };
}

function queueObject({
  status,
  availableAt,
  reclaims,
  reclaimsMax,
  failures,
}: NonNullable<RunHistory["item"]>): object {
  return { status, availableAt, reclaims, reclaimsMax, failures };
}

function attemptObject(each: Attempt): object {
  const { attemptId: attempt, node, number, status, generation, process, startedAt, finishedAt, durationMs } = each;
  const { exit, reason } = each;
  return { attempt, node, number, status, generation, process, startedAt, finishedAt, durationMs, exit, reason };
}

function captureObject(each: SessionCapture): object {
  const { attemptId: attempt, status, events: records, bytes, startedAt, finishedAt, failure, open } = each;
  return { attempt: attempt === "" ? null : attempt, status, records, bytes, startedAt, finishedAt, failure, open };
}

async function show(terminal: Terminal, runId: string, history: RunHistory): Promise<void> {
  for (const [name, value] of fieldsOf(runId, history))
    await terminal.line(`${terminal.style("dim", name.padEnd(10))}  ${value}`);
  const { holders, attempts, captures, timeline } = history;
  await table(terminal, ["HOLDER", "GENERATION", "FROM", "TO", "ENDED BY"], holders.map(holderCells));
  await table(
    terminal,
    ["ATTEMPT", "STATUS", "GENERATION", "STARTED", "DURATION", "EXIT", "REASON"],
    attempts.map(attemptCells),
  );
  await table(terminal, ["CAPTURE OF", "STATUS", "RECORDS", "BYTES", "REASON"], captures.map(captureCells));
  await table(
    terminal,
    ["POSITION", "TIME", "WHAT HAPPENED"],
    timeline.map(({ position, at, says }) => [`#${position}`, isoTime(at), says]),
  );
}

async function table(
  terminal: Terminal,
  headings: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<void> {
  if (rows.length === 0) return;
  await terminal.line("");
  await new Columns(terminal, headings).put(rows);
}

function fieldsOf(runId: string, { run, command, item, owner }: RunHistory): readonly (readonly [string, string])[] {
  const fields: (readonly [string, string | null])[] = [
    ["run", escapeText(runId)],
    ["status", run === null ? `not created; on the queue as ${item?.status}` : run.status],
    ["title", run?.title == null ? null : escapeText(run.title)],
    ["definition", run?.definition == null ? null : escapeText(run.definition.name)],
    ["command", command === null ? null : escapeSentence(command.command.map(shellWord).join(" "))],
    ["folder", command === null ? null : escapeText(command.cwd)],
    ["parent", run?.parent == null ? null : escapeText(run.parent)],
    ["created", run === null ? null : isoTime(run.createdAt)],
    ["started", run?.startedAt == null ? null : isoTime(run.startedAt)],
    ["finished", run?.finishedAt == null ? null : isoTime(run.finishedAt)],
    ["duration", run === null ? null : sayDurationOrNull(durationOf(run))],
    ["exit", sayExit(run?.exit)],
    ["reason", run?.reason == null ? null : escapeText(run.reason)],
    ["cancel", run?.cancel == null ? null : `asked for at ${isoTime(run.cancel.at)}: ${escapeText(run.cancel.reason)}`],
    ["owner", run === null && owner === null ? null : sayOwner(run?.status ?? null, owner)],
  ];
  return fields.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function sayDurationOrNull(ms: number | null): string | null {
  return ms === null ? null : sayDuration(ms);
}

function holderCells({ holder, generation, from, to, expiresAt, end, takenOver }: Holder): readonly string[] {
  const ended = end === "lease" ? `its lease${takenOver ? ", and it was taken over" : ""}` : (end ?? "-");
  const until = to === null ? `lease until ${isoTime(expiresAt)}` : isoTime(to);
  return [escapeText(holder), String(generation), isoTime(from), until, ended];
}

function attemptCells(each: Attempt): readonly string[] {
  const { attemptId, status, generation, startedAt, durationMs, exit, reason } = each;
  return [
    escapeText(attemptId),
    status,
    generation === null ? "-" : String(generation),
    isoTime(startedAt),
    sayDurationOrNull(durationMs) ?? "-",
    sayExit(exit) ?? "-",
    reason === null ? "-" : escapeText(reason),
  ];
}

function captureCells({ attemptId, status, events, bytes, failure, open }: SessionCapture): readonly string[] {
  const why = failure === null ? "-" : `${escapeText(failure.code)}: ${escapeText(failure.message)}`;
  return [
    attemptId === "" ? "(run)" : escapeText(attemptId),
    status,
    grouped(events),
    grouped(bytes),
    open ? "its output was still held open" : why,
  ];
}
