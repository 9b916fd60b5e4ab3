/** The pipes by which a command's output comes. What Node.js calls a pipe to a child is a socket, which cannot be opened as
 *  `/dev/stdout` or `/dev/stderr`; these are pipes, as a shell would give them. */
import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { promisify } from "node:util";

export interface OutputPipe {
  readonly output: Readable;
  /** The end for the child. */
  readonly end: number;
}

/** So many pipes; null where none can be made. The ends for the child are closed by the caller. */
export async function openPipes(count: number): Promise<readonly OutputPipe[] | null> {
  let folder: string | null = null;
  try {
    folder = await mkdtemp(join(tmpdir(), "runledger-"));
    const names = Array.from({ length: count }, (_, index) => join(folder!, String(index)));
    await promisify(execFile)("mkfifo", ["-m", "600", ...names]);
    return names.map(openPipe);
  } catch {
    // No room for names, or no mkfifo: a socket is better than nothing.
    return null;
  } finally {
    // The pipes live on without their names.
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}

function openPipe(name: string): OutputPipe {
  // Opened for reading first, and without waiting for a writer, who would wait for a reader.
  const read = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const end = openSync(name, constants.O_WRONLY);
    return { output: new Socket({ fd: read, readable: true, writable: false }), end };
  } catch (error) {
    closeSync(read);
    throw error;
  }
}
