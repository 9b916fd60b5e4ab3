/** Text that grows by `+=` alone takes 32 bytes a step until it is made flat, so that a value of a few bytes, unfolded
 *  to the size that a content may have, ended the process before it met the limit. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

test("T44 eight million units in small pieces meet their limit in a heap of 96 MiB", () => {
  const program = fileURLToPath(new URL("../children/unfold.mjs", import.meta.url));

  const said = execFileSync(process.execPath, ["--max-old-space-size=96", program, String(8 * 1024 * 1024)], {
    encoding: "utf8",
  });

  expect(said).toBe("LIMIT_EXCEEDED\n");
});
