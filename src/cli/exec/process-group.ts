/** The process group of a command, known by the identity of its leader: is it there, and how it is ended.
 *  Invariants: nothing is sent to a group that was not seen to be the recorded one right before; never to the group of pid 1
 *  or below, which would be everybody.
 *  While any process of a group lives its number is given to no other process. So a leader with the same number and another
 *  start means that the group is gone, and a group whose leader is gone is known by its members, none of which started
 *  before the leader.
 *  Source: decision 0027. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessIdentity } from "./process-identity.js";
import type { ProcessTable } from "./process-table.js";

export type GroupState =
  | "alive"
  | "gone"
  /** Another group has its number now, so it is gone. */
  | "foreign"
  /** It ran on another machine. */
  | "elsewhere"
  /** Something has its number, and this process may not see what. */
  | "hidden";

/** What became of a group that was to end. `cannot`: it is there, or nobody here can know. */
export type GroupEnd = { readonly type: "gone" | "foreign" } | { readonly type: "cannot"; readonly reason: string };

export interface EndOptions {
  /** Between TERM and KILL. */
  readonly graceMs?: number;
  /** After KILL, until it is given up. */
  readonly killMs?: number;
}

const graceMsDefault = 5_000;
const lookMsMax = 50;

/** Does any process of the group live, and is it the group that was recorded? */
export function stateOfGroup(identity: ProcessIdentity, table: ProcessTable): GroupState {
  const { host, boot, pid, startedAt } = identity;
  if (host !== table.host) return "elsewhere";
  if (boot !== table.boot) return "gone";
  if (!isGroup(pid)) return "foreign";
  if (signalGroup(pid, 0) === "gone") return "gone";
  const started = Number(startedAt);
  const leader = table.get(pid);
  if (leader !== null && leader.started !== started) return "foreign";
  const rows = table.group(pid);
  // It may have ended meanwhile.
  if (rows.length === 0) return signalGroup(pid, 0) === "gone" ? "gone" : "hidden";
  const members = rows.filter(({ dead }) => !dead);
  if (members.length === 0) return "gone";
  const isOurs = members.every((row) => row.started >= started && (row.session === null || row.session === pid));
  return isOurs ? "alive" : "foreign";
}

/** Ends a group: TERM, and KILL when it is still there after 5 s. */
export async function endGroup(
  identity: ProcessIdentity,
  table: ProcessTable | null,
  { graceMs = graceMsDefault, killMs = 5_000 }: EndOptions = {},
): Promise<GroupEnd> {
  if (table === null) return cannot("this system does not say when a process was started");
  const steps = [
    { signal: "SIGTERM", waitMs: graceMs },
    { signal: "SIGKILL", waitMs: killMs },
  ] as const;
  for (const { signal, waitMs } of steps) {
    const state = stateOfGroup(identity, table);
    if (state === "gone" || state === "foreign") return { type: state };
    if (state === "elsewhere") return cannot(`it was started on ${identity.host}, and this is ${table.host}`);
    if (state === "hidden") return cannot(`what has the number ${identity.pid} cannot be seen from here`);
    if (signalGroup(identity.pid, signal) === "refused")
      return cannot(`process ${identity.pid} belongs to somebody else`);
    // A process that is stopped hears of nothing but KILL.
    if (signal === "SIGTERM") signalGroup(identity.pid, "SIGCONT");
    if (await isGoneWithin(identity, table, waitMs)) return { type: "gone" };
  }
  return cannot(`the process group ${identity.pid} is still there after SIGKILL`);
}

/** Sends a signal to every process of a group. `refused`: none of them may be sent one from here. */
export function signalGroup(pid: number, signal: NodeJS.Signals | 0): "sent" | "gone" | "refused" {
  if (!isGroup(pid)) return "gone";
  try {
    process.kill(-pid, signal);
    return "sent";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH") return "gone";
    if (code === "EPERM") return "refused";
    throw error;
  }
}

async function isGoneWithin(identity: ProcessIdentity, table: ProcessTable, waitMs: number): Promise<boolean> {
  const end = performance.now() + waitMs;
  for (let ms = 2; performance.now() < end; ms = Math.min(2 * ms, lookMsMax)) {
    await sleep(ms);
    const state = stateOfGroup(identity, table);
    if (state === "gone" || state === "foreign") return true;
  }
  return false;
}

function cannot(reason: string): GroupEnd {
  return { type: "cannot", reason };
}

function isGroup(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 1;
}
