/** The bench: the engine and the limits of the machine side by side in one run, as ratios with their spread.
 *  It asserts nothing: a missed target is a line that says MISS. Targets and reasons: `src/decisions`. */
import { setFlagsFromString } from "node:v8";
import { createFilledLedgers } from "./harness/filled-ledger.js";
import { describeMachine } from "./harness/machine.js";
import type { Bench, Measure } from "./harness/measure.js";
import { formatFigure, formatLine, heading } from "./harness/report.js";
import type { Line } from "./harness/report.js";
import { createScratch } from "./harness/scratch.js";
import { parseSettings, usage } from "./harness/settings.js";
import type { Settings } from "./harness/settings.js";
import { measureLimits } from "./limits/limits.js";
import { idleMeasure } from "./idle.js";
import { oneCommandMeasure } from "./p01-commands.js";
import { oneCallerMeasure } from "./p01-one-caller.js";
import { concurrentCommandsMeasure } from "./p03-commands.js";
import { concurrentMeasure } from "./p03-concurrent.js";
import { oneWorkerMeasure } from "./p05-one-worker.js";
import { manyWorkersMeasure } from "./p06-many-workers.js";
import { sizeMeasure } from "./p07-size.js";
import { lengthMeasure } from "./p08-length.js";
import { replayMeasure } from "./p09-replay.js";
import { verifyMeasure } from "./p11-verify.js";
import { openMeasure } from "./p12-open.js";
import { diskMeasure } from "./p14-disk.js";
import { postgresMeasure } from "./p15-postgres.js";
import { postgresReadMeasure } from "./p15-reads.js";
import { commandStallMeasure } from "./p16-commands.js";
import { stallMeasure } from "./p16-stall.js";
import { treeMeasure } from "./tree.js";

const measures: readonly Measure[] = [
  oneCallerMeasure,
  oneCommandMeasure,
  concurrentMeasure,
  concurrentCommandsMeasure,
  oneWorkerMeasure,
  manyWorkersMeasure,
  stallMeasure,
  commandStallMeasure,
  lengthMeasure,
  diskMeasure,
  openMeasure,
  replayMeasure,
  verifyMeasure,
  treeMeasure,
  idleMeasure,
  postgresMeasure,
  postgresReadMeasure,
  sizeMeasure,
];

async function main(settings: Settings): Promise<void> {
  const scratch = createScratch(settings.directory);
  const bench: Bench = {
    settings,
    scratch,
    filled: createFilledLedgers(scratch),
    figure: (figure) => console.log(formatFigure(figure)),
    say: (sentence) => console.log(`     ${sentence}`),
  };
  const started = performance.now();
  for (const line of describeMachine(scratch.directory)) console.log(line);
  console.log(
    `run "${settings.name}": ${settings.rounds} interleaved rounds of ${settings.turnMs} ms a contender; figures are median [min..max] over rounds\n`,
  );
  if (settings.only === null || settings.only.has("LIMITS")) {
    console.log("limits of this machine");
    await measureLimits(bench);
  }
  const lines: Line[] = [];
  for (const { ids, title, run } of measures) {
    if (settings.only !== null && !ids.some((id) => settings.only?.has(id))) continue;
    console.log(`\n${ids.join(" and ")}: ${title}`);
    try {
      const measured = await run(bench);
      for (const line of measured) console.log(formatLine(line));
      lines.push(...measured);
    } catch (error) {
      console.log(`     not measured: ${String(error)}`);
      process.exitCode = 1;
    }
  }
  console.log(`\nall of it, ${Math.round((performance.now() - started) / 1_000)} s\n${heading}`);
  for (const line of lines) console.log(formatLine(line));
  scratch.remove();
}

// A contender that waits for its turn keeps its compiled code, as it would in a host that does nothing else.
setFlagsFromString("--no-flush-bytecode");
try {
  await main(parseSettings(process.argv.slice(2)));
} catch (error) {
  console.error(`${String(error)}\nusage: ${usage}`);
  process.exitCode = 2;
}
