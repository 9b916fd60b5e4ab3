/** How `exec` describes a run: what it records of a command, and how it knows its own runs again.
 *  The arguments and the folder are the run's input, which can be erased; the program's name and the numbers are its
 *  definition, which can be guessed from its digest. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { basename } from "node:path";
import { definitionCommands, definitionDigest, queueCommands, runCommands } from "../../index.js";
import type { Fence, Ledger, RunEntry } from "../../index.js";
import { hashToken, mintToken } from "../../kernel/claim.js";
import { reclaimsMaxMax } from "../../kernel/limits.js";
import { generateRunId } from "../../kernel/run-id.js";
import { queueStream } from "../../journal/events/queue.js";

/** What is to be run, and where. */
export interface RecordedCommand {
  readonly command: readonly string[];
  readonly cwd: string;
}

/** The same, and how often. */
export interface CommandPlan extends RecordedCommand {
  /** How often it is tried again when it fails. */
  readonly retries: number;
  readonly leaseMs: number;
}

/** A run that is ours, and since when by `performance.now()`. */
export interface OwnedRun extends CommandPlan {
  readonly runId: string;
  readonly fence: Fence;
  readonly since: number;
  /** Was it started before? */
  readonly isStarted: boolean;
  /** How many attempts there were, and how many of them failed. */
  readonly attempts: number;
  readonly failures: number;
}

const tool = "runledger exec";
const namePrefix = "exec.";
const nameUnitsMax = 80;

/** Makes a run and claims it, in one commit. `ALREADY_EXISTS`: its id is in use. */
export async function createRun(ledger: Ledger, plan: CommandPlan, runId?: string): Promise<OwnedRun> {
  const { command, cwd, retries, leaseMs } = plan;
  const program = titleOf(command);
  const name = `${namePrefix}${program.replaceAll(/[^A-Za-z0-9_.-]/g, "-")}`;
  const snapshot = { tool, program, retries, leaseMs };
  const id = runId ?? generateRunId(name, Date.now(), randomBytes(4));
  const token = mintToken(randomBytes(32));
  const since = performance.now();
  const { results } = await ledger.execute([
    definitionCommands.register({ name, snapshot }),
    runCommands.create({
      runId: id,
      definition: { name, digest: definitionDigest(snapshot) },
      ...(program !== "" && { title: program }),
      input: { command, cwd },
    }),
    queueCommands.enqueue({
      runId: id,
      // A process that was killed says nothing against the run.
      reclaimsMax: reclaimsMaxMax,
      claim: { holder: holderName(), leaseMs, tokenHash: hashToken(token) },
    }),
  ]);
  const { incarnation, generation } = results[2]!; // it was enqueued with a claim
  const fence = { key: queueStream(id), incarnation, generation, token };
  return { ...plan, runId: id, fence, since, isStarted: false, attempts: 0, failures: 0 };
}

/** The program's name as facts may have it: a file may be called anything. */
function titleOf([name = ""]: readonly string[]): string {
  return basename(name)
    .slice(0, nameUnitsMax)
    .toWellFormed()
    .replaceAll(/\p{Cc}/gu, "\u{fffd}");
}

/** By which name this process claims. */
export function holderName(): string {
  return `exec:${hostname().slice(0, 80)}:${process.pid}`;
}

/** Was it made by `exec`? */
export function isExecRun({ definition }: Pick<RunEntry, "definition">): boolean {
  return definition !== null && definition.name.startsWith(namePrefix);
}

/** What a run of `exec` was made with. `CONTENT_ERASED`: nobody knows any more. */
export async function readPlan(ledger: Ledger, run: RunEntry): Promise<CommandPlan | null> {
  if (!isExecRun(run) || run.input === null || run.definition === null) return null;
  const definition = await ledger.definitions.get(run.definition.digest);
  if (definition === null) return null;
  const recorded = await readCommand(ledger, run);
  const snapshot = (await ledger.content(definition.snapshot)).json();
  const { tool: madeBy, retries, leaseMs } = membersOf(snapshot);
  if (recorded === null || madeBy !== tool || typeof retries !== "number" || typeof leaseMs !== "number") return null;
  return { ...recorded, retries, leaseMs };
}

/** The command of a run that `exec` made, and its folder; null for another run. `CONTENT_ERASED`, as with contents. */
export async function readCommand(
  ledger: Ledger,
  run: Pick<RunEntry, "definition" | "input">,
): Promise<RecordedCommand | null> {
  if (!isExecRun(run) || run.input === null) return null;
  const { command, cwd } = membersOf((await ledger.content(run.input)).json());
  return isTexts(command) && command.length > 0 && typeof cwd === "string" ? { command, cwd } : null;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string");
}
