/** The processes that the demo starts: `runledger` itself, as its users do.
 *  Invariant: every process that was started here is over when `end` has returned, and so is every command that one of them
 *  ran and could not end itself; nothing else is sent a signal. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { endGroup } from "../exec/process-group.js";
import type { ProcessIdentity } from "../exec/process-identity.js";
import { openProcessTable } from "../exec/process-table.js";

export const mainFile: string = fileURLToPath(new URL("../main.js", import.meta.url));

/** The ledger, in the folder of the demo. */
export const ledgerName = "demo.ledger";

/** None of them takes a tenth of it. */
const processMsMax = 60_000;

/** How a process ended, and what it said. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process that goes on. */
export interface Worker {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

export class Workers {
  private readonly folder: string;
  private readonly signal: AbortSignal;
  private readonly running = new Set<ChildProcess>();

  constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.signal = signal;
  }

  /** Starts `runledger` with these arguments. */
  start(args: readonly string[]): Worker {
    const child = spawn(process.execPath, [mainFile, ...args], {
      cwd: this.folder,
      env: { ...process.env, RUNLEDGER: ledgerName },
      stdio: ["ignore", "pipe", "pipe"],
      signal: this.signal,
      timeout: processMsMax,
      killSignal: "SIGKILL",
    });
    this.running.add(child);
    const ended = new Promise<Ended>((resolve, reject) => {
      const said = { stdout: "", stderr: "" };
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said.stdout += text));
      child.stderr.setEncoding("utf8").on("data", (text: string) => (said.stderr += text));
      child.on("error", reject);
      child.on("close", (code, signal) => {
        this.running.delete(child);
        resolve({ code, signal, ...said });
      });
    });
    // Whoever waits for it hears of the error.
    ended.catch(() => {});
    return { pid: child.pid ?? 0, ended, kill: (signal) => void child.kill(signal) };
  }

  /** Runs it to its end. */
  run(args: readonly string[]): Promise<Ended> {
    return this.start(args).ended;
  }

  /** Ends what is left: its own processes, and the commands that they were running. */
  async end(commands: readonly ProcessIdentity[]): Promise<void> {
    // A process that is stopped dies of KILL as well.
    for (const child of this.running) child.kill("SIGKILL");
    for (const identity of commands) await endGroup(identity, openProcessTable(), { graceMs: 100 });
  }
}
