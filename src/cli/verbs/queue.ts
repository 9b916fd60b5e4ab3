/** `runledger queue`: what waits for a worker, is worked on, or was. */
import type { Command } from "commander";
import { queue } from "../../../projections/queue.js";
import type { QueueItem } from "../../../projections/queue.js";
import { queueStatuses } from "../../api/queue.js";
import type { QueueEntry, RunOwner } from "../../index.js";
import { listLimitDefault, reclaimsMaxMax } from "../../kernel/limits.js";
import { jsonOption, ledgerOption, limitOption, oneOf } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { Columns, pagesOf } from "../columns.js";
import { escapeText } from "../escape.js";
import { isoTime } from "../figures.js";
import { ledgerFile, withLedger } from "../open.js";
import { nowOf, ownerOf } from "../owner.js";
import { foundDocuments, readsOf } from "../read-documents.js";

interface QueueOptions extends CommonOptions {
  readonly status?: QueueEntry["status"];
  readonly limit?: number;
}

const moreHelp = `
The oldest items come first. STATUS is one of ${queueStatuses.join(", ")}.
An item has an owner while the lease of its claim lasts; one that is claimed and has no owner is taken over by the next worker
that asks. RECLAIMS says how often that happened, and how often it may before the item is dead, where there is a limit;
FAILURES how often a try was given back as failed. What left the queue by release is not listed. Times are UTC, in JSON ms
since 1970.

Examples:
  runledger queue --status dead
  runledger queue --json | jq -r 'select(.status == "claimed" and .owner == null) | .run'`;

export function addQueue(program: Command, line: CommandLine): void {
  program
    .command("queue")
    .description("list the items of the run queue")
    .option(...ledgerOption)
    .option("--status <status>", "only items of this status", oneOf("--status", queueStatuses))
    .option(...limitOption("items"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((options: QueueOptions) => list(line, options));
}

/** An item as JSON shows it. Times are ms since the epoch. */
interface ItemObject {
  readonly run: string;
  readonly status: QueueItem["status"];
  /** Who has a live claim now. */
  readonly owner: RunOwner | null;
  /** That of the last claim; 0 before the first. */
  readonly generation: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Null: it does not wait, or nobody gets it before somebody asks for it. */
  readonly availableAt: number | null;
  readonly priority: number;
  readonly affinity: string | null;
  readonly parent: string | null;
  readonly reclaims: number;
  readonly reclaimsMax: number;
  readonly failures: number;
  readonly cancel: { readonly at: number; readonly reason: string } | null;
  readonly reason: string | null;
}

async function list({ terminal, env }: CommandLine, options: QueueOptions): Promise<void> {
  const { status, json, limit = listLimitDefault } = options;
  await withLedger(terminal, ledgerFile(options.ledger, env), async (ledger) => {
    const { reader } = await readsOf(ledger, queue);
    const now = await nowOf(ledger);
    const query = status === undefined ? { index: "created" } : { index: "status", prefix: [status] };
    const columns = new Columns(terminal, [
      "RUN",
      "STATUS",
      "OWNER",
      "LEASE ENDS",
      "AVAILABLE",
      "RECLAIMS",
      "FAILURES",
    ]);
    let shown = 0;
    for await (const page of pagesOf(foundDocuments(reader, query, limit + 1))) {
      const items = page.slice(0, limit - shown).map(({ document }) => document);
      shown += page.length;
      if (json) for (const item of items) await terminal.json(itemObject(item, now));
      else await columns.put(items.map((item) => cellsOf(item, now)));
    }
    await terminal.flush();
    if (shown > limit) await terminal.say(`there are more; --limit shows more than ${limit}`);
    if (shown === 0)
      await terminal.say(status === undefined ? "the run queue has no items" : `the run queue has no ${status} items`);
  });
}

function itemObject(item: QueueItem, now: number): ItemObject {
  return {
    run: item.runId,
    status: item.status,
    owner: ownerOf(item.claim, now),
    generation: item.generation,
    createdAt: item.createdAt,
    updatedAt: item.updatedAt,
    availableAt: item.availableAt,
    priority: item.priority,
    affinity: item.affinity,
    parent: item.parent,
    reclaims: item.reclaims,
    reclaimsMax: item.reclaimsMax,
    failures: item.failures,
    cancel: item.cancel,
    reason: item.reason,
  };
}

function cellsOf(item: QueueItem, now: number): readonly string[] {
  const { runId, status, claim, reclaims, reclaimsMax, failures } = item;
  const owner = ownerOf(claim, now);
  return [
    escapeText(runId),
    status,
    claim === null ? "-" : owner === null ? "no owner" : escapeText(owner.holder),
    claim === null ? "-" : isoTime(claim.expiresAt),
    availableCell(item),
    reclaimsMax === reclaimsMaxMax ? String(reclaims) : `${reclaims} of ${reclaimsMax}`,
    String(failures),
  ];
}

function availableCell({ status, availableAt }: QueueItem): string {
  if (availableAt !== null && status !== "claimed") return isoTime(availableAt);
  return status === "parked" ? "on request" : "-";
}
