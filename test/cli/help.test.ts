/** What the command says of itself: every verb in full, with an example that its own options understand. */
import { describe, expect, test } from "vitest";
import { call, runledger } from "./command.js";

const main = (await call(["--help"])).stdout;
const verbs = [.../^Commands:\n((?: {2}.*\n)+)/m.exec(main)![1]!.matchAll(/^ {2}([a-z-]+)/gm)]
  .map(([, verb = ""]) => verb)
  .filter((verb) => verb !== "help");

/** The command lines of a verb in an example, one a line, from its name to the end of its own words. */
function commandLines(help: string, verb: string): readonly string[] {
  const examples = /^Examples?:\n((?:\n| {2}.*\n?)+)/m.exec(help)?.[1] ?? "";
  return [...examples.matchAll(new RegExp(`runledger (${verb}(?: [^|\\n]*)?)`, "g"))].map(([, line = ""]) => line);
}

describe("help", () => {
  test("lists the verbs, how events are named, and the exit codes", async () => {
    const help = await runledger(["--help"]);

    expect(help).toMatchObject({ code: 0, stderr: "", stdout: main });
    expect(verbs).toEqual(expect.arrayContaining(["init", "append", "log", "queue", "verify"]));
    expect(main).toMatch(/^Selectors:\n(?: {2}\S.*\n)+/m);
    for (const code of ["0", "1", "2", "3", "4", "70", "75", "130", "141"])
      expect(main).toMatch(new RegExp(`^  ${code} {2,}\\S`, "m"));
  });

  test.each(verbs)("of %s says what it does, what it takes, and shows an example", async (verb) => {
    const { code, stdout, stderr } = await call([verb, "--help"]);

    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^Usage: runledger ${verb}\\b.*\\n\\n[a-z].{10,}`));
    expect(stdout).toMatch(/^Options:\n/m);
    expect(commandLines(stdout, verb)).not.toEqual([]);
    for (const text of stdout.split("\n")) expect(text.length).toBeLessThanOrEqual(130);
  });

  test.each(verbs)("of %s has no example with an option that there is not", async (verb) => {
    const { stdout } = await call([verb, "--help"]);
    // What stands behind `--` is somebody else's command line.
    for (const line of commandLines(stdout, verb))
      for (const [option] of line.split(" -- ")[0]!.matchAll(/(?<= )--[a-z][a-z-]*/g))
        expect([line, stdout.includes(`\n  ${option} `) || stdout.includes(`, ${option} `)]).toEqual([line, true]);
  });

  test.each([
    ["append", ["130"]],
    ["tail", ["130"]],
    ["verify", ["0", "1", "3", "4"]],
    ["fork-check", ["0", "1", "3"]],
    ["check-proof", ["0", "1", "3"]],
    ["run", ["3"]],
    ["exec", ["1", "2", "3", "75", "126", "127"]],
  ])("of %s names the exit codes that are its own", async (verb, codes) => {
    const { stdout } = await call([verb, "--help"]);
    const said = stdout.slice(stdout.indexOf("  -h, --help"), stdout.search(/^Examples?:/m));

    for (const code of codes)
      expect(said).toMatch(new RegExp(`ends? with [^.]*\\b${code}\\b|^(?:.* )? ${code}  +\\S`, "m"));
  });
});
