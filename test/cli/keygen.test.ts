import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parseSignerKey } from "../../src/journal/note-keys.js";
import { call, jsonLines, newFile, newFolder, newLedgerFile, runledger } from "./command.js";

describe("keygen", () => {
  test("makes a key in a file of its own, and prints what checks it and nothing secret", async () => {
    const file = join(newFolder(), "audit.key");
    const done = await runledger(["keygen", "--origin", "example.com/audit", "--out", file]);

    expect(done.code).toBe(0);
    const text = readFileSync(file, "utf8");
    expect(text).toMatch(/^PRIVATE\+KEY\+example\.com\/audit\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44}\n$/);
    expect(done.stdout).toBe(`${parseSignerKey(text.trimEnd(), "key").verifier.text}\n`);
    expect(done.stdout + done.stderr).not.toContain(text.trimEnd().slice(-44));
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("makes another key each time, named anew when nobody names it", async () => {
    const [first, second] = [join(newFolder(), "a.key"), join(newFolder(), "b.key")];
    const done = [await call(["keygen", "--out", first, "--json"]), await call(["keygen", "--out", second, "--json"])];

    const said = done.map(({ stdout }) => jsonLines(stdout)[0]);
    expect(Object.keys(said[0] ?? {})).toEqual(["file", "origin", "key"]);
    for (const each of said) expect(each?.["origin"]).toMatch(/^runledger\/[a-z2-7]{26}$/);
    expect(said[0]?.["key"]).not.toBe(said[1]?.["key"]);
  });

  test("names it as the journal of a ledger", async () => {
    const ledger = newLedgerFile();
    await call(["init", "--ledger", ledger, "--origin", "example.com/orders"]);
    const file = join(newFolder(), "orders.key");

    const done = await call(["keygen", "--ledger", ledger, "--out", file]);

    expect(done.stdout).toMatch(/^example\.com\/orders\+/);
    expect(done.code).toBe(0);
  });

  test("never puts a key in the place of something else, or beside a ledger", async () => {
    const there = newFile("there.key", "precious");
    const ledger = newLedgerFile();
    const beside = join(ledger, "..", "audit.key");
    await call(["init", "--ledger", ledger]);
    mkdirSync(join(ledger, "..", "keys"));

    expect(await call(["keygen", "--out", there])).toMatchObject({ code: 1, stdout: "" });
    expect(readFileSync(there, "utf8")).toBe("precious");
    for (const out of [beside, join(ledger, "..", "keys", "audit.key")]) {
      for (const args of [
        ["--ledger", ledger, "--out", out],
        ["--out", out, "--origin", "example.com/audit"],
      ]) {
        const done = await call(["keygen", ...args], { env: { RUNLEDGER: ledger } });
        expect(done).toMatchObject({ code: 3, stdout: "" });
        expect(done.stderr).toMatch(/^runledger: KEY_UNSAFE: .*outside the directory of the ledger/);
        expect(existsSync(out)).toBe(false);
      }
    }
  });

  test.each([
    [[]],
    [["--out", ""]],
    [["--out", "k", "--origin", "Not An Origin"]],
    [["--out", "k", "--origin", "a", "--ledger", "b"]],
    [["--out", `PRIVATE+KEY+a+00000000+${"A".repeat(44)}`]],
  ])("with %j is no command line, and shows no key", async (args) => {
    const done = await call(["keygen", ...args]);
    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).not.toContain("A".repeat(20));
  });
});

describe("init --key", () => {
  test("makes a journal that is named as the key, and names it", async () => {
    const [key, ledger] = [join(newFolder(), "audit.key"), newLedgerFile()];
    const { stdout } = await call(["keygen", "--origin", "example.com/audit", "--out", key]);

    const done = await runledger(["init", "--ledger", ledger, "--key", key]);

    const verifier = stdout.trimEnd();
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toBe(`created ${ledger}: example.com/audit, format 1, key ${verifier}\n`);
    expect((await call(["cat", "--ledger", ledger, "#0"])).stdout).toContain(`"key":"${verifier}"`);
    expect((await call(["verify", ledger])).code).toBe(0);
  });

  test("is refused with a key that others can read, or that is beside it, and makes nothing", async () => {
    const key = join(newFolder(), "audit.key");
    await call(["keygen", "--out", key]);
    const ledger = newLedgerFile();
    const beside = join(ledger, "..", "copy.key");
    writeFileSync(beside, readFileSync(key), { mode: 0o600 });
    chmodSync(key, 0o644);

    for (const file of [key, beside]) {
      const done = await call(["init", "--ledger", ledger, "--key", file]);
      expect(done).toMatchObject({ code: 3, stdout: "" });
      expect(done.stderr).toMatch(/^runledger: KEY_UNSAFE: .*\nhint: keep the key in a file of mode 0600/);
    }
    expect(existsSync(ledger)).toBe(false);
  });
});
