/** SIGKILL at every durable step of a change of keys: it is there or not, and asking for it again ends it. */
import { expect, test } from "vitest";
import { verifyNote } from "../../src/forensic/index.js";
import { openLedger } from "../../src/index.js";
import { formatSignerKey, parseSignerKey } from "../../src/journal/note-keys.js";
import { freshPlace, ledgerPath, open, runSeed, sharedStoreNames } from "../engine/fixture.js";
import { runChild, startChild } from "./child.js";

const seeds = [1, 2].map((number) => Buffer.alloc(32, `key ${number} for tests; `));
const [key1 = "", key2 = ""] = seeds.map((seed) => formatSignerKey("example.com/orders", seed));
const verifiers = [key1, key2].map((key) => parseSignerKey(key, "key").verifier.text);

interface Said {
  readonly calls: number;
  readonly size: number;
  readonly files: readonly string[];
}

async function changeKey(path: string, killAt: number): Promise<Said | null> {
  const child = await runChild("key-changer.mjs", [path, key1, key2, String(killAt)]);
  expect(child.stderr).toBe("");
  if (killAt > 0) expect(child.signal).toBe("SIGKILL");
  const [line] = child.lines;
  return line === undefined ? null : (JSON.parse(line) as Said);
}

test.each(sharedStoreNames)(
  "a change of keys that is killed at any durable step is ended by asking for it again, on %s",
  { timeout: 600_000 },
  async (name) => {
    const whole = await changeKey(freshPlace(name), 0);
    const calls = whole?.calls ?? 0;
    expect(calls).toBeGreaterThan(8);

    // All of them in the long run, else every third: between the event and the checkpoint there are six.
    const long = process.env["RUNLEDGER_LONG"] !== undefined;
    let interrupted = 0;
    for (let killAt = long ? 1 : 1 + (runSeed % 3); killAt <= calls; killAt += long ? 1 : 3) {
      const path = freshPlace(name);
      expect(await changeKey(path, killAt)).toBeNull();

      const ledger = await openLedger(path, { key: key1 });
      const changes = await ledger.read({ types: ["journal.keyChanged"] }).toArray();
      const signed = (await ledger.checkpoints()).some(({ size }) => size === 4);
      if (changes.length === 1 && !signed) interrupted++;
      const { note, size } = await ledger.changeKey(key2);
      expect([killAt, size]).toEqual([killAt, 4]);
      expect(verifyNote(note, verifiers)).toHaveLength(2);
      expect(await ledger.read({ types: ["journal.keyChanged"] }).toArray()).toHaveLength(1);
      expect(await ledger.verify({ keys: verifiers })).toMatchObject({ verdict: "OK", findings: [] });
      await ledger.close();
      const after = await openLedger(path, { key: key2 });
      await after.append("order/1", [{ type: "order.shipped" }]);
      expect(verifyNote((await after.checkpoint()).note, verifiers)).toHaveLength(1);
      await after.close();
    }
    // Between the event and the checkpoint, which is what this is about.
    expect(interrupted).toBeGreaterThan(1);
  },
);

test("a key stands neither in the ledger file nor in its log while it is in use", async () => {
  const said = await changeKey(ledgerPath(), 0);

  expect(said?.files).toHaveLength(2);
  for (const file of said?.files ?? []) {
    const bytes = Buffer.from(file, "base64");
    expect(bytes.length).toBeGreaterThan(0);
    for (const seed of seeds)
      for (const form of [seed, Buffer.from(seed.toString("base64").slice(0, -2)), Buffer.from(seed.toString("hex"))])
        expect(bytes.includes(form)).toBe(false);
    expect(bytes.includes(Buffer.from("PRIVATE"))).toBe(false);
  }
});

test.each(sharedStoreNames)(
  "checkpoints that are made while another process appends are of true prefixes, on %s",
  async (name) => {
    const path = freshPlace(name);
    const ledger = await open(path, { key: key1, busyTimeoutMs: 60_000 });
    const child = startChild("appender.mjs", [path, "other", "300", "thing/1", "16"]);
    const made = [];
    while (child.process.exitCode === null) {
      made.push(await ledger.checkpoint());
      await ledger.append("thing/2", [{ type: "thing.happened" }]);
    }
    expect(await child.finished).toMatchObject({ code: 0, stderr: "" });

    const sizes = new Set(made.map(({ size }) => size));
    expect(sizes.size).toBeGreaterThan(3);
    const from = made.map(({ note }) => note);
    const report = await ledger.verify({ from: from.slice(-100), keys: verifiers.slice(0, 1) });
    expect(report).toMatchObject({ verdict: "OK", findings: [] });
  },
);
