#!/usr/bin/env node
/** The process around the command. It ends when all is written and closed, never by `process.exit` (case J14). */
import { brokenArgument } from "./argument-bytes.js";
import { escapeJson } from "./escape.js";
import { exitCodes } from "./exit.js";
import { runCommandLine } from "./program.js";

// An error that nobody caught would end with 1, which says that the evidence is wrong.
process.on("uncaughtException", (error) => {
  process.stderr.write(
    `runledger: this is a bug in runledger; nothing is known of the evidence\n${error.stack ?? error.message}\n`,
  );
  // After an uncaught exception nothing else can be relied upon.
  process.exit(exitCodes.bug);
});

// A module of --define may end the process, or never finish loading: then nothing was done, and 0 would say that it was.
let isDone = false;
process.on("exit", (code) => {
  if (isDone || code === exitCodes.bug) return;
  process.stderr.write(
    "runledger: the process ended before the command did: a module of --define ended it, or never finished loading\n",
  );
  process.exitCode = exitCodes.undecided;
});

const args = process.argv.slice(2);
const broken = brokenArgument(args.length);
process.exitCode = broken === null ? await runCommandLine(args, process) : sayBroken(broken);
isDone = true;

function sayBroken(argument: string): number {
  process.stderr.write(`runledger: USAGE: an argument must be UTF-8, found ${escapeJson(JSON.stringify(argument))}\n`);
  return exitCodes.usage;
}
