/** The process group of a command and the session that it leads, known by the identity of their leader: are they there, and
 *  how they are ended. Where the system tells sessions, what moved to another group (`timeout`, a shell with job control)
 *  is of the session still, and meant whenever the group is.
 *  Invariants: nothing is sent to a group that was not seen to be of the recorded session right before; never to the group of
 *  pid 1 or below, which would be everybody.
 *  While any process of a group or session lives its number is given to no other process. So a leader with the same number
 *  and another start means that they are gone, and those whose leader is gone are known by their members, none of which
 *  started before the leader.
 *  Source: decision 0027. */
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessIdentity } from "./process-identity.js";
import type { ProcessTable, TableRow } from "./process-table.js";

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
  return lookAt(identity, table).state;
}

/** Ends a group: TERM, and KILL when it is still there after 5 s. */
export async function endGroup(
  identity: ProcessIdentity,
  table: ProcessTable | null,
  { graceMs = graceMsDefault, killMs = 5_000 }: EndOptions = {},
): Promise<GroupEnd> {
  if (table === null) return cannot("this system does not say when a process was started");
  const { state, isRefused } = signalMembers(identity, table, "SIGTERM");
  if (state === "gone" || state === "foreign") return { type: state };
  if (state === "elsewhere") return cannot(`it was started on ${identity.host}, and this is ${table.host}`);
  if (state === "hidden") return cannot(`what has the number ${identity.pid} cannot be seen from here`);
  if (isRefused) return cannot(`process ${identity.pid} belongs to somebody else`);
  // A process that is stopped hears of nothing but KILL.
  signalMembers(identity, table, "SIGCONT");
  if (await isGoneWithin(graceMs, () => lookAt(identity, table))) return { type: "gone" };
  // Sent at each look: what is killed may just have started something.
  if (await isGoneWithin(killMs, () => signalMembers(identity, table, "SIGKILL"))) return { type: "gone" };
  const { members } = lookAt(identity, table);
  const left = members.map(({ pid }) => pid).join(", ");
  return cannot(`the process group ${identity.pid} is still there after SIGKILL: ${left}`);
}

/** Sends a signal to all of it that is alive, and answers how it was before; `isRefused`: none of them may be sent one. */
export function signalMembers(
  identity: ProcessIdentity,
  table: ProcessTable,
  signal: NodeJS.Signals,
): { readonly state: GroupState; readonly isRefused: boolean } {
  const { state, members } = lookAt(identity, table);
  const groups = new Set(members.map(({ group }) => group));
  const answers = Array.from(groups, (group) => signalGroup(group, signal));
  return { state, isRefused: answers.length > 0 && answers.every((answer) => answer === "refused") };
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

interface Found {
  readonly state: GroupState;
  /** Those that are alive and are the recorded ones. */
  readonly members: readonly TableRow[];
}

function lookAt(identity: ProcessIdentity, table: ProcessTable): Found {
  const nobody = (state: Exclude<GroupState, "alive">): Found => ({ state, members: [] });
  const { host, boot, pid, startedAt } = identity;
  if (host !== table.host) return nobody("elsewhere");
  if (boot !== table.boot) return nobody("gone");
  if (!isGroup(pid)) return nobody("foreign");
  const started = Number(startedAt);
  const leader = table.get(pid);
  if (leader !== null && leader.started !== started) return nobody("foreign");
  const rows = table.members(pid);
  // They may have ended meanwhile.
  if (rows.length === 0) return nobody(signalGroup(pid, 0) === "gone" ? "gone" : "hidden");
  const members = rows.filter(({ dead }) => !dead);
  if (members.length === 0) return nobody("gone");
  const isOurs = members.every((row) => row.started >= started && (row.session === null || row.session === pid));
  return isOurs ? { state: "alive", members } : nobody("foreign");
}

async function isGoneWithin(waitMs: number, look: () => { readonly state: GroupState }): Promise<boolean> {
  const end = performance.now() + waitMs;
  for (let ms = 2; performance.now() < end; ms = Math.min(2 * ms, lookMsMax)) {
    const { state } = look();
    if (state === "gone" || state === "foreign") return true;
    await sleep(ms);
  }
  return false;
}

function cannot(reason: string): GroupEnd {
  return { type: "cannot", reason };
}

function isGroup(pid: number): boolean {
  return Number.isSafeInteger(pid) && pid > 1;
}
