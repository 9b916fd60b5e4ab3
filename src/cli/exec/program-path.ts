/** Which file a command's name means, as a shell would find it; asked before anything is started, so that a command that is
 *  not there is known and recorded as such. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, resolve } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

export type FoundProgram =
  | { readonly type: "found"; readonly path: string }
  /** As shells say it: 127 there is none, 126 it cannot be executed. */
  | { readonly type: "missing"; readonly exit: 126 | 127; readonly sentence: string };

/** Where a host without PATH looks. */
const pathDefault = "/usr/local/bin:/usr/bin:/bin";

/** A name with a slash is a path; any other is looked for in PATH. The first that can be executed is it. */
export function findProgram(name: string, { env, cwd }: { readonly env: Env; readonly cwd: string }): FoundProgram {
  const shown = JSON.stringify(name);
  const candidates = name.includes("/") ? [resolve(cwd, name)] : inPath(name, env, cwd);
  let obstacle: string | null = null;
  for (const path of candidates) {
    const found = lookAt(path);
    if (found === "executable") return { type: "found", path };
    if (found !== "missing") obstacle ??= `${path} ${found}`;
  }
  if (obstacle !== null)
    return { type: "missing", exit: 126, sentence: `the command ${shown} cannot be executed: ${obstacle}` };
  const where = name.includes("/") ? "there is no such file" : "it is in no folder of PATH";
  // Who gives a whole line as one word expects a shell.
  const line = /\s/.test(name) ? "; a line for a shell goes to one, as in sh -c 'one && two'" : "";
  return { type: "missing", exit: 127, sentence: `the command ${shown} was not found: ${where}${line}` };
}

function inPath(name: string, env: Env, cwd: string): readonly string[] {
  if (name === "") return [];
  // An empty part means the working directory, as it does to shells.
  return (env["PATH"] ?? pathDefault)
    .split(delimiter)
    .map((folder) => resolve(isAbsolute(folder) ? folder : resolve(cwd, folder), name));
}

/** "executable", "missing", or what is in the way. */
function lookAt(path: string): string {
  try {
    if (!statSync(path).isFile()) return "is not a file";
    accessSync(path, constants.X_OK);
    return "executable";
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return "missing";
    return code === "EACCES" ? "may not be executed" : `cannot be looked at (${code})`;
  }
}
