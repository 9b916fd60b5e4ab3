import { existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { call, jsonLines, newFile, newFolder, newLedgerFile, runledger } from "./command.js";

describe("init", () => {
  test("creates a ledger with the identity that it was given", async () => {
    const file = newLedgerFile();
    const done = await runledger(["init", "--ledger", file, "--origin", "example.com/audit"]);
    expect(done).toMatchObject({ code: 0, stdout: `created ${file}: example.com/audit, format 1\n`, stderr: "" });
    expect((await call(["verify", file])).code).toBe(0);
  });

  test("creates it where the environment says, else in the working directory", async () => {
    const cwd = newFolder();
    const named = join(cwd, "named.ledger");
    expect((await runledger(["init"], { cwd })).code).toBe(0);
    expect((await runledger(["init"], { cwd, env: { RUNLEDGER: named } })).code).toBe(0);
    expect([existsSync(join(cwd, "state.ledger")), existsSync(named)]).toEqual([true, true]);
  });

  test("says with --json what it made", async () => {
    const file = newLedgerFile();
    const done = await call(["init", "--ledger", file, "--json"]);
    const [made] = jsonLines(done.stdout);
    expect(Object.keys(made ?? {})).toEqual(["ledger", "origin", "format", "head", "key"]);
    expect(made).toMatchObject({ ledger: file, format: 1, head: { position: 0 }, key: null });
    expect(made?.["origin"]).toMatch(/^runledger\/[a-z2-7]{26}$/);
  });

  test("is refused when something is there, whatever it is, and changes nothing", async () => {
    const folder = newFolder();
    mkdirSync(join(folder, "folder"));
    symlinkSync(join(folder, "nowhere"), join(folder, "link"));
    const text = newFile("notes.txt", "notes");
    const ledger = newLedgerFile();
    await call(["init", "--ledger", ledger]);
    const before = readFileSync(ledger);
    for (const file of [ledger, text, join(folder, "folder"), join(folder, "link")]) {
      const done = await call(["init", "--ledger", file]);
      expect(done).toMatchObject({ code: 1, stdout: "" });
      expect(done.stderr).toMatch(/^runledger: STORE_EXISTS: .*\nhint: .*\n$/);
    }
    expect(readFileSync(ledger)).toEqual(before);
    expect(readFileSync(text, "utf8")).toBe("notes");
  });

  test("started several times at once, says of one that it created the ledger, and refuses the others", async () => {
    for (let round = 0; round < (process.env["RUNLEDGER_LONG"] === "1" ? 20 : 3); round++) {
      const file = newLedgerFile();
      const origins = ["caller/1", "caller/2", "caller/3"];

      const done = await Promise.all(
        origins.map((origin) => runledger(["init", "--ledger", file, "--origin", origin])),
      );

      const created = done.findIndex(({ code }) => code === 0);
      expect(done[created]?.stdout).toBe(`created ${file}: ${origins[created]}, format 1\n`);
      for (const [index, each] of done.entries()) {
        if (index === created) continue;
        expect(each).toMatchObject({ code: 1, stdout: "" });
        expect(each.stderr).toMatch(/^runledger: STORE_EXISTS: /);
      }
      expect((await call(["status", "--ledger", file])).stdout).toContain(origins[created]);
    }
  }, 60_000);

  test.each([["--origin", "Not An Origin"], ["--ledger", ""], ["--ledger", "memory:"], ["extra"]])(
    "with %j is no command line",
    async (...args) => {
      const file = newLedgerFile();
      expect(await call(["init", ...args], { env: { RUNLEDGER: file } })).toMatchObject({ code: 2, stdout: "" });
      expect(existsSync(file)).toBe(false);
    },
  );

  test("in a folder that is not there, or cannot be one, ends with an error and no ledger", async () => {
    const done = await call(["init", "--ledger", join(newFile("file", ""), "state.ledger")]);
    expect(done.code).not.toBe(0);
    expect(done.code).not.toBe(70);
    expect(done.stderr).toMatch(/^runledger: [A-Z_]+: /);
  });
});
