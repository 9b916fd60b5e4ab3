/** Where the demo plays: its folder, its ledger, what it says, and what it claims. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { LedgerError, openLedger } from "../../index.js";
import type { JsonObject, Ledger } from "../../index.js";
import type { ProcessIdentity } from "../exec/process-identity.js";
import { escapeText } from "../escape.js";
import { readRunHistory } from "../run-history.js";
import type { RunHistory } from "../run-history.js";
import type { Terminal } from "../terminal.js";
import { ledgerName, Workers } from "./workers.js";
import type { Ended, Worker } from "./workers.js";

/** The demo claimed something that did not hold; ends with 1. */
export class ClaimBroken extends Error {
  override readonly name = "ClaimBroken";
}

const waitMs = 30_000;
const lookMs = 50;
const noteBusyMs = 1_000;

export class Stage {
  readonly folder: string;
  readonly file: string;
  readonly workers: Workers;
  /** How many claims held. */
  held = 0;
  private readonly terminal: Terminal;
  private readonly signal: AbortSignal;
  private acts = 0;

  constructor(folder: string, terminal: Terminal, signal: AbortSignal) {
    this.folder = folder;
    this.file = join(folder, ledgerName);
    this.workers = new Workers(folder, signal);
    this.terminal = terminal;
    this.signal = signal;
  }

  /** Opens an act. */
  async act(title: string): Promise<void> {
    await this.terminal.line(`\n${this.terminal.style("bold", `${++this.acts}. ${title}`)}`);
    await this.terminal.flush();
  }

  /** Tells one thing, at once. */
  async tell(text: string): Promise<void> {
    await this.terminal.line(`   ${text}`);
    await this.terminal.flush();
  }

  /** Shows what a command printed. */
  async show(text: string): Promise<void> {
    for (const each of text.trimEnd().split("\n")) await this.terminal.line(`   | ${each}`.trimEnd());
    await this.terminal.flush();
  }

  /** Tells something that must be so, and ends the demo when it is not. `found` is what there is instead. */
  async claim(text: string, holds: boolean, found: unknown): Promise<void> {
    if (!holds) throw new ClaimBroken(`${text}: this did not hold, found ${JSON.stringify(found)}`);
    this.held++;
    await this.tell(`${this.terminal.style("green", "ok")} ${text}`);
  }

  /** Runs `runledger` to its end, and says so. */
  async run(args: readonly string[]): Promise<Ended> {
    await this.sayCommand(args);
    return this.workers.run(args);
  }

  /** Starts `runledger`, and says so. */
  async start(args: readonly string[]): Promise<Worker> {
    await this.sayCommand(args);
    return this.workers.start(args);
  }

  /** What the ledger tells of a run; null when it does not know it yet. */
  async history(runId: string): Promise<RunHistory | null> {
    return this.reading(async (ledger) => {
      if ((await ledger.runs.get(runId)) === null) return null;
      return readRunHistory(ledger, runId);
    });
  }

  /** Writes an event of the demo's own, beside those of the runs; false: somebody keeps everybody from writing. */
  async note(type: string, data: JsonObject): Promise<boolean> {
    const ledger = await openLedger(this.file, { create: false, busyTimeoutMs: noteBusyMs }).catch(nullWhenBusy);
    if (ledger === null) return false;
    try {
      return (await ledger.append("demo/story", [{ type, data }]).catch(nullWhenBusy)) !== null;
    } finally {
      await ledger.close();
    }
  }

  /** Reads from the ledger. */
  async reading<Result>(read: (ledger: Ledger) => Promise<Result>): Promise<Result> {
    const ledger = await openLedger(this.file, { readOnly: true });
    try {
      return await read(ledger);
    } finally {
      await ledger.close();
    }
  }

  /** Waits until something is so. A worker that ends before is the one that should have brought it about. */
  async until(what: string, look: () => boolean | Promise<boolean>, worker?: Worker): Promise<void> {
    let over: Ended | null = null;
    void worker?.ended.then((ended) => (over = ended));
    for (const end = performance.now() + waitMs; ;) {
      this.signal.throwIfAborted();
      const ended = over;
      if (await look()) return;
      if (ended !== null) throw new ClaimBroken(`${what}: its worker ended before, ${JSON.stringify(ended)}`);
      if (performance.now() > end) throw new ClaimBroken(`${what}: this did not come within ${waitMs / 1_000} s`);
      await sleep(lookMs);
    }
  }

  /** Ends every process that is left. */
  async end(): Promise<void> {
    const commands = existsSync(this.file) ? await this.reading(commandsOf).catch(() => []) : [];
    await this.workers.end(commands);
  }

  private sayCommand(args: readonly string[]): Promise<void> {
    const said = args.map((arg) => (arg === process.execPath ? "node" : escapeText(arg)));
    return this.tell(this.terminal.style("dim", `$ runledger ${said.join(" ")}`));
  }
}

/** The processes of all attempts that have one. */
async function commandsOf(ledger: Ledger): Promise<readonly ProcessIdentity[]> {
  const { runs } = await ledger.runs.list();
  const lists = await Promise.all(runs.map(({ runId }) => ledger.attempts.list(runId)));
  return lists.flatMap(({ attempts }) => attempts.flatMap(({ process }) => process ?? []));
}

function nullWhenBusy(error: unknown): null {
  if (error instanceof LedgerError && error.code === "STORE_BUSY") return null;
  throw error;
}
