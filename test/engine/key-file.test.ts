import { execFileSync } from "node:child_process";
import { chmodSync, linkSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readKeyFile, writeKeyFile } from "../../src/engine/key-file.js";
import { directory } from "./fixture.js";

const text = "PRIVATE+KEY+example.com/orders+9baf461a+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f\n";

function keyIn(folder: string, mode = 0o600, content = text): string {
  const file = join(folder, "orders.key");
  writeFileSync(file, content, { mode });
  chmodSync(file, mode);
  return file;
}

describe("a key file", () => {
  test("is read when its owner alone can", async () => {
    expect(await readKeyFile(keyIn(directory()), join(directory(), "state.ledger"))).toBe(text);
    expect(await readKeyFile(keyIn(directory(), 0o400), null)).toBe(text);
  });

  test.each([0o604, 0o640, 0o660, 0o644, 0o601, 0o777])("of mode %o is refused", async (mode) => {
    await expect(readKeyFile(keyIn(directory(), mode), null)).rejects.toMatchObject({
      code: "KEY_UNSAFE",
      details: { found: `the mode 0${mode.toString(8)}` },
    });
  });

  // It opens, says that it is a regular file of its owner's alone, and fails when it is read.
  test.skipIf(process.platform !== "linux")(
    "that cannot be read is said to be so, with the code of the system",
    async () => {
      await expect(readKeyFile("/proc/self/mem", null)).rejects.toMatchObject({
        code: "NOT_FOUND",
        details: { path: "/proc/self/mem", found: "EIO" },
      });
    },
  );

  test.each<[string, (file: string, folder: string) => void]>([
    ["a symbolic link", (file, folder) => symlinkSync(keyIn(folder), file)],
    ["a file with 2 names", (file, folder) => linkSync(keyIn(folder), file)],
    ["something that is not a regular file", (file) => mkdirSync(file, { mode: 0o700 })],
    ["something that is not a regular file", (file) => execFileSync("mkfifo", ["-m", "600", file])],
    ["5000 bytes", (file) => writeFileSync(file, "x".repeat(5_000), { mode: 0o600 })],
  ])("that is %s is refused", async (found, make) => {
    const folder = directory();
    const file = join(folder, "given.key");
    make(file, folder);

    await expect(readKeyFile(file, null)).rejects.toMatchObject({ code: "KEY_UNSAFE", details: { path: file, found } });
  });

  test("in the directory of the ledger, or below, is refused, whatever links lead there", async () => {
    const folder = directory();
    const elsewhere = directory();
    const ledger = join(folder, "state.ledger");
    mkdirSync(join(folder, "keys"));
    symlinkSync(folder, join(elsewhere, "linked"));
    const unsafe = { code: "KEY_UNSAFE", details: { expected: "outside the directory of the ledger" } };

    await expect(readKeyFile(keyIn(folder), ledger)).rejects.toMatchObject(unsafe);
    await expect(readKeyFile(keyIn(join(folder, "keys")), ledger)).rejects.toMatchObject(unsafe);
    await expect(readKeyFile(join(elsewhere, "linked", "orders.key"), ledger)).rejects.toMatchObject(unsafe);
    await expect(readKeyFile(keyIn(folder), join(elsewhere, "linked", "state.ledger"))).rejects.toMatchObject(unsafe);
    await expect(readKeyFile(keyIn(folder), join(folder, "later", "state.ledger"))).resolves.toBe(text);
    await expect(readKeyFile(keyIn(elsewhere), ledger)).resolves.toBe(text);
  });

  test("that is not there is named, and not made", async () => {
    const file = join(directory(), "none.key");

    await expect(readKeyFile(file, null)).rejects.toMatchObject({ code: "NOT_FOUND", details: { path: file } });
    await expect(readKeyFile(join(file, "key"), null)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a new key file", () => {
  test("has the mode 0600, whatever the umask", async () => {
    const file = join(directory(), "orders.key");
    const before = process.umask(0o277);
    try {
      await writeKeyFile(file, text, null);
    } finally {
      process.umask(before);
    }

    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await readKeyFile(file, null)).toBe(text);
  });

  test("takes the place of nothing", async () => {
    const folder = directory();
    const file = keyIn(folder, 0o600, "another");
    const link = join(folder, "link.key");
    symlinkSync(join(folder, "target.key"), link);

    await expect(writeKeyFile(file, text, null)).rejects.toMatchObject({ code: "STORE_EXISTS" });
    await expect(writeKeyFile(link, text, null)).rejects.toMatchObject({ code: "STORE_EXISTS" });
    expect(readFileSync(file, "utf8")).toBe("another");
    await expect(readKeyFile(join(folder, "target.key"), null)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("is not made in the directory of the ledger", async () => {
    const folder = directory();
    const file = join(folder, "orders.key");

    await expect(writeKeyFile(file, text, join(folder, "state.ledger"))).rejects.toMatchObject({ code: "KEY_UNSAFE" });
    await expect(readKeyFile(file, null)).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  test("in a directory that is not there is refused", async () => {
    await expect(writeKeyFile(join(directory(), "none", "orders.key"), text, null)).rejects.toMatchObject({
      code: "NOT_FOUND",
    });
  });
});
