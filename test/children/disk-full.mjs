/** Runs in a mount namespace of its own: fills a file system of 2 MiB, then makes room. usage: disk-full.mjs DIRECTORY */
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openLedger } from "../../dist/src/index.js";

const [directory] = process.argv.slice(2);
execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "runledger-test", directory]);
const say = (value) => writeSync(1, `${JSON.stringify(value)}\n`);
const ballast = join(directory, "ballast");
writeFileSync(ballast, Buffer.alloc(1024 * 1024, 1));
const ledger = await openLedger(join(directory, "state.ledger"));
let key = 0;
const append = async () => {
  const mine = ++key;
  const results = await Promise.allSettled([
    ledger.append("a/1", [{ type: "thing.happened", data: { key: mine, part: 1, fill: "x".repeat(9_000) } }]),
    ledger.append("b/1", [{ type: "thing.happened", data: { key: mine, part: 2, fill: "x".repeat(9_000) } }]),
  ]);
  for (const [part, result] of results.entries()) {
    if (result.status === "fulfilled") say({ acknowledged: mine, part: part + 1, position: result.value.position });
    else say({ refused: mine, part: part + 1, code: result.reason.code, message: result.reason.message });
  }
  return results.every((result) => result.status === "fulfilled");
};

while (await append());
for (let n = 0; n < 5; n++) await append();
const full = await ledger.status();
say({ full: full.size, wal: full.store.wal });
rmSync(ballast);
let recovered = 0;
for (let n = 0; n < 20; n++) if (await append()) recovered++;
say({ recovered });
const report = await ledger.verify();
await ledger.close();
const again = await openLedger(join(directory, "state.ledger"), { readOnly: true });
const stored = [];
for await (const event of again.read({ from: 1 })) stored.push([event.position, event.data.key, event.data.part]);
await again.close();
say({ verdict: report.verdict, findings: report.findings.length, stored });
