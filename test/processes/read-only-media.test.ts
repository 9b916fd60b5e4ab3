/** T56: a verifier changes nothing that it looks at: on media that cannot be written, as another user, on a copy. */
import { createHash } from "node:crypto";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import type { EvidenceFile, Ledger } from "../../src/index.js";
import { directory, ledgerPath } from "../engine/fixture.js";

interface Said {
  readonly writable: string;
  readonly verdict: string;
  readonly size: number;
  readonly copied: boolean;
  readonly evidence: { readonly files: readonly EvidenceFile[]; readonly unchanged: boolean };
  readonly text: string;
}

async function filled(path: string): Promise<Ledger> {
  const ledger = await openLedger(path);
  for (let n = 0; n < 20; n++) await ledger.append("a/1", [{ type: "a.b", data: { n } }]);
  return ledger;
}

/** The files of a ledger in a state in which an investigator may find it. */
async function found(suffixes: readonly string[] | null): Promise<string> {
  const path = ledgerPath();
  const ledger = await filled(path);
  if (suffixes === null) {
    await ledger.close();
    return path;
  }
  const copy = ledgerPath();
  for (const suffix of suffixes) copyFileSync(path + suffix, copy + suffix);
  await ledger.close();
  return copy;
}

function hashOf(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}

function hashes(path: string): Readonly<Record<string, string>> {
  const folder = dirname(path);
  return Object.fromEntries(
    readdirSync(folder)
      .sort()
      .map((name) => [name, hashOf(join(folder, name))]),
  );
}

/** Whoever may write makes the index of a log anew when nobody is alive; it holds nothing that the log does not. */
function withoutMemory(files: Readonly<Record<string, string>>, way: string): Readonly<Record<string, string>> {
  return way === "owner" && "state.ledger-shm" in files ? { ...files, "state.ledger-shm": "" } : files;
}

/** Everything is readable, nothing is writable, and nothing belongs to whoever verifies. */
function forbidWriting(path: string): void {
  const folder = dirname(path);
  for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o444);
  chmodSync(folder, 0o555);
}

/** Runs the verifier; private copies are made, and must be gone, in a directory of their own. */
function verified(path: string, how: "user" | "media" | "owner"): Said {
  const program = fileURLToPath(new URL("../children/media-verifier.mjs", import.meta.url));
  const copies = directory();
  chmodSync(copies, 0o777);
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const namespace = how === "media" ? ["unshare", "--mount", ...asRoot] : [];
  const [command, ...args] = [...namespace, process.execPath, program, path, how];

  const child = spawnSync(command, args, { encoding: "utf8", env: { ...process.env, TMPDIR: copies } });

  expect([child.status, child.stderr]).toEqual([0, ""]);
  expect(readdirSync(copies)).toEqual([]);
  return JSON.parse(child.stdout) as Said;
}

const states = [
  ["that was closed", null, false],
  ["whose writer was killed", ["", "-wal", "-shm"], null],
  ["that was copied with its log alone", ["", "-wal"], true],
] as const;
const ways = [
  ["as another user, who may only read", "user", "EACCES"],
  ["on media that are mounted read-only", "media", "EROFS"],
  ["by its owner, where writing is allowed", "owner", "yes"],
] as const;
const cases = states.flatMap(([state, suffixes, isCopied]) =>
  ways.map(([name, way, code]) => [state, name, { suffixes, isCopied, way, code }] as const),
);

test.each(cases)(
  "T56 a ledger %s, verified %s: the evidence is the same before and after, and nothing is beside it",
  async (_, __, { suffixes, isCopied, way, code }) => {
    const path = await found(suffixes);
    if (way === "user") forbidWriting(path);
    const before = hashes(path);

    const said = verified(path, way);

    expect(withoutMemory(hashes(path), way)).toEqual(withoutMemory(before, way));
    expect(said).toMatchObject({ writable: code, verdict: "OK", size: 21, evidence: { unchanged: true } });
    if (isCopied !== null) expect(said.copied).toBe(isCopied);
    const evidence = Object.fromEntries(said.evidence.files.map(({ name, sha256 }) => [name, sha256]));
    const expected = ["", "-wal"].filter((suffix) => suffix === "" || suffixes !== null).map((suffix) => path + suffix);
    expect(evidence).toEqual(Object.fromEntries(expected.map((file) => [file, hashOf(file)])));
    for (const sha256 of Object.values(evidence)) expect(said.text).toContain(sha256);
    chmodSync(dirname(path), 0o755);
  },
);

test("T56 a ledger that a writer has open, verified beside it: file and log are the same before and after", async () => {
  const path = ledgerPath();
  const ledger = await filled(path);
  const before = hashes(path);

  const said = verified(path, "owner");

  expect(withoutMemory(hashes(path), "owner")).toEqual(withoutMemory(before, "owner"));
  expect(said).toMatchObject({ writable: "yes", verdict: "OK", size: 21, copied: false });
  expect(said.evidence.files.map(({ sha256 }) => sha256)).toEqual([before["state.ledger"], before["state.ledger-wal"]]);
  await ledger.append("a/1", [{ type: "a.b", data: {} }]);
  await ledger.close();
});
