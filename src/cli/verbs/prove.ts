/** `runledger prove`: the proof that an event is in the journal, for somebody who does not have the ledger. */
import type { Command } from "commander";
import { hexOf } from "../../kernel/digest.js";
import { jsonOption, ledgerOption, wholeNumber } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { ledgerFile, withLedger } from "../open.js";
import { Positions } from "../resolve.js";
import { parseSelector } from "../selector.js";

interface ProveVerbOptions extends CommonOptions {
  readonly size?: number;
}

const moreHelp = `
It prints a C2SP tlog-proof@v1. It leads to the largest checkpoint that the ledger keeps, when that covers the event, and
carries it with its signatures; else to all events, unsigned. It does not hold the event: send that along.

Example:
  runledger checkpoint --store --key ~/.keys/audit.key
  runledger prove order/7@2 > order.tlog-proof
  runledger cat order/7@2 > order.entry
  runledger check-proof order.tlog-proof --entry order.entry --key audit.vkey`;

export function addProve(program: Command, line: CommandLine): void {
  program
    .command("prove")
    .description("prove that an event is in the journal")
    .argument("<selector>", "which event; see runledger --help")
    .option(...ledgerOption)
    .option("--size <n>", "in the tree of the first n events", wholeNumber("--size", 1, Number.MAX_SAFE_INTEGER))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((selector: string, options: ProveVerbOptions) => prove(line, selector, options));
}

async function prove({ terminal, env }: CommandLine, selector: string, options: ProveVerbOptions): Promise<void> {
  const parsed = parseSelector(selector);
  await withLedger(terminal, ledgerFile(options.ledger, env), async (ledger) => {
    const position = await (await Positions.of(ledger)).find(parsed);
    const made = await ledger.prove(position, options.size === undefined ? {} : { size: options.size });
    const { leafHash, size, root, proof, checkpoint, text } = made;
    if (!options.json) return terminal.bytes(Buffer.from(text));
    const hashes = proof.map(hexOf);
    return terminal.json({ position, id: hexOf(leafHash), size, root: hexOf(root), proof: hashes, checkpoint, text });
  });
}
