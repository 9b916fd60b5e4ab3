/** `runledger status`: how a ledger is, without checking it. */
import type { Command } from "commander";
import type { ConsumerStatus, LedgerStatus, ProjectionStatus } from "../../index.js";
import { jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeText } from "../escape.js";
import { grouped, isoTime, sayDuration } from "../figures.js";
import { ledgerFile, withLedger } from "../open.js";

const moreHelp = `
It tells how the ledger is; whether it is intact, \`runledger verify\` tells.

Example:
  runledger status --ledger audit.ledger --json | jq .head.position`;

export function addStatus(program: Command, line: CommandLine): void {
  program
    .command("status")
    .description("tell how a ledger is")
    .option(...ledgerOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action(async (options: CommonOptions) => {
      const status = await withLedger(line.terminal, ledgerFile(options.ledger, line.env), (ledger) => ledger.status());
      if (options.json) await line.terminal.json(status);
      else
        for (const [name, value] of describe(status))
          await line.terminal.line(`${line.terminal.style("dim", name.padEnd(10))}  ${value}`);
    });
}

function describe(status: LedgerStatus): (readonly [string, string])[] {
  const { head, store } = status;
  return [
    ["ledger", escapeText(status.location)],
    ["origin", escapeText(status.origin)],
    ["format", `${status.format}, incarnation ${status.incarnation}`],
    ["events", `${grouped(status.size)}, the last is #${head.position}`],
    ["head", `${head.id} at ${isoTime(head.at)}`],
    ["contents", grouped(status.contents)],
    [
      "clock",
      status.clockAheadMs === 0 ? "not ahead of its clock" : `${sayDuration(status.clockAheadMs)} ahead of its clock`,
    ],
    ["store", `${store.kind}; what is acknowledged survives ${store.durability}`],
    ...walOf(store.wal),
    ...(store.scrubOwed
      ? [["erased", "bytes of erased contents may still stand in its files; the next writer takes them out"] as const]
      : []),
    ...status.consumers.map((consumer) => ["consumer", consumerLine(consumer)] as const),
    ...status.projections
      .filter(({ position, error }) => position >= 0 || error !== null)
      .map((projection) => ["projection", projectionLine(projection)] as const),
  ];
}

function consumerLine({ name, position, lag, holder, expiresAt }: ConsumerStatus): string {
  const place = position < 0 ? "before the first event" : `at #${position}`;
  const owner =
    holder === null || expiresAt === null ? "" : `, claimed by ${escapeText(holder)} until ${isoTime(expiresAt)}`;
  return `${escapeText(name)} ${place}, ${grouped(lag)} behind${owner}`;
}

function projectionLine({ name, version, position, behind, status, error }: ProjectionStatus): string {
  const place = position < 0 ? "before the first event" : `at #${position}`;
  return `${escapeText(name)}@${version} ${status}, ${place}, ${grouped(behind)} behind${error === null ? "" : `: ${escapeText(error.message)}`}`;
}

function walOf(wal: LedgerStatus["store"]["wal"]): (readonly [string, string])[] {
  if (wal === null) return [];
  const over = wal.overCap ? ", over its cap" : "";
  const blocked = wal.checkpointBlocked ? "; a reader holds its checkpoint back" : "";
  const failed = wal.lastError === null ? "" : `; its last checkpoint failed: ${escapeText(wal.lastError)}`;
  return [["log", `${grouped(wal.bytes)} bytes written ahead${over}${blocked}${failed}`]];
}
