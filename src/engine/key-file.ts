/** Files that hold a signer key. Whoever has the key can sign another history, so it is kept where others cannot read it
 *  and where a copy or a backup of the ledger does not take it along.
 *  Invariants: a key is read from a regular file with one name, readable by its owner alone and outside the directory of
 *  the ledger, and written to a new such file only; nothing of its content is ever in an error. Source: decision 0013. */
import { constants } from "node:fs";
import type { Stats } from "node:fs";
import { open, realpath, unlink } from "node:fs/promises";
import type { FileHandle } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { LedgerError } from "../kernel/errors.js";

/** A key takes about 200 bytes; whatever is larger is something else. */
const keyFileBytesMax = 4_096;

/** Reads the text of a key file. `ledger` is the file whose directory must not hold it; null when there is none. */
export async function readKeyFile(path: string, ledger: string | null): Promise<string> {
  const file = resolve(path);
  await refuseBesideLedger(file, ledger);
  const handle = await openFile(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    const problem = unsafe(stats);
    if (problem !== null) throw keyUnsafe(file, "a regular file with one name that its owner alone can read", problem);
    if (stats.size > keyFileBytesMax)
      throw keyUnsafe(file, `a key of at most ${keyFileBytesMax} bytes`, `${stats.size} bytes`);
    return await readUpTo(handle, keyFileBytesMax + 1);
  } catch (cause) {
    throw cause instanceof LedgerError ? cause : unreachable(file, cause);
  } finally {
    await handle.close();
  }
}

/** Not `readFile`: what calls itself a file may go on without end. What is cut off here is no key. */
async function readUpTo(handle: FileHandle, bytesMax: number): Promise<string> {
  const buffer = Buffer.alloc(bytesMax);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytesMax; length += read)
    read = (await handle.read(buffer, length, bytesMax - length, null)).bytesRead;
  return buffer.toString("utf8", 0, length);
}

/** Writes a key into a new file, on disk when it resolves. `STORE_EXISTS` when something is there, whatever it is. */
export async function writeKeyFile(path: string, text: string, ledger: string | null): Promise<void> {
  const file = resolve(path);
  await refuseBesideLedger(file, ledger);
  const handle = await openFile(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW);
  try {
    // Whatever the umask says.
    await handle.chmod(0o600);
    await handle.writeFile(text);
    await handle.sync();
  } catch (cause) {
    await unlink(file).catch(() => {});
    throw unreachable(file, cause);
  } finally {
    await handle.close();
  }
  await syncDirectory(dirname(file));
}

async function openFile(file: string, flags: number): Promise<FileHandle> {
  try {
    return await open(file, flags, 0o600);
  } catch (cause) {
    throw unreachable(file, cause);
  }
}

function unsafe(stats: Stats): string | null {
  if (!stats.isFile()) return "something that is not a regular file";
  if (stats.nlink > 1) return `a file with ${stats.nlink} names`;
  const mode = stats.mode & 0o777;
  // Windows has no such bits: what it shows is made up.
  return process.platform !== "win32" && (mode & 0o077) !== 0 ? `the mode ${mode.toString(8).padStart(4, "0")}` : null;
}

/** Both as they really are, for a link must not hide that a copy of the one takes the other along. */
async function refuseBesideLedger(file: string, ledger: string | null): Promise<void> {
  const directory = await realpath(dirname(file)).catch((cause: unknown) => {
    throw unreachable(file, cause);
  });
  if (ledger === null) return;
  const besides = relative(await withoutLinks(dirname(resolve(ledger))), directory);
  const outside = besides === ".." || besides.startsWith(`..${sep}`) || isAbsolute(besides);
  if (!outside) throw keyUnsafe(file, "outside the directory of the ledger", "it there");
}

/** A directory without links; what is not there yet will be made, and has none. */
async function withoutLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    if (dirname(path) === path) throw unreachable(path, cause);
    return join(await withoutLinks(dirname(path)), basename(path));
  }
}

async function syncDirectory(path: string): Promise<void> {
  if (process.platform === "win32") return; // directories cannot be opened there
  const handle = await openFile(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } catch (cause) {
    throw unreachable(path, cause);
  } finally {
    await handle.close();
  }
}

function keyUnsafe(file: string, expected: string, found: string): LedgerError {
  return new LedgerError("KEY_UNSAFE", `the key file ${file} must be ${expected}, found ${found}`, {
    details: { path: file, expected, found },
    hint: "keep the key in a file of mode 0600 in a directory of its own, apart from the ledger and its backups",
  });
}

function unreachable(file: string, cause: unknown): LedgerError {
  const code = cause instanceof Error && "code" in cause ? String(cause.code) : "an error";
  if (code === "EEXIST")
    return new LedgerError("STORE_EXISTS", `the key file ${file} must not be there yet, found it`, {
      details: { path: file },
      hint: "name another file; a key is never overwritten",
    });
  if (code === "ELOOP") return keyUnsafe(file, "a regular file", "a symbolic link");
  return new LedgerError("NOT_FOUND", `the key file ${file} must be reachable, found ${code}`, {
    details: { path: file, found: code },
    cause,
  });
}
