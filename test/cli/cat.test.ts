import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import { damage } from "./damage.js";
import { call, jsonLines, ledgerWith, newLedgerFile, runledger } from "./command.js";

describe("cat", () => {
  test("prints the exact bytes of an entry: a zero byte and they hash to its id", async () => {
    const file = newLedgerFile();
    await call(["append", "--ledger", file, "--stream", "log/é"], { input: '{"text":"é \ufffd \\u0000"}\n' });
    const ids = jsonLines((await call(["log", "--ledger", file, "--json"])).stdout).map(({ id }) => id);
    for (const [position, id] of ids.entries()) {
      const done = await runledger(["cat", "--ledger", file, `#${position}`]);
      expect(done).toMatchObject({ code: 0, stderr: "" });
      expect(createHash("sha256").update("\0").update(done.bytes).digest("hex")).toBe(id);
    }
  });

  test("prints a damaged entry as it is, and says that it is", async () => {
    const file = await ledgerWith(3);
    damage(file, "UPDATE entries SET entry = replace(entry, '\"number\":2', '\"number\":9') WHERE seq = 2");
    const done = await call(["cat", "--ledger", file, "#2"]);
    expect(done.code).toBe(1);
    expect(done.stdout).toContain('"number":9');
    expect(done.stderr).toMatch(/^event #2 is damaged: its bytes must hash to [0-9a-f]{64}, found [0-9a-f]{64}\n$/);
  });

  test("prints the exact bytes of a content, chosen by pointer, by number or because it is the only one", async () => {
    const file = newLedgerFile();
    const binary = Uint8Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256);
    const ledger = await openLedger(file);
    await ledger.append("log/a", [
      { type: "line.appended", data: { "a/b": { "c~d": [content(binary)] }, z: content({ b: 1, a: "é" }) } },
      { type: "line.appended", data: { only: content("text\n") } },
    ]);
    await ledger.close();
    const cat = (...args: string[]): ReturnType<typeof runledger> =>
      call(["cat", "--ledger", file, "--content", ...args]);

    expect((await cat("#1", "/a~1b/c~0d/0")).bytes.equals(binary)).toBe(true);
    expect((await cat("#1", "1")).bytes.equals(binary)).toBe(true);
    expect(await cat("#1", "/z")).toMatchObject({ code: 0, stdout: '{"a":"é","b":1}' });
    expect(await cat("#2")).toMatchObject({ code: 0, stdout: "text\n" });
    const ambiguous = await cat("#1");
    expect(ambiguous.code).toBe(1);
    expect(ambiguous.stderr).toContain("choose by number or JSON pointer: 1 /a~1b/c~0d/0, 2 /z");
    expect(await cat("#1", "3")).toMatchObject({ code: 3, stdout: "" });
    expect(await cat("#1", "/none")).toMatchObject({ code: 3, stdout: "" });
    const none = await cat("#0");
    expect(none.code).toBe(3);
    expect(none.stderr).toContain("must name a content, found none");
  });

  test("prints the first entry even when it is damaged and nothing else opens", async () => {
    const file = await ledgerWith(1);
    damage(file, "UPDATE entries SET entry = replace(entry, 'incarnation', 'incarnatiom') WHERE seq = 0");
    expect((await call(["log", "--ledger", file])).code).toBe(1);
    const done = await call(["cat", "--ledger", file, "#0"]);
    expect(done.code).toBe(1);
    expect(done.stdout).toContain("incarnatiom");
  });

  test("of a position that is not there ends with 3", async () => {
    const done = await call(["cat", "--ledger", await ledgerWith(2), "#3"]);
    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain("NOT_FOUND: #3 must name one of 3 events");
  });

  test("does not print a content that was changed", async () => {
    const file = newLedgerFile();
    await call(["append", "--ledger", file, "--stream", "log/a", "--content"], { input: '"abc"\n' });
    damage(file, "UPDATE contents SET bytes = CAST('\"abd\"' AS BLOB)");
    const done = await call(["cat", "--ledger", file, "--content", "@"]);
    expect(done).toMatchObject({ code: 1, stdout: "" });
    expect(done.stderr).toMatch(/^runledger: STORE_DAMAGED: /);
  });

  test.each([[[]], [["@", "/line"]], [["nope"]]])("%j is no command line", async (args) => {
    expect(await call(["cat", "--ledger", newLedgerFile(), ...args])).toMatchObject({ code: 2, stdout: "" });
  });
});
