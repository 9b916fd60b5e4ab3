/** A capture that no string and no buffer could hold is opened, verified and read back piece by piece. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { constants } from "node:buffer";
import { openLedger } from "../../src/index.js";
import { bindCapture } from "../api/session-fixture.js";
import { seededBytes } from "../../src/testing/seeded.js";
import { ledgerPath, runSeed } from "../engine/fixture.js";

const MiB = 1024 * 1024;
const long = process.env["RUNLEDGER_LONG"] !== undefined;
/** Beyond the longest string in the long run; far beyond what the reader may use in any. */
const records = long ? Math.ceil(constants.MAX_STRING_LENGTH / MiB) + 16 : 96;
const heapMiB = 40;

interface Read {
  readonly outsideMax: number;
}

/** Runs a child with so much heap, which ends it when it wants more. */
async function readWith(heap: number, path: string): Promise<{ readonly code: number | null; readonly said: string }> {
  const program = fileURLToPath(new URL("../children/capture-reader.mjs", import.meta.url));
  const child = spawn(process.execPath, [`--max-old-space-size=${heap}`, "--expose-gc", program, path], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, said };
}

test(
  "I06 a capture larger than any string is opened, verified and read back in bounded memory",
  { timeout: 600_000 },
  async () => {
    const path = ledgerPath();
    const ledger = await openLedger(path);
    await bindCapture(ledger);
    const randomBytes = seededBytes(runSeed);
    const hash = createHash("sha256");
    // Almost a MiB each, and no two alike; those of one entry are more than may be held at once.
    const size = MiB - 100;
    const together = 48;
    for (let from = 1; from <= records; from += together) {
      const payloads = Array.from({ length: Math.min(together, records - from + 1) }, (_, index) => {
        const payload = Buffer.alloc(size, randomBytes(32));
        payload.writeUInt32LE(from + index);
        hash.update(payload);
        return payload;
      });
      const batch = payloads.map((payload) => ({ type: "big", payload }));
      await ledger.sessions.appendEvents({ runId: "r1", from, records: batch });
    }
    await ledger.close();
    expect(statSync(path).size).toBeGreaterThan(records * size);

    const { code, said } = await readWith(heapMiB, path);
    expect(code).toBe(0);
    const read = JSON.parse(said) as Read;
    expect(read).toMatchObject({
      verdict: "OK",
      findings: [],
      records,
      bytes: records * size,
      sha256: hash.digest("hex"),
    });
    expect(read.outsideMax).toBeLessThan(32 * MiB);
    process.stdout.write(`${records} MiB read back, ${Math.round(read.outsideMax / MiB)} MiB outside the heap\n`);
  },
);
