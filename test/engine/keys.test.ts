import { generateKeyPairSync } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { directory, ledgerPath, open } from "./fixture.js";

const seed = Buffer.from("the seed of a key for tests only");
const key = formatSignerKey("example.com/orders", seed);
const { text: verifier } = parseSignerKey(key, "key").verifier;
const encoded = key.slice(key.lastIndexOf("+") + 1);
const pem = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

function fileWith(text: string, mode = 0o600): string {
  const file = join(directory(), "orders.key");
  writeFileSync(file, text);
  chmodSync(file, mode);
  return file;
}

describe("the key of openLedger", () => {
  test.each([
    ["its text", () => key],
    ["a file", () => fileWith(key)],
    ["a file that ends in a newline", () => fileWith(`${key}\n`)],
    ["a file with the line ends of another system", () => fileWith(`${key}\r\n`)],
  ])("is taken as %s", async (_, given) => {
    const ledger = await open(ledgerPath(), { key: given() });

    expect((await ledger.read({ limit: 1 }).toArray())[0]?.data).toMatchObject({ key: verifier });
  });

  test.each<[string, unknown, string]>([
    ["a verifier key", verifier, "a verifier key, which cannot sign"],
    ["a key of another algorithm in PEM form", pem, "a key in PEM form"],
    ["a key that is cut short", key.slice(0, -2), "one that is damaged or cut short"],
    ["a key with a character too many", `${key}=`, "one that is damaged or cut short"],
    ["a key without its marks", `example.com/orders+9baf461a+${encoded}`, "a verifier key, which cannot sign"],
    ["a key whose id is another's", key.replace(/\+[0-9a-f]{8}\+/, "+00000000+"), "one that is damaged or cut short"],
    ["a key of two lines", `${key}\n${key}`, "one that is damaged or cut short"],
    ["a seed alone", seed.toString("base64"), "something else"],
    ["nothing", "", "an empty string"],
    ["null", null, "null"],
    ["bytes", seed, "object"],
  ])("that is %s is refused, and never shown", async (_, given, found) => {
    const path = ledgerPath();
    const forms =
      typeof given === "string" && given !== "" ? [given, fileWith(given), fileWith(`${given}\n`)] : [given];
    for (const form of forms) {
      const error = await openLedger(path, { key: form as string }).catch((thrown: unknown) => thrown);

      expect(error).toMatchObject({ code: "INVALID_ARGUMENT", details: { path: "options.key", found } });
      const shown = inspect(error, { depth: 9 });
      for (const secret of [encoded.slice(0, 20), seed.toString("base64").slice(0, 20), seed.toString(), "MIGH"])
        expect(shown).not.toContain(secret);
    }
    expect(existsSync(path)).toBe(false);
  });

  test("whose name is no origin is refused", async () => {
    const named = formatSignerKey("Example", seed);

    await expect(openLedger("memory:", { key: named })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("must be in a file that nobody else can read, apart from the ledger, and nothing is made before", async () => {
    const folder = directory();
    const path = join(folder, "state.ledger");
    mkdirSync(join(folder, "keys"));
    const [beside, below] = [join(folder, "orders.key"), join(folder, "keys", "orders.key")];
    for (const file of [beside, below]) writeFileSync(file, key, { mode: 0o600 });
    const link = join(directory(), "link.key");
    symlinkSync(fileWith(key), link);

    for (const file of [beside, below, link, fileWith(key, 0o644)])
      await expect(openLedger(path, { key: file })).rejects.toMatchObject({ code: "KEY_UNSAFE" });
    await expect(openLedger(path, { key: join(folder, "none.key") })).rejects.toMatchObject({ code: "KEY_UNSAFE" });
    await expect(openLedger(path, { key: join(directory(), "none.key") })).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(existsSync(path)).toBe(false);
  });

  test("that a memory ledger has may be anywhere", async () => {
    expect((await open("memory:", { key: fileWith(key) })).origin).toBe("example.com/orders");
  });

  test("is held to the same where it is changed to", async () => {
    const path = ledgerPath();
    const ledger = await open(path, { key });
    const other = formatSignerKey("example.com/other", seed);

    await expect(ledger.changeKey(verifier)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(ledger.changeKey(other)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      details: { path: "newKey", found: '"example.com/other"' },
    });
    await expect(ledger.changeKey(fileWith(key, 0o640))).rejects.toMatchObject({ code: "KEY_UNSAFE" });
    await expect(ledger.changeKey(join(path, "..", "other.key"))).rejects.toMatchObject({ code: "KEY_UNSAFE" });
    expect((await ledger.status()).size).toBe(1);
  });
});
