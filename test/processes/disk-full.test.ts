import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { directory } from "../engine/fixture.js";

interface Said {
  readonly acknowledged?: number;
  readonly refused?: number;
  readonly part?: number;
  readonly position?: number;
  readonly code?: string;
  readonly recovered?: number;
  readonly verdict?: string;
  readonly findings?: number;
  readonly stored?: readonly (readonly [number, number, number])[];
}

test("K01 a full disk acknowledges nothing, and the same ledger works again when there is room", () => {
  const program = fileURLToPath(new URL("../children/disk-full.mjs", import.meta.url));
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];

  const child = spawnSync("unshare", ["--mount", ...asRoot, process.execPath, program, directory()], {
    encoding: "utf8",
  });

  expect([child.status, child.stderr]).toEqual([0, ""]);
  const said = child.stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Said);
  const refused = said.filter((each) => each.refused !== undefined);
  expect(refused.length).toBeGreaterThanOrEqual(6);
  expect(new Set(refused.map((each) => each.code))).toEqual(new Set(["STORE_FULL"]));
  expect(said.find((each) => each.recovered !== undefined)).toEqual({ recovered: 20 });
  const end = said.at(-1)!;
  expect([end.verdict, end.findings]).toEqual(["OK", 0]);
  const acknowledged = said
    .filter((each) => each.acknowledged !== undefined)
    .map((each) => [each.position, each.acknowledged, each.part]);
  expect(end.stored).toEqual(acknowledged);
});
