/** `runledger demo`: what a ledger of runs is good for, shown on real processes. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Command } from "commander";
import { LedgerError } from "../../index.js";
import type { CommandLine } from "../arguments.js";
import { playAll } from "../demo/acts.js";
import { writePrograms } from "../demo/programs.js";
import { ClaimBroken, Stage } from "../demo/stage.js";
import { mainFile } from "../demo/workers.js";
import { exitCodes } from "../exit.js";
import { sayDuration } from "../figures.js";
import { exitCodeOfInterrupt, interruptibly } from "../interrupt.js";

const moreHelp = `
In a new folder, without a network, it runs commands under \`runledger exec\`: it hashes and counts the files of this package, lets
one command fail and be tried again, stops a worker with SIGSTOP until another one has overtaken it, kills one with SIGKILL and
resumes its run, verifies the ledger, and changes one byte of a copy. What it claims it looks up in the ledger: it ends with 1
when something does not hold. Its processes are ended, its folder is kept.

Example:
  runledger demo`;

export function addDemo(program: Command, line: CommandLine): void {
  program
    .command("demo")
    .description("show exec, takeovers and verify on real processes, in a new folder")
    .addHelpText("after", moreHelp)
    .action(() => demo(line));
}

async function demo(line: CommandLine): Promise<void> {
  const began = performance.now();
  const { terminal } = line;
  await interruptibly(async (state) => {
    const stage = new Stage(newFolder(), terminal, state.signal);
    try {
      writePrograms(stage.folder);
      await terminal.line(`Real commands, stopped and killed workers, one ledger: ${stage.folder}`);
      const runId = await playAll(stage);
      await sayWhatNext(line, stage, runId, performance.now() - began);
    } catch (error) {
      await terminal.flush();
      if (state.interrupt !== null) line.exitCode = exitCodeOfInterrupt(state.interrupt);
      else if (error instanceof ClaimBroken) {
        line.exitCode = exitCodes.wrong;
        await terminal.say(`demo: ${error.message}`);
      } else throw error;
    } finally {
      await stage.end();
    }
  });
}

function newFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), "runledger-demo-"));
  } catch (cause) {
    const { code = "something else" } = cause as NodeJS.ErrnoException;
    throw new LedgerError("STORE_UNAVAILABLE", `${tmpdir()} must be a folder that can be written to, found ${code}`, {
      details: { folder: tmpdir() },
      hint: "$TMPDIR names another one",
      cause,
    });
  }
}

async function sayWhatNext({ terminal }: CommandLine, stage: Stage, runId: string, tookMs: number): Promise<void> {
  const started = process.argv[1] ?? "";
  const command = basename(started) === "runledger" ? "npx runledger" : `node ${mainFile}`;
  await terminal.line("");
  await terminal.line(`All ${stage.held} claims held, in ${sayDuration(tookMs)}.`);
  await terminal.line(`The ledger is ${stage.file}, and everything else is beside it.`);
  await terminal.line("");
  await terminal.line("Try next:");
  await terminal.line(`  ${command} runs --ledger ${stage.file}`);
  await terminal.line(`  ${command} session ${runId} --ledger ${stage.file}`);
  await terminal.line(`  ${command} exec -- npm test`);
}
