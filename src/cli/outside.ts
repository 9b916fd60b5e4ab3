/** What comes from outside the ledger: checkpoints that were kept elsewhere, and the keys that are trusted. */
import { parseVerifierKey } from "../journal/note-keys.js";
import { checked } from "./arguments.js";
import { UsageError } from "./exit.js";
import { readSmallFile } from "./small-file.js";

/** Collects the values of an option that may be repeated. */
export function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}

/** For an option that other verbs take more than once: the last one must not silently push the others out. */
export function once(option: string): (value: string, before: string | undefined) => string {
  return (value, before) => {
    if (before !== undefined) throw new UsageError(`${option} may be given once, found it twice`);
    return value;
  };
}

/** The texts of checkpoints, from files; `-` is standard input. They are kept in logs and mails, where lines are indented, end
 *  in other ways, and stand among empty ones: that is taken off. What the lines say is compared as it is. */
export async function readCheckpoints(
  files: readonly string[] = [],
  stdin: NodeJS.ReadableStream,
): Promise<readonly string[]> {
  const texts = [];
  for (const file of files) texts.push(linesOf((await readSmallFile(file, stdin)).toString("utf8")));
  return texts;
}

function linesOf(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return `${lines.join("\n").trim()}\n`;
}

/** Verifier keys, each as text or from a file that holds one. */
export async function readVerifierKeys(
  given: readonly string[] = [],
  stdin: NodeJS.ReadableStream,
): Promise<readonly string[]> {
  const keys = [];
  for (const each of given) keys.push(await readVerifierKey(each, stdin));
  return keys;
}

/** A key has a `+` in it, and the names of few files have. */
export async function readVerifierKey(given: string, stdin: NodeJS.ReadableStream): Promise<string> {
  const text = given.includes("+") ? given : (await readSmallFile(given, stdin)).toString("utf8").replace(/\r?\n$/, "");
  return checked("--key", (value, path) => parseVerifierKey(value, path).text)(text);
}
