/** Writes a value of a hundred arrays, each holding the one before twice, and prints the code of the refusal.
 *  usage: node --max-old-space-size=MIB unfold.mjs UNITS_MAX */
import { writeSync } from "node:fs";
import { writeCanonical } from "../../dist/src/kernel/canonical.js";

let value = [];
for (let level = 0; level < 100; level++) value = [value, value];
try {
  writeCanonical(value, { unitsMax: Number(process.argv[2]) });
} catch (error) {
  writeSync(1, `${error.code}\n`);
}
