/** What a checkpoint that was kept elsewhere finds and the ledger alone does not, on real files: each attack with both
 *  verdicts. */
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { entryId } from "../../src/index.js";
import { completedNodes } from "../../src/engine/tree-nodes.js";
import { call, jsonLines, newFile, newFolder, newLedgerFile, numberedLines, runledger } from "./command.js";
import { damage, withoutGuards } from "./damage.js";

interface Signed {
  readonly ledger: string;
  /** The file of the signer key, and the verifier key. */
  readonly key: string;
  readonly verifier: string;
}

/** A ledger with a key, 300 events and a stored checkpoint of them. */
async function signedLedger(): Promise<Signed> {
  const ledger = newLedgerFile();
  const key = join(newFolder(), "audit.key");
  const made = await call(["keygen", "--origin", "example.com/audit", "--out", key]);
  await call(["init", "--ledger", ledger, "--key", key]);
  await append(ledger, 300);
  await checkpoint({ ledger, key }, "--store");
  return { ledger, key, verifier: made.stdout.trimEnd() };
}

async function append(ledger: string, events: number): Promise<void> {
  const done = await call(["append", "--ledger", ledger, "--stream", "log/a", "--batch", "1"], {
    input: numberedLines(events),
  });
  expect(done.code).toBe(0);
}

/** Makes a checkpoint and keeps it in a file of its own. */
async function checkpoint({ ledger, key }: Pick<Signed, "ledger" | "key">, ...more: string[]): Promise<string> {
  const done = await call(["checkpoint", "--ledger", ledger, "--key", key, ...more]);
  expect(done.code).toBe(0);
  return newFile("audit.checkpoint", done.stdout);
}

/** Changes the data of one event, hashes every later entry anew, and makes the nodes of the tree anew. */
async function writeAnew(file: string, position: number): Promise<void> {
  const ids: string[] = [];
  withoutGuards(file, (database) => {
    const rows = database.prepare("SELECT seq, entry FROM entries ORDER BY seq").all() as {
      seq: number;
      entry: string;
    }[];
    const put = database.prepare("UPDATE entries SET entry = ?, id = ? WHERE seq = ?");
    for (const { seq, entry } of rows) {
      const changed =
        seq === position
          ? entry.replace(/"number":\d+/, '"number":0')
          : entry.replace(/"prev":"[0-9a-f]{64}"/, `"prev":"${ids.at(-1) ?? "0".repeat(64)}"`);
      ids.push(entryId(changed));
      put.run(changed, Buffer.from(entryId(changed), "hex"), seq);
    }
  });
  for (const { level, n, hash } of await completedNodes({ ids: async () => [], nodes: async () => [] }, 0, ids))
    damage(file, "UPDATE nodes SET hash = ? WHERE level = ? AND n = ?", Buffer.from(hash, "hex"), level, n);
}

/** Cuts off the events from a position on, with everything that tells of them. */
function cut(file: string, size: number): void {
  damage(file, "DELETE FROM entries WHERE seq >= ?", size);
  damage(file, "UPDATE streams SET rev = ?, last_seq = ? WHERE name = 'log/a'", size - 1, size - 1);
}

/** The verdict of a ledger by itself, and that of `verify --from`. */
async function verdicts(ledger: string, from: string, verifier: string): Promise<readonly [string, string, number]> {
  const [alone] = jsonLines((await call(["verify", ledger, "--json"])).stdout);
  expect(alone).toMatchObject({ findings: [], anchored: { to: null, unanchored: alone?.["size"] } });
  const held = await call(["verify", ledger, "--from", from, "--key", verifier, "--json"]);
  const [report] = jsonLines(held.stdout);
  const [finding] = (report?.["findings"] ?? []) as { code: string }[];
  return [String(alone?.["verdict"]), finding?.code ?? "none", held.code ?? -1];
}

describe("a checkpoint that was kept elsewhere", () => {
  test("anchors a ledger in order, through the command as its users run it", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const from = await checkpoint({ ledger, key });
    await append(ledger, 5);
    const before = readFileSync(ledger);

    const done = await runledger(["verify", ledger, "--from", from, "--key", verifier, "--require-anchor"]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toContain(
      "info      anchored   to #300 by checkpoint given with --from; 5 later events rest on this ledger alone\n",
    );
    expect(done.stdout).toMatch(/\ninfo {6}signed {5}to #300 by example\.com\/audit\+[0-9a-f]{8}\n/);
    expect(readFileSync(ledger)).toEqual(before);
  });

  test("is read from standard input too, and keys from files", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const input = readFileSync(await checkpoint({ ledger, key }));
    const done = await call(["verify", ledger, "--from", "-", "--key", newFile("audit.vkey", `${verifier}\n`)], {
      input,
    });

    expect(done.code).toBe(0);
    expect(done.stdout).toContain("to #300 by checkpoint given with --from; nothing came later");
  });

  test.each([300, 150, 1])("T05 T02 shows that #%d was written anew with all that follows", async (position) => {
    const { ledger, key, verifier } = await signedLedger();
    const from = await checkpoint({ ledger, key });
    await writeAnew(ledger, position);
    damage(ledger, "DELETE FROM checkpoints");

    expect(await verdicts(ledger, from, verifier)).toEqual(["OK", "E_INCONSISTENT", 1]);
    const done = await runledger(["verify", ledger, "--from", from]);
    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(
      /\nFAIL {6}checkpoint given checkpoint of 301 {3}E_INCONSISTENT {3}want [0-9a-f]{12}… have /,
    );
    expect(done.stdout).toMatch(/\nverdict {3}TAMPERED {3}1 finding; 301 entries checked\n/);
  });

  test.each([300, 290, 260])("J01 shows that the ledger was cut to %d events", async (size) => {
    const { ledger, key, verifier } = await signedLedger();
    const from = await checkpoint({ ledger, key });
    damage(ledger, "DELETE FROM checkpoints");
    cut(ledger, size);

    expect(await verdicts(ledger, from, verifier)).toEqual(["OK", "E_SHORTER_THAN_CHECKPOINT", 1]);
    const done = await runledger(["verify", ledger, "--from", from]);
    expect(done.stdout).toMatch(
      new RegExp(
        `want 301 entries, root [0-9a-f]{12}… have ${size} entries, head [0-9a-f]{12}…: the journal ends with`,
      ),
    );
  });

  test("is read out of a log or a mail, which changed what stands around its lines", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const text = readFileSync(await checkpoint({ ledger, key }), "utf8");

    for (const kept of [
      text.trimEnd(),
      `\n${text}\n\n`,
      text.replaceAll("\n", "\r\n"),
      text.replaceAll(/^(?=.)/gm, "    "),
    ]) {
      const done = await call(["verify", ledger, "--from", newFile("kept", kept), "--key", verifier]);
      expect(done.stdout).toMatch(/\nverdict +OK /);
      const other = kept.replace(/\b301\b/, "300");
      expect((await call(["verify", ledger, "--from", newFile("kept", other), "--key", verifier])).code).toBe(1);
    }
  });

  test("T20 shows that an older copy was put back, or says how old it is", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const older = await checkpoint({ ledger, key });
    const copy = join(newFolder(), "copy.ledger");
    copyFileSync(ledger, copy);
    await append(ledger, 10);
    const newer = await checkpoint({ ledger, key });
    copyFileSync(copy, ledger);

    expect(await verdicts(ledger, newer, verifier)).toEqual(["OK", "E_SHORTER_THAN_CHECKPOINT", 1]);
    const stale = await call(["verify", ledger, "--from", older, "--key", verifier]);
    expect(stale.code).toBe(0);
    expect(stale.stdout).toMatch(/\ninfo {6}age {8}#300 is of 20\d\d-\S+Z, .* ago\n/);
  });

  test("T08 T21 shows that an older copy was put back and written on, and fork-check prints who signed for both", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const copy = join(newFolder(), "copy.ledger");
    copyFileSync(ledger, copy);
    await append(ledger, 10);
    const from = await checkpoint({ ledger, key }, "--store");
    await append(copy, 10);
    await checkpoint({ ledger: copy, key }, "--store");
    await append(copy, 1);

    expect(await verdicts(copy, from, verifier)).toEqual(["OK", "E_INCONSISTENT", 1]);
    const done = await runledger(["fork-check", ledger, copy, "--key", verifier]);
    expect(done).toMatchObject({ code: 1, stderr: "" });
    expect(done.stdout).toMatch(/\ncommon {4}#300 [0-9a-f]{64}\n/);
    expect(done.stdout).toMatch(
      /\nproof {5}two checkpoints of 311 events with different roots, both signed by example\.com/,
    );
    expect(done.stdout).toContain(readFileSync(from, "utf8"));
    expect(done.stdout).toMatch(/\nverdict {3}FORKED: #301 is [0-9a-f]{64} in a and [0-9a-f]{64} in b\n$/);
  });

  test("that nobody gave: with a key it cannot be decided, and where an anchor is required it is 4", async () => {
    const { ledger, verifier } = await signedLedger();
    const other = join(newFolder(), "other.key");
    const { stdout: stranger } = await call(["keygen", "--origin", "example.com/audit", "--out", other]);

    expect((await call(["verify", ledger, "--key", verifier])).code).toBe(0);
    expect((await call(["verify", ledger, "--key", stranger.trimEnd()])).code).toBe(3);
    const unanchored = await runledger(["verify", ledger, "--key", verifier, "--require-anchor"]);
    expect(unanchored.code).toBe(4);
    expect(unanchored.stdout).toContain(
      "verdict   UNANCHORED in order by itself, and no checkpoint from outside vouches",
    );
    expect((await call(["verify", ledger, "--quick", "--key", verifier])).code).toBe(0);
  });

  test("T04 is missing after the rewritten ledger lost its checkpoints", async () => {
    const { ledger, verifier } = await signedLedger();
    await writeAnew(ledger, 150);
    expect((await call(["verify", ledger])).stdout).toContain("E_ROOT");
    damage(ledger, "DELETE FROM checkpoints");

    expect((await call(["verify", ledger])).code).toBe(0);
    const done = await call(["verify", ledger, "--key", verifier]);
    expect(done.code).toBe(3);
    expect(done.stdout).toContain("W_CHECKPOINT_MISSING");
  });

  test("T28 has nothing to do with a node of the tree that was changed: the journal itself is in order", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const from = await checkpoint({ ledger, key });
    damage(ledger, "UPDATE nodes SET hash = zeroblob(32)");

    const done = await runledger(["verify", ledger, "--from", from, "--key", verifier]);
    expect(done.code).toBe(1);
    expect(done.stdout).toMatch(/\nFAIL {6}tree {7}nodes 1\/0 {3}E_CACHE /);
    expect(done.stdout).toContain("info      anchored   to #300 ");
    expect(done.stdout).toContain(
      "verdict   DERIVED    1 finding; the journal itself is in order; 301 entries checked\n",
    );
  });
});

describe("the command line", () => {
  test.each([
    [["--quick", "--require-anchor"]],
    [["--key", "example.com/audit+00000000+AQ=="]],
    [["--key", `PRIVATE+KEY+a+00000000+${"A".repeat(44)}`]],
    [["--from"]],
  ])("with %j is none", async (args) => {
    const done = await call(["verify", newLedgerFile(), ...args]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).not.toContain("A".repeat(20));
  });

  test("that names a checkpoint or a key that is not there cannot be decided", async () => {
    const { ledger } = await signedLedger();

    for (const option of ["--from", "--key"]) {
      const done = await call(["verify", ledger, option, join(newFolder(), "none")]);
      expect(done).toMatchObject({ code: 3, stdout: "" });
      expect(done.stderr).toMatch(/^runledger: NOT_FOUND: /);
    }
  });

  test("that names something else for a checkpoint: refused as evidence", async () => {
    const { ledger } = await signedLedger();
    const done = await call(["verify", ledger, "--from", newFile("notes.txt", "hello\n")]);

    expect(done.code).toBe(1);
    expect(done.stdout).toContain("given checkpoint   E_CHECKPOINT");
  });
});

describe("fork-check", () => {
  test("ends with 0 for a copy, an older copy and an older checkpoint", async () => {
    const { ledger, key, verifier } = await signedLedger();
    const copy = join(newFolder(), "copy.ledger");
    copyFileSync(ledger, copy);
    const from = await checkpoint({ ledger, key });
    const before = readFileSync(ledger);
    expect((await call(["fork-check", ledger, copy])).stdout).toContain("verdict   SAME: both have the same entries\n");
    await append(copy, 3);

    const done = await runledger(["fork-check", ledger, copy, "--key", verifier]);
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout).toContain("verdict   PREFIX: a is where b begins: b has 3 more\n");
    expect(await call(["fork-check", copy, from, "--key", verifier])).toMatchObject({ code: 0 });
    expect(readFileSync(ledger)).toEqual(before);
  });

  test("ends with 3 for two journals, and for what is none", async () => {
    const [one, two] = [await signedLedger(), newLedgerFile()];
    await append(two, 3);

    expect((await call(["fork-check", one.ledger, two])).stdout).toContain(
      "verdict   UNRELATED: a is example.com/audit, b is ",
    );
    expect((await call(["fork-check", one.ledger, two])).code).toBe(3);
    expect(await call(["fork-check", one.ledger, join(newFolder(), "none")])).toMatchObject({ code: 3, stdout: "" });
  });

  test("shows with --json one object with stable keys", async () => {
    const { ledger } = await signedLedger();
    const [report, another] = jsonLines((await call(["fork-check", ledger, ledger, "--json"])).stdout);

    expect(another).toBeUndefined();
    expect(Object.keys(report ?? {})).toEqual(["verdict", "reason", "a", "b", "common", "equivocation", "exitCode"]);
  });
});
