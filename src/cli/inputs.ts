/** Where lines come from: files by name, or standard input. */
import { createReadStream } from "node:fs";
import { access, constants, stat } from "node:fs/promises";
import { LedgerError } from "../index.js";
import { readLines } from "./lines.js";
import type { Line } from "./lines.js";

export interface InputOptions {
  readonly stdin: NodeJS.ReadableStream;
  /** Closes the input, so that a read that waits for more ends. */
  readonly signal: AbortSignal;
  readonly onBlank: () => void;
}

/** Refuses files that are not there or cannot be read, before anything is written. */
export async function checkInputs(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (file === "-") continue;
    try {
      await access(file, constants.R_OK);
    } catch (cause) {
      throw unreadable(file, cause);
    }
    if ((await stat(file)).isDirectory()) throw unreadable(file, new Error("a directory"));
  }
}

/** The lines of all inputs, one input after the other; `-`, or no file at all, is standard input. */
export async function* readInputs(
  files: readonly string[],
  options: InputOptions,
): AsyncGenerator<Line, void, undefined> {
  for (const file of files.length === 0 ? ["-"] : files) {
    const name = file === "-" ? null : file;
    yield* readLines(name, readBytes(name, options), options.onBlank);
  }
}

async function* readBytes(
  file: string | null,
  { stdin, signal }: InputOptions,
): AsyncGenerator<Uint8Array, void, undefined> {
  if (signal.aborted) return;
  const stream = file === null ? stdin : createReadStream(file, { highWaterMark: 256 * 1024 });
  const close = (): void => {
    // Standard input of a process is always a stream that can be closed.
    (stream as { destroy?: () => void }).destroy?.();
  };
  signal.addEventListener("abort", close, { once: true });
  try {
    for await (const chunk of stream) yield typeof chunk === "string" ? Buffer.from(chunk) : chunk;
  } catch (cause) {
    if (signal.aborted) return;
    throw unreadable(file ?? "standard input", cause);
  } finally {
    signal.removeEventListener("abort", close);
    close();
  }
}

function unreadable(file: string, cause: unknown): LedgerError {
  const { code, message } = cause as NodeJS.ErrnoException;
  return new LedgerError("NOT_FOUND", `input ${JSON.stringify(file)} must be readable, found ${code ?? message}`, {
    details: { file, found: code ?? message },
    cause,
  });
}
