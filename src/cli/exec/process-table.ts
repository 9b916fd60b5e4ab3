/** The processes of this machine, as far as groups and sessions are concerned: who is a member of which, and since when.
 *  `started` is a number that two processes with the same pid do not share: on Linux ticks since the machine was started, elsewhere
 *  seconds since 1970. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";

export interface TableRow {
  readonly pid: number;
  readonly group: number;
  /** Null where the system does not say. */
  readonly session: number | null;
  readonly started: number;
  /** Is it dead, and only waits for its parent to look? */
  readonly dead: boolean;
}

export interface ProcessTable {
  readonly host: string;
  /** Which start of the machine this is. */
  readonly boot: string;
  /** One process; null when there is none with that pid. */
  get(pid: number): TableRow | null;
  /** All processes of the group that has this number, and of the session, where the system tells sessions. */
  members(pid: number): readonly TableRow[];
}

/** The table of this machine; null where there is no way to know when a process was started. */
export function openProcessTable(platform: NodeJS.Platform = process.platform): ProcessTable | null {
  if (platform !== "linux" && platform !== "darwin") return null;
  const isLinux = platform === "linux";
  let boot: string;
  try {
    boot = isLinux ? readFileSync(bootFileOfLinux, "utf8").trim() : readBootOfDarwin();
  } catch {
    // A sandbox that shows nothing of the machine.
    return null;
  }
  return isLinux ? linuxTable(boot) : psTable(boot);
}

const bootFileOfLinux = "/proc/sys/kernel/random/boot_id";

function linuxTable(boot: string): ProcessTable {
  const get = (pid: number): TableRow | null => {
    try {
      return parseStat(readFileSync(`/proc/${pid}/stat`, "utf8"));
    } catch (error) {
      // Gone, or gone while it was read, or not to be seen from here.
      if (["ENOENT", "ESRCH", "EACCES", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) return null;
      throw error;
    }
  };
  return {
    host: hostname(),
    boot,
    get,
    members: (pid) =>
      readdirSync("/proc")
        .flatMap((name) => (/^\d+$/.test(name) ? (get(Number(name)) ?? []) : []))
        .filter(({ group, session }) => group === pid || session === pid),
  };
}

/** The name of the program, in brackets, may hold anything; all that is needed stands behind the last bracket. */
export function parseStat(text: string): TableRow {
  const pid = Number(text.slice(0, text.indexOf(" ")));
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state = "", , group, session] = fields;
  const [threads, started] = [Number(fields[17]), Number(fields[19])];
  // A leader that has ended while threads of it go on is not dead.
  const dead = /^[ZXx]$/.test(state) && threads <= 1;
  return { pid, group: Number(group), session: Number(session), started, dead };
}

/** By `ps`, which knows the start of a process to the second. */
export function psTable(boot: string): ProcessTable {
  const rows = (): readonly TableRow[] =>
    execFileSync("ps", ["-A", "-o", "pid=,pgid=,stat=,lstart="], {
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
      maxBuffer: 64 * 1024 * 1024,
    })
      .split("\n")
      .flatMap(parsePs);
  return {
    host: hostname(),
    boot,
    get: (pid) => rows().find((row) => row.pid === pid) ?? null,
    members: (pid) => rows().filter((row) => row.group === pid),
  };
}

function parsePs(line: string): readonly TableRow[] {
  const match = /^ *(\d+) +(\d+) +(\S+) +(\S.*\S) *$/.exec(line);
  if (match === null) return [];
  const [, pid, group, state = "", start] = match;
  const started = Date.parse(`${start} UTC`) / 1_000;
  return [{ pid: Number(pid), group: Number(group), session: null, started, dead: state.startsWith("Z") }];
}

function readBootOfDarwin(): string {
  return execFileSync("/usr/sbin/sysctl", ["-n", "kern.bootsessionuuid"], { encoding: "utf8" }).trim();
}
