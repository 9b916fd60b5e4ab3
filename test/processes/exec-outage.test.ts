/** A command under `exec` whose database is away for a while: it goes on, and nothing that it said is lost. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { openLedger } from "../../src/index.js";
import { finish, newFolder, start } from "../cli/command.js";
import { expectInOrder, outputOf, recordsOf, storyOf, waitFor, waitForFile } from "../cli/exec-fixture.js";
import { behindProxy } from "../postgres/place.js";

const awayMs = 3_000;

for (const kind of ["cut off", "silent"] as const) {
  test(`E13 a command under exec goes on while its database is ${kind} for three seconds, and all its lines are recorded`, async () => {
    const { proxy, url, direct } = await behindProxy();
    await (await openLedger(direct)).close();
    const folder = newFolder();
    const said = (): number => readFileSync(join(folder, "said"), "utf8").split("\n").length - 1;
    const recorded = async (): Promise<number> => (await recordsOf(direct, "r1")).length;
    const script =
      ": > said; n=0; while [ ! -e enough ]; do n=$((n+1)); echo line $n; echo $n >> said; sleep 0.02; done; echo end";
    const child = start(["exec", "--run", "r1", "--lease", "60000", "--", "sh", "-c", script], {
      cwd: folder,
      env: { RUNLEDGER: url },
    });
    child.stdin.end();
    const finished = finish(child);
    await waitForFile(join(folder, "said"));
    await waitFor(async () => (await recorded()) > 0);

    if (kind === "silent") proxy.hush();
    else proxy.fail();
    // What is on its way already may still come.
    await sleep(500);
    const [saidBefore, recordedBefore] = [said(), await recorded()];
    await sleep(awayMs - 500);
    const [saidThen, recordedThen] = [said(), await recorded()];
    proxy.restore();
    await waitFor(async () => (await recorded()) > recordedThen);
    await sleep(200);
    writeFileSync(join(folder, "enough"), "");

    const { code, stdout, stderr } = await finished;
    expect(code).toBe(0);
    expect(stderr).toMatch(/^runledger: r1 completed .* all recorded; .*\n$/);
    expect(saidThen).toBeGreaterThan(saidBefore);
    expect(recordedThen).toBe(recordedBefore);
    const lines = [...Array.from({ length: said() }, (_, n) => `line ${n + 1}\n`), "end\n"].join("");
    expect(stdout).toBe(lines);
    expect(outputOf(await recordsOf(direct, "r1"), "stdout").toString()).toBe(lines);
    const { run, attempts, captures } = await storyOf(direct);
    expect(run).toMatchObject({ status: "completed", exit: { code: 0 }, attempts: 1 });
    expect([attempts.length, captures.length]).toEqual([1, 1]);
    await expectInOrder(direct);
  });
}
