/** What the demo does when it cannot do what it shows; that it can is a step of `.ci/run`. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { call, newFolder, runledger } from "./command.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

test("the demo ends with 1 and says what did not hold, in the folder that it names", async () => {
  const folder = newFolder();
  vi.stubEnv("TMPDIR", folder);
  // Among the sources there is no command that it could start.
  const done = await call(["demo"]);

  expect(done.code).toBe(1);
  expect(done.stderr).toMatch(/^demo: it hashed \d+ files, and ended with 0: this did not hold, found /);
  expect(done.stdout).toContain(join(folder, readdirSync(folder)[0]!));
  expect(done.stdout).not.toContain("Try next");
});

test("the demo ends with 3 where it cannot make a folder", async () => {
  const done = await runledger(["demo"], { env: { TMPDIR: join(newFolder(), "none") } });

  expect(done).toMatchObject({ code: 3, stdout: "" });
  expect(done.stderr).toMatch(/STORE_UNAVAILABLE: .*none must be a folder that can be written to, found ENOENT/);
});
