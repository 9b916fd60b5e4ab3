/** `runledger copy`: the same journal at another place, of another kind too. Writes there, and nowhere else. */
import type { Command } from "commander";
import { copyLedger } from "../../index.js";
import { jsonOption, ledgerOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { escapeText } from "../escape.js";
import { grouped } from "../figures.js";
import { ledgerFile, whenThere } from "../open.js";

const moreHelp = `
Entries, contents, erasures and checkpoints are copied as they stand, all or nothing; documents are folded
again when the copy is opened. It is the same journal: stop whoever writes the old one, and go on in the
copy alone, or the two are forks. Refused (STORE_EXISTS) when there is a ledger already, and
(STORE_BUSY) when somebody wrote meanwhile: then there is no journal at the new place, and it can be copied there again.

Example:
  runledger copy postgres://ledger@db.example/work --ledger state.ledger
  runledger verify postgres://ledger@db.example/work --deep`;

export function addCopy(program: Command, line: CommandLine): void {
  program
    .command("copy")
    .description("copy a ledger to another place, from a file into PostgreSQL or back")
    .argument("<to>", "where to: a file that is not there yet, or an address (postgres://…)")
    .option(...ledgerOption)
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((to: string, options: CommonOptions) => copy(line, to, options));
}

async function copy(line: CommandLine, to: string, options: CommonOptions): Promise<void> {
  const { terminal, env } = line;
  line.writes = true;
  const { entries, contents, erased, head } = await whenThere(copyLedger(ledgerFile(options.ledger, env), to));
  if (options.json) return terminal.json({ entries, contents, erased, head });
  await terminal.line(
    `copied ${grouped(entries)} events and ${grouped(contents)} contents${erased === 0 ? "" : ` (${grouped(erased)} erased)`}: the head is #${head.position} ${escapeText(head.id)}`,
  );
  await terminal.say("note: write on in one of the two only");
}
