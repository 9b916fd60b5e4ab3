import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { newFolder } from "../cli/command.js";

interface Said {
  readonly code: number;
  readonly bytes: number;
  readonly stderr: string;
  readonly run: object | null;
  readonly captures: readonly object[];
  readonly verdict: string;
  readonly findings: number;
}

function onFullDisk(end: "frees" | "stays" | "before"): Said {
  const program = fileURLToPath(new URL("../children/exec-disk-full.mjs", import.meta.url));
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const child = spawnSync("unshare", ["--mount", ...asRoot, process.execPath, program, newFolder(), end], {
    encoding: "utf8",
  });
  expect([child.status, child.stderr]).toEqual([0, ""]);
  return JSON.parse(child.stdout) as Said;
}

describe("a disk that is full while output is captured", () => {
  test("ends the capture with the reason, and neither the command nor its output nor its exit code", () => {
    const said = onFullDisk("frees");
    expect([said.code, said.bytes]).toEqual([4, 6_000_000]);
    expect(said.stderr).toMatch(/the output of command\.1 is not on record to its end: /);
    expect(said.run).toMatchObject({ status: "failed", exit: { code: 4 } });
    expect(said.captures).toMatchObject([{ status: "failed", failure: { code: "STORE_FULL" } }]);
    expect([said.verdict, said.findings]).toEqual(["OK", 0]);
  });

  test("and stays so has the exit code of the command all the same, and a sentence that its end is not on record", () => {
    const said = onFullDisk("stays");
    expect([said.code, said.bytes]).toEqual([4, 6_000_000]);
    expect(said.stderr).toMatch(/the end of the command is not on record: /);
    expect(said.run).toMatchObject({ status: "running", attempt: "command.1" });
    expect(said.captures).toMatchObject([{ status: "recording" }]);
    expect([said.verdict, said.findings]).toEqual(["OK", 0]);
  });
});

test("a disk that is full before the command is on record refuses it, and runs nothing", () => {
  const said = onFullDisk("before");
  expect([said.code, said.bytes]).toEqual([1, 0]);
  expect(said.stderr).toMatch(/^runledger: STORE_FULL: /);
  expect([said.run, said.captures]).toEqual([null, []]);
  expect([said.verdict, said.findings]).toEqual(["OK", 0]);
});
