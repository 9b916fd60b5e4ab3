/** `runledger runs`: the runs, and who works on them. */
import type { Command } from "commander";
import { isFinal, runStatuses } from "../../../projections/run.js";
import type { RunStatus } from "../../../projections/run.js";
import type { RunEntry } from "../../index.js";
import { listLimitDefault } from "../../kernel/limits.js";
import { jsonOption, ledgerOption, limitOption, oneOf } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { Columns, pagesOf } from "../columns.js";
import { escapeText } from "../escape.js";
import { cutText } from "../event-view.js";
import { isoTime, sayDuration } from "../figures.js";
import { ledgerFile, withLedger } from "../open.js";
import { listRuns } from "../run-list.js";
import { durationOf, sayExit } from "../run-view.js";

interface RunsOptions extends CommonOptions {
  readonly status?: RunStatus;
  readonly limit?: number;
}

const titleUnitsShown = 60;

const moreHelp = `
The newest runs come first. STATUS is one of ${runStatuses.join(", ")}.
A run that is not over has an owner while the lease of its claim lasts; one that is running and has none was left by its worker,
and is taken over by whoever claims it next. Times are UTC, in JSON ms since 1970.

Examples:
  runledger runs --status failed --limit 20
  runledger runs --json | jq -r 'select(.status == "running" and .owner == null) | .run'`;

export function addRuns(program: Command, line: CommandLine): void {
  program
    .command("runs")
    .description("list the runs and who works on them")
    .option(...ledgerOption)
    .option("--status <status>", "only runs of this status", oneOf("--status", runStatuses))
    .option(...limitOption("runs"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((options: RunsOptions) => list(line, options));
}

async function list({ terminal, env }: CommandLine, options: RunsOptions): Promise<void> {
  const { status, json, limit = listLimitDefault } = options;
  await withLedger(terminal, ledgerFile(options.ledger, env), async (ledger) => {
    const columns = new Columns(terminal, [
      "RUN",
      "STATUS",
      "OWNER",
      "ATTEMPTS",
      "STARTED",
      "DURATION",
      "EXIT",
      "TITLE",
    ]);
    let shown = 0;
    for await (const page of pagesOf(listRuns(ledger, status, limit + 1))) {
      const runs = page.slice(0, limit - shown);
      shown += page.length;
      if (json) for (const run of runs) await terminal.json(runObject(run));
      else await columns.put(runs.map(cellsOf));
    }
    await terminal.flush();
    if (shown > limit) await terminal.say(`there are more; --limit shows more than ${limit}`);
    if (shown === 0)
      await terminal.say(status === undefined ? "the ledger has no runs" : `the ledger has no ${status} runs`);
  });
}

/** A run as JSON shows it. Times are ms since the epoch. */
function runObject(run: RunEntry): object {
  return {
    run: run.runId,
    status: run.status,
    owner: run.owner,
    attempts: run.attempts,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    durationMs: durationOf(run),
    exit: run.exit,
    reason: run.reason,
    title: run.title,
    definition: run.definition,
    parent: run.parent,
    revision: run.revision,
  };
}

function cellsOf(run: RunEntry): readonly string[] {
  const { runId, status, owner, attempts, startedAt, title } = run;
  const duration = durationOf(run);
  return [
    escapeText(runId),
    status,
    owner !== null ? escapeText(owner.holder) : isFinal(status) ? "-" : "no owner",
    String(attempts),
    startedAt === null ? "-" : isoTime(startedAt),
    duration === null ? "-" : sayDuration(duration),
    sayExit(run.exit) ?? "-",
    title === null ? "-" : cutText(title, titleUnitsShown, escapeText),
  ];
}
