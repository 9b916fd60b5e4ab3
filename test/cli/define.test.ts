import { writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { defineEvents, openLedger } from "../../src/index.js";
import { call, jsonLines, mainFile, newFile, newFolder, newLedgerFile, runledger } from "./command.js";

/** The library as a host's module imports it. */
const library = JSON.stringify(pathToFileURL(join(dirname(mainFile), "../index.js")).href);

/** A ledger whose events are of an older version than the definitions that `moduleFile` has. */
async function oldLedger(): Promise<string> {
  const file = newLedgerFile();
  const events = [defineEvents("invoice", { open: true }, { "invoice.sent": {} })];
  const ledger = await openLedger(file, { events });
  await ledger.append("invoice/7", [{ type: "invoice.sent", data: { euros: 12 } }]);
  await ledger.close();
  return file;
}

const upcasting = `
  import { defineEvents } from ${library};
  export const events = defineEvents("invoice", { open: true }, {
    "invoice.sent": { version: 2, upcast: { 1: ({ euros }) => ({ cents: euros * 100 }) } },
  });`;

function moduleFile(text: string = upcasting, name = "definitions.mjs"): string {
  return newFile(name, text);
}

describe("--define", () => {
  test("lets log and show upcast what is stored, in a process of its own", async () => {
    const file = await oldLedger();
    const define = moduleFile();

    const plain = await runledger(["log", "--ledger", file, "--type", "invoice.sent", "--json"]);
    const log = await runledger(["log", "--ledger", file, "--type", "invoice.sent", "--json", "--define", define]);
    const show = await runledger(["show", "@", "--ledger", file, "--json"], { env: { RUNLEDGER_DEFINE: define } });

    expect(jsonLines(plain.stdout)).toMatchObject([{ version: 1, data: { euros: 12 } }]);
    expect(jsonLines(log.stdout)).toMatchObject([{ version: 2, data: { cents: 1_200 } }]);
    expect(jsonLines(show.stdout)).toMatchObject([{ version: 2, data: { cents: 1_200 } }]);
  });

  test("finds definitions in named exports, in the default one and in lists, each once", async () => {
    const file = await oldLedger();
    for (const exported of [
      "export default events;",
      "export default [events];",
      "export const all = [events]; export const one = events; export default null;",
    ]) {
      const define = moduleFile(upcasting.replace("export const", "const") + exported);
      const done = await call(["show", "@", "--ledger", file, "--json", "--define", define]);
      expect(jsonLines(done.stdout)).toMatchObject([{ version: 2 }]);
    }
  });

  test("takes a path from the working directory, and a package", async () => {
    const file = await oldLedger();
    const cwd = newFolder();
    writeFileSync(join(cwd, "definitions.mjs"), upcasting);
    for (const define of ["definitions.mjs", "./definitions.mjs"]) {
      const done = await runledger(["show", "@", "--ledger", file, "--json", "--define", define], { cwd });
      expect(jsonLines(done.stdout)).toMatchObject([{ version: 2 }]);
    }

    const none = await runledger(["show", "@", "--ledger", file, "--define", "commander"], { cwd });
    expect(none.code).toBe(2);
    expect(none.stderr).toContain("exports definitions, found none in");
  });

  test("may be repeated, on the command line and in the environment, where the command line wins", async () => {
    const file = await oldLedger();
    const other = moduleFile(upcasting.replaceAll("invoice", "order"));
    const both = await call(["show", "@", "--ledger", file, "--json", "--define", other, "--define", moduleFile()]);
    const env = { RUNLEDGER_DEFINE: [other, moduleFile()].join(delimiter) };
    const fromEnvironment = await call(["show", "@", "--ledger", file, "--json"], { env });
    const told = await call(["show", "@", "--ledger", file, "--json", "--define", other], { env });

    expect(jsonLines(both.stdout)).toMatchObject([{ version: 2 }]);
    expect(jsonLines(fromEnvironment.stdout)).toMatchObject([{ version: 2 }]);
    expect(jsonLines(told.stdout)).toMatchObject([{ version: 1 }]);
  });

  test.each([
    ["", "--define must name a module, found nothing"],
    ["./not-there.mjs", "--define must name a module that loads"],
    ["no-such-package-here", "--define must name a module that loads"],
  ])("refuses %j, which is no module", async (define, says) => {
    const done = await call(["log", "--ledger", await oldLedger(), "--define", define]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain(`USAGE: ${says}`);
  });

  test.each([
    ["that throws", "throw new Error('no database');", "that loads, found", "no database"],
    ["that is no program", "export const = 3;", "that loads, found", "Unexpected token"],
    ["without definitions", "export const area = 'x'; export default () => 3;", "exports definitions", "found none in"],
    [
      "with two definitions of one area",
      upcasting + upcasting.replace("import", "import * as again from 'node:fs'; //").replace("events =", "more ="),
      "each definition once",
      "found two of area invoice",
    ],
  ])("refuses a module %s", async (_, text, ...says) => {
    const done = await call(["log", "--ledger", await oldLedger(), "--define", moduleFile(text)]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    for (const each of says) expect(done.stderr).toContain(each);
  });

  test("cannot decide with a module that ends the process, or never finishes loading", async () => {
    const file = await oldLedger();
    for (const text of ["process.exit(0);", "await new Promise(() => {});"]) {
      const done = await runledger(["verify", "--ledger", file, "--deep", "--define", moduleFile(text)]);
      expect([text, done.code, done.stdout]).toEqual([text, 3, ""]);
      expect(done.stderr).toContain("the process ended before the command did");
    }
  });

  test("takes what throws when it is looked at for no definition, whatever is thrown", async () => {
    const file = await oldLedger();
    for (const text of [
      "export const area = { get area() { throw new Error('no'); } };",
      "export const odd = new Proxy(function () {}, { has() { throw new Error('no'); } });",
      "throw { toString() { throw new Error('no'); } };",
      "throw null;",
    ]) {
      const done = await call(["show", "@", "--ledger", file, "--define", moduleFile(text)]);
      expect([text, done.code]).toEqual([text, 2]);
      expect(done.stderr).toContain("USAGE: --define must name a module that");
    }
  });

  test("shows no control characters of a module that throws", async () => {
    const define = moduleFile(String.raw`throw new Error("\u001b[31m red");`);
    const done = await call(["log", "--ledger", await oldLedger(), "--define", define]);

    expect(done.stderr).not.toContain("\u001b");
  });
});
