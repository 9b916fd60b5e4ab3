import { execFileSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { openNote } from "../journal/second-implementation.js";
import { call, jsonLines, ledgerWith, newFile, newFolder, newLedgerFile, numberedLines, runledger } from "./command.js";

interface Kept {
  readonly ledger: string;
  readonly key: string;
  readonly verifier: string;
}

async function newKey(name: string): Promise<{ readonly key: string; readonly verifier: string }> {
  const key = join(newFolder(), `${name}.key`);
  const { stdout } = await call(["keygen", "--origin", "example.com/audit", "--out", key]);
  return { key, verifier: stdout.trimEnd() };
}

/** A ledger with a key and events, closed. */
async function keptLedger(events: number): Promise<Kept> {
  const ledger = newLedgerFile();
  const { key, verifier } = await newKey("first");
  await call(["init", "--ledger", ledger, "--key", key]);
  await append(ledger, events);
  return { ledger, key, verifier };
}

async function append(ledger: string, events: number): Promise<void> {
  expect((await call(["append", "--ledger", ledger, "--stream", "log/a"], { input: numberedLines(events) })).code).toBe(
    0,
  );
}

describe("checkpoint", () => {
  test("prints a note that the key signed, and changes nothing", async () => {
    const { ledger, key, verifier } = await keptLedger(4);
    const before = readFileSync(ledger);

    const done = await runledger(["checkpoint", "--ledger", ledger, "--key", key]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(openNote(done.stdout, verifier)).toMatchObject({ origin: "example.com/audit", size: 5 });
    expect(readFileSync(ledger)).toEqual(before);
    expect((await call(["checkpoint", "--ledger", ledger, "--key", key])).stdout).toBe(done.stdout);
  });

  test("says with --json what it is of", async () => {
    const { ledger, key } = await keptLedger(4);
    const done = await call(["checkpoint", "--ledger", ledger, "--key", key, "--size", "2", "--json"]);

    const [said] = jsonLines(done.stdout);
    expect(Object.keys(said ?? {})).toEqual(["origin", "size", "root", "signed", "stored", "note"]);
    expect(said).toMatchObject({ origin: "example.com/audit", size: 2, signed: true, stored: false });
    expect(said?.["root"]).toMatch(/^[0-9a-f]{64}$/);
  });

  test("ends with 3 when the key that must sign is not there", async () => {
    const { ledger } = await keptLedger(1);
    const other = await newKey("other");

    for (const args of [[], ["--key", other.key]]) {
      const done = await call(["checkpoint", "--ledger", ledger, ...args]);
      expect(done).toMatchObject({ code: 3, stdout: "" });
      expect(done.stderr).toMatch(/^runledger: KEY_REQUIRED: a checkpoint of 2 entries must be signed by example\.com/);
    }
  });

  test("says that nobody signed where the journal has no key", async () => {
    const ledger = await ledgerWith(3);
    const done = await call(["checkpoint", "--ledger", ledger]);

    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(/^runledger\/[a-z2-7]{26}\n4\n[A-Za-z0-9+/]{43}=\n$/);
    expect(done.stderr).toBe("note: nobody signed this: the journal had no key at 4 events\n");
  });

  test("is kept with --store, where cp:latest finds it", async () => {
    const { ledger, key } = await keptLedger(4);
    await call(["checkpoint", "--ledger", ledger, "--key", key]);
    expect((await call(["show", "--ledger", ledger, "cp:latest"])).code).toBe(3);

    const done = await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    await append(ledger, 3);

    const kept = await openLedger(ledger, { readOnly: true });
    expect((await kept.checkpoints()).map(({ note }) => note)).toEqual([done.stdout]);
    await kept.close();
    const log = await call(["log", "--ledger", ledger, "--json", "..cp:latest"]);
    expect(jsonLines(log.stdout)).toHaveLength(5);
    expect((await call(["verify", ledger])).code).toBe(0);
  });

  test("changes the key that signs from here on", async () => {
    const { ledger, key, verifier } = await keptLedger(2);
    const second = await newKey("second");
    const change = ["checkpoint", "--ledger", ledger, "--change-key", second.key];
    expect((await call(change)).code).toBe(3);

    const done = await runledger([...change, "--key", key]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    for (const each of [verifier, second.verifier]) expect(openNote(done.stdout, each)).toMatchObject({ size: 4 });
    await append(ledger, 1);
    expect((await call(["checkpoint", "--ledger", ledger, "--key", key])).code).toBe(3);
    const later = await call(["checkpoint", "--ledger", ledger, "--key", second.key]);
    expect(openNote(later.stdout, second.verifier)).toMatchObject({ size: 5 });
    expect(openNote(later.stdout, verifier)).toBeNull();
  });

  test("gives a journal that has none its key", async () => {
    const ledger = newLedgerFile();
    await call(["init", "--ledger", ledger, "--origin", "example.com/audit"]);
    const { key, verifier } = await newKey("first");
    expect((await call(["checkpoint", "--ledger", ledger, "--key", key])).code).toBe(3);

    const done = await call(["checkpoint", "--ledger", ledger, "--change-key", key]);

    expect(openNote(done.stdout, verifier)).toMatchObject({ size: 2 });
  });

  test.each([
    [["--size", "0"]],
    [["--size", "1e3"]],
    [["--size", "1", "--change-key", "k"]],
    [["--key", `PRIVATE+KEY+a+00000000+${"A".repeat(44)}`]],
    [["--key", ""]],
    [["extra"]],
  ])("with %j is no command line", async (args) => {
    const done = await call(["checkpoint", "--ledger", newLedgerFile(), ...args]);
    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).not.toContain("A".repeat(20));
  });

  test("beyond the journal, or of none, is an error", async () => {
    expect(await call(["checkpoint", "--ledger", await ledgerWith(2), "--size", "4"])).toMatchObject({
      code: 1,
      stdout: "",
    });
    const none = newLedgerFile();
    for (const args of [[], ["--store"]])
      expect(await call(["checkpoint", "--ledger", none, ...args])).toMatchObject({ code: 3, stdout: "" });
  });

  test("holds a signature that openssl accepts", async ({ skip }) => {
    if (!hasOpenssl()) return skip("openssl is not installed");
    const { ledger, key, verifier } = await keptLedger(4);
    const { stdout: note } = await call(["checkpoint", "--ledger", ledger, "--key", key]);
    const text = note.slice(0, note.indexOf("\n\n") + 1);
    const signature = Buffer.from(note.slice(note.lastIndexOf(" ") + 1, -1), "base64").subarray(4);
    const publicKey = Buffer.from(verifier.split("+").slice(2).join("+"), "base64").subarray(1);
    const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), publicKey]);

    const verify = (signed: string): string =>
      execFileSync(
        "openssl",
        ["pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", newFile("key.der", spki)].concat([
          "-rawin",
          "-in",
          newFile("text", signed),
          "-sigfile",
          newFile("signature", signature),
        ]),
        { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] },
      );

    expect(verify(text)).toContain("Signature Verified Successfully");
    expect(() => verify(text.replace("\n5\n", "\n6\n"))).toThrow();
  });
});

describe("prove and check-proof", () => {
  test("show somebody without the ledger that an event is in it", async () => {
    const { ledger, key, verifier } = await keptLedger(300);
    await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    await append(ledger, 5);
    const proof = newFile("event.tlog-proof", (await runledger(["prove", "--ledger", ledger, "#17"])).stdout);
    const entry = newFile("event.entry", (await runledger(["cat", "--ledger", ledger, "#17"])).bytes);

    const done = await runledger(["check-proof", proof, "--entry", entry, "--key", verifier]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    const lines = done.stdout.split("\n");
    expect(lines[0]).toBe("proof      #17 is in the journal of 301 events");
    expect(lines[2]).toBe(`ok         signature    of ${verifier}`);
    expect(lines[3]).toMatch(/^ok {9}inclusion {4}[0-9a-f]{64} is #17 of 301$/);
    expect(lines[4]).toBe("verdict    VERIFIED");
    const keyFile = newFile("audit.vkey", `${verifier}\n`);
    expect(
      (await call(["check-proof", "-", "--entry", entry, "--key", keyFile], { input: readFileSync(proof) })).code,
    ).toBe(0);
  });

  test("say what was not given, and end with 3", async () => {
    const { ledger, key, verifier } = await keptLedger(3);
    await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    const proof = newFile("proof", (await call(["prove", "--ledger", ledger, "@"])).stdout);
    const entry = newFile("entry", (await call(["cat", "--ledger", ledger, "@"])).bytes);

    for (const [args, unchecked] of [
      [[], ["signature", "inclusion"]],
      [["--key", verifier], ["inclusion"]],
      [["--entry", entry], ["signature"]],
    ] as const) {
      const done = await call(["check-proof", proof, ...args, "--json"]);
      expect(done.code).toBe(3);
      const [report] = jsonLines(done.stdout) as [{ verdict: string; checks: { check: string; result: string }[] }];
      expect(report.verdict).toBe("UNDECIDED");
      expect(report.checks.filter(({ result }) => result === "unchecked").map(({ check }) => check)).toEqual(unchecked);
    }
  });

  test("take one key and one checkpoint, and say so when they are given two", async () => {
    const proof = newFile("proof", "c2sp.org/tlog-proof@v1\n");

    for (const option of ["--key", "--from"]) {
      const { code, stderr } = await call(["check-proof", proof, option, "a+b", option, "c+d"]);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`${option} may be given once`)]);
    }
  });

  test("refuse another event, another key, and a proof that was touched", async () => {
    const { ledger, key, verifier } = await keptLedger(9);
    await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    const other = await newKey("other");
    const text = (await call(["prove", "--ledger", ledger, "#4"])).stdout;
    const proof = newFile("proof", text);
    const entry = newFile("entry", (await call(["cat", "--ledger", ledger, "#4"])).bytes);
    const wrong = newFile("wrong", (await call(["cat", "--ledger", ledger, "#5"])).bytes);
    const check = async (...args: string[]): Promise<number | null> => (await call(["check-proof", ...args])).code;

    expect(await check(proof, "--entry", entry, "--key", verifier)).toBe(0);
    expect(await check(proof, "--entry", wrong, "--key", verifier)).toBe(1);
    expect(await check(proof, "--entry", entry, "--key", other.verifier)).toBe(1);
    for (const touched of [
      text.replace("index 4", "index 5"),
      text.replace("index 4", "index 04"),
      text.replace("\n10\n", "\n11\n"),
      text.replace(/\n\n.*\n/, "\n\nexample.com/other\n"),
      text.replace("v1\n", "v2\n"),
      text.slice(0, -1),
      text.slice(0, text.indexOf("\n\n", text.indexOf("\n\n") + 1) + 1),
      "",
    ])
      expect(await check(newFile("touched", touched), "--entry", entry, "--key", verifier)).toBe(1);
    expect(await check(join(newFolder(), "none"), "--entry", entry)).toBe(3);
    // Nothing that large is a proof, and not all of it is read to know.
    if (process.platform === "linux") expect(await check("/dev/zero", "--entry", entry)).toBe(1);
    expect(await check(proof, "--key", "nonsense+key")).toBe(2);
  });

  test("take nobody's key on the word of the proof, and show no key that was given by mistake", async () => {
    const { ledger, key } = await keptLedger(3);
    await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    const proof = newFile("proof", (await call(["prove", "--ledger", ledger, "@"])).stdout);
    const secret = readFileSync(key, "utf8").trimEnd();

    for (const given of [secret, key]) {
      const done = await call(["check-proof", proof, "--key", given]);
      expect(done).toMatchObject({ code: 2, stdout: "" });
      expect(done.stderr).not.toContain(secret.slice(-44, -20));
    }
  });

  test("prove answers with --json what can be computed with", async () => {
    const { ledger } = await keptLedger(3);
    const done = await call(["prove", "--ledger", ledger, "#1", "--size", "3", "--json"]);

    const [made] = jsonLines(done.stdout);
    expect(Object.keys(made ?? {})).toEqual(["position", "id", "size", "root", "proof", "checkpoint", "text"]);
    expect(made).toMatchObject({ position: 1, size: 3 });
    expect((await call(["prove", "--ledger", ledger, "#9"])).code).toBe(3);
    expect((await call(["prove", "--ledger", ledger, "#3", "--size", "3"])).code).toBe(1);
    expect((await call(["prove", "--ledger", ledger, "#3", "--size", "9"])).code).toBe(1);
  });
});

describe("consistency and check-proof", () => {
  test("show whoever kept a checkpoint that the journal still begins with it", async () => {
    const { ledger, key, verifier } = await keptLedger(70);
    const kept = newFile("kept", (await call(["checkpoint", "--ledger", ledger, "--key", key])).stdout);
    await append(ledger, 500);
    await call(["checkpoint", "--ledger", ledger, "--key", key, "--store"]);
    const proof = newFile("proof", (await runledger(["consistency", "--ledger", ledger, kept])).stdout);

    const done = await runledger(["check-proof", proof, "--from", kept, "--key", verifier]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toMatch(/^proof {6}the journal of 571 events begins with that of 71\n/);
    expect(done.stdout).toMatch(/\nok {9}consistency {2}the 571 entries begin with those 71\nverdict {4}VERIFIED\n$/);
    expect((await call(["check-proof", proof, "--key", verifier])).code).toBe(3);
    const later = newFile(
      "later",
      (await call(["checkpoint", "--ledger", ledger, "--key", key, "--size", "400"])).stdout,
    );
    expect((await call(["check-proof", proof, "--from", later, "--key", verifier])).code).toBe(1);
    const both = await call(["consistency", "--ledger", ledger, kept, later]);
    expect(both.stdout.endsWith(readFileSync(later, "utf8"))).toBe(true);
    expect((await call(["check-proof", newFile("both", both.stdout), "--from", kept, "--key", verifier])).code).toBe(0);
  });

  test("takes sizes too", async () => {
    const ledger = await ledgerWith(9);
    const done = await call(["consistency", "--ledger", ledger, "3", "7"]);

    expect(done.stdout).toMatch(/^old 3\n([A-Za-z0-9+/]{43}=\n){4}\nrunledger\/[a-z2-7]{26}\n7\n[A-Za-z0-9+/]{43}=\n$/);
    expect((await call(["consistency", "--ledger", ledger, "3"])).stdout).toContain("\n10\n");
    const [said] = jsonLines((await call(["consistency", "--ledger", ledger, "10", "--json"])).stdout);
    expect(Object.keys(said ?? {})).toEqual(["size1", "root1", "size2", "root2", "proof", "checkpoint", "text"]);
    expect(said).toMatchObject({ size1: 10, size2: 10, proof: [] });
    for (const [args, code] of [
      [["7", "3"], 2],
      [["0"], 2],
      [["007"], 2],
      [["11"], 3],
      [["3", "11"], 3],
      [["nowhere"], 3],
      [[newFile("nonsense", "nonsense\n")], 1],
    ] as const)
      expect(await call(["consistency", "--ledger", ledger, ...args])).toMatchObject({ code, stdout: "" });
  });

  test("refuses a ledger that was put back, cut or written anew, and one that is another", async () => {
    const { ledger, key } = await keptLedger(5);
    const old = join(newFolder(), "state.ledger");
    copyFileSync(ledger, old);
    await append(ledger, 3);
    const kept = newFile("kept", (await call(["checkpoint", "--ledger", ledger, "--key", key])).stdout);
    const forked = join(newFolder(), "state.ledger");
    copyFileSync(old, forked);
    await append(forked, 4);

    for (const [file, message] of [
      [old, "the journal must have 9 entries or more, as a checkpoint says, found 6"],
      [forked, "the first 9 entries must have the root"],
      [await ledgerWith(20), "the journal must be example.com/audit, as the checkpoint says, found runledger/"],
    ] as const) {
      const done = await call(["consistency", "--ledger", file, kept]);
      expect(done).toMatchObject({ code: 1, stdout: "" });
      expect(done.stderr).toContain(`runledger: STORE_ROLLED_BACK: ${message}`);
    }
    // The smaller end fits both; the larger one is of the other.
    const early = newFile(
      "early",
      (await call(["checkpoint", "--ledger", forked, "--key", key, "--size", "5"])).stdout,
    );
    const done = await call(["consistency", "--ledger", forked, early, kept]);
    expect(done.stderr).toContain("runledger: STORE_ROLLED_BACK: the first 9 entries must have the root");
    expect((await call(["consistency", "--ledger", ledger, early, kept])).code).toBe(0);
  });
});

test("the private key stands in no file of the ledger and in nothing that is said", async () => {
  const { ledger, key } = await keptLedger(20);
  const second = await newKey("second");
  const said: string[] = [];
  for (const args of [
    ["checkpoint", "--key", key, "--store"],
    ["checkpoint", "--key", second.key],
    ["checkpoint", "--key", key, "--change-key", second.key, "--json"],
    ["status", "--json"],
    ["log", "-p"],
    ["show", "#0"],
    ["verify", "--json"],
  ]) {
    const [verb = "", ...rest] = args;
    const { stdout, stderr } = await runledger([verb, "--ledger", ledger, ...rest]);
    said.push(stdout, stderr);
  }

  const files = [readFileSync(ledger), Buffer.from(said.join("\n"))];
  for (const file of [key, second.key]) {
    const encoded = readFileSync(file, "utf8").trimEnd().split("+").slice(4).join("+");
    const seed = Buffer.from(encoded, "base64").subarray(1);
    expect(seed).toHaveLength(32);
    for (const bytes of files)
      for (const form of [
        seed,
        Buffer.from(encoded),
        Buffer.from(seed.toString("hex")),
        Buffer.from(seed.toString("base64")),
      ])
        expect(bytes.includes(form)).toBe(false);
  }
});

function hasOpenssl(): boolean {
  try {
    execFileSync("openssl", ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
