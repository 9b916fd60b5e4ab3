/** `runledger check-proof`: what a proof shows. Needs no ledger. */
import type { Command } from "commander";
import { checkProof } from "../../forensic/index.js";
import type { ProofReport } from "../../forensic/index.js";
import { jsonOption } from "../arguments.js";
import type { CommandLine } from "../arguments.js";
import { escapeSentence, escapeText } from "../escape.js";
import { grouped } from "../figures.js";
import { once, readVerifierKey } from "../outside.js";
import { readSmallFile } from "../small-file.js";
import type { Style, Terminal } from "../terminal.js";

interface CheckProofOptions {
  readonly key?: string;
  readonly entry?: string;
  readonly from?: string;
  readonly json?: true;
}

const moreHelp = `
It takes what \`prove\` and \`consistency\` print, and says what they show of an event (--entry) or of a checkpoint that was
kept (--from), under the key of whoever signs for the journal (--key). Take the key from them, not from the ledger or from
whoever sent the proof.

It ends with 0 when all of it is shown, 1 when something is wrong, and 3 when something could not be checked because it was
not given. Under --key a proof that leads to an unsigned checkpoint is wrong: \`checkpoint --store\` before \`prove\` or
\`consistency\` makes one that is signed.

Examples:
  runledger check-proof order.tlog-proof --entry order.entry --key audit.vkey
  runledger check-proof audit.consistency --from audit.checkpoint --key example.com/audit+9baf461a+AQOhB7…`;

export function addCheckProof(program: Command, line: CommandLine): void {
  program
    .command("check-proof")
    .description("check a proof, without the ledger")
    .argument("<file>", "the proof; - is standard input")
    .option("--key <key>", "the verifier key that must have signed, or a file that holds it", once("--key"))
    .option("--entry <file>", "the event that is proved, as `cat` prints it")
    .option("--from <file>", "the checkpoint that was kept", once("--from"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((file: string, options: CheckProofOptions) => check(line, file, options));
}

async function check(line: CommandLine, file: string, options: CheckProofOptions): Promise<void> {
  const { terminal } = line;
  const read = (path: string): Promise<Buffer> => readSmallFile(path, terminal.stdin);
  const proof = await read(file);
  const report = checkProof(proof, {
    ...(options.key === undefined ? {} : { key: await readVerifierKey(options.key, terminal.stdin) }),
    ...(options.entry === undefined ? {} : { entry: await read(options.entry) }),
    ...(options.from === undefined ? {} : { from: await read(options.from) }),
  });
  if (options.json) await terminal.json(report);
  else for (const text of describe(report, terminal)) await terminal.line(text);
  line.exitCode = report.exitCode;
}

const styles: Readonly<Record<string, Style>> = { ok: "green", FAIL: "red", unchecked: "yellow" };

function describe({ position, from, checkpoint, checks, verdict }: ProofReport, terminal: Terminal): string[] {
  const { origin, size, root } = checkpoint;
  const claim =
    position === null
      ? `the journal of ${grouped(size)} events begins with that of ${grouped(from ?? 0)}`
      : `#${position} is in the journal of ${grouped(size)} events`;
  return [
    `proof      ${claim}`,
    `journal    ${escapeText(origin)}  root ${root}`,
    ...checks.map(
      ({ check: name, result, message }) =>
        `${terminal.style(styles[result] ?? "bold", result.padEnd(9))}  ${name.padEnd(11)}  ${escapeSentence(message)}`,
    ),
    `${terminal.style("bold", "verdict")}    ${verdict}`,
  ];
}
