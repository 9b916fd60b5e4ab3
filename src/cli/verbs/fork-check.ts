/** `runledger fork-check`: are two ledgers one journal, or did one become two? Reads stored rows and writes nothing. */
import { open } from "node:fs/promises";
import type { Command } from "commander";
import { forkCheck } from "../../forensic/index.js";
import type { ForkReport, ForkSide } from "../../forensic/index.js";
import { jsonOption } from "../arguments.js";
import type { CommandLine } from "../arguments.js";
import { escapeSentence, escapeText } from "../escape.js";
import { grouped } from "../figures.js";
import { withRawReader } from "../open.js";
import { collect, readVerifierKeys } from "../outside.js";
import { readSmallFile } from "../small-file.js";
import type { Terminal } from "../terminal.js";

interface ForkCheckOptions {
  readonly key?: readonly string[];
  readonly json?: true;
}

const moreHelp = `
It names the last event that both have. When they go on differently, and both keep checkpoints of one size that are signed by
one key, it prints the two: they prove to anybody who has the key (--key) that its holder vouched for two histories.

It ends with 0 when they are the same or the one is where the other begins, 1 when one journal became two, and 3 when they are
two journals or it cannot be decided. A ledger that was restored on purpose (\`journal.restored\`) is a fork as well.

Examples:
  runledger fork-check audit.ledger copy-of-march.ledger --key audit.vkey
  runledger fork-check audit.ledger monday.checkpoint`;

export function addForkCheck(program: Command, line: CommandLine): void {
  program
    .command("fork-check")
    .description("tell where two copies of a ledger part")
    .argument("<a>", "a ledger")
    .argument("<b>", "another, or a checkpoint of another")
    .option("--key <key>", "a verifier key that is trusted, or a file that holds it; may be repeated", collect)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((a: string, b: string, options: ForkCheckOptions) => check(line, a, b, options));
}

async function check(line: CommandLine, a: string, b: string, options: ForkCheckOptions): Promise<void> {
  const { terminal } = line;
  const keys = await readVerifierKeys(options.key, terminal.stdin);
  const report = await withRawReader(terminal, a, async (reader) => {
    if (!(await isDatabase(b)))
      return forkCheck(reader, (await readSmallFile(b, terminal.stdin)).toString("utf8"), { keys });
    return withRawReader(terminal, b, (other) => forkCheck(reader, other, { keys }));
  });
  if (options.json) await terminal.json(report);
  else for (const text of describe(report, terminal)) await terminal.line(text);
  line.exitCode = report.exitCode;
}

/** What is not there, or cannot be read, is left to whoever opens a ledger to say so. */
async function isDatabase(path: string): Promise<boolean> {
  const magic = "SQLite format 3\0";
  try {
    const file = await open(path);
    try {
      const { buffer } = await file.read(Buffer.alloc(magic.length), 0, magic.length, 0);
      return buffer.toString("latin1") === magic;
    } finally {
      await file.close();
    }
  } catch {
    return true;
  }
}

function describe(report: ForkReport, terminal: Terminal): string[] {
  const { a, b, common, reason, verdict, equivocation } = report;
  const label = (text: string): string => terminal.style("bold", text.padEnd(10));
  const lines = [
    label("a") + side(a),
    label("b") + side(b),
    label("common") + (common === null ? "not known" : `#${common.position} ${common.id}`),
  ];
  if (equivocation !== null) {
    const { size, signers, verified } = equivocation;
    const by = `${escapeSentence(signers)}${verified ? "" : " (not verified: no key was given)"}`;
    lines.push(
      `${label("proof")}two checkpoints of ${grouped(size)} events with different roots, both signed by ${by}`,
    );
    for (const note of [equivocation.a, equivocation.b])
      lines.push(
        "",
        ...note
          .trimEnd()
          .split("\n")
          .map((text) => escapeText(text)),
      );
    lines.push("");
  }
  return [...lines, `${label("verdict")}${verdict}: ${escapeSentence(reason)}`];
}

function side({ location, origin, size, head, root }: ForkSide): string {
  return [
    origin === null ? "an unknown journal" : escapeText(origin),
    `${grouped(size)} events`,
    head === null ? `root ${root}` : `head ${head}`,
    location === null ? "a checkpoint" : escapeText(location),
  ].join("   ");
}
