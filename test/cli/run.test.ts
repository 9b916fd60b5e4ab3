import { describe, expect, test } from "vitest";
import { holdersOf } from "../../src/cli/holders.js";
import { durationOf } from "../../src/cli/run-view.js";
import { openLedger } from "../../src/index.js";
import { call, jsonLines, newLedgerFile, runledger } from "./command.js";
import { beginRun, filledLedger, leaseMs, t0, tellStory } from "./storied.js";

/** The rows of a table of the output, by its first heading: cells that two spaces part. */
function rows(stdout: string, heading: string): readonly (readonly string[])[] {
  const table = stdout.split("\n\n").find((part) => part.startsWith(`${heading} `)) ?? "";
  return table
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => line.split(/ {2,}/));
}

describe("run", () => {
  test("tells how a run stands, who held it until when, its attempts and captures, in a process of its own", async () => {
    const done = await runledger(["run", "build-1", "--ledger", await filledLedger(tellStory)]);

    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect(done.stdout.split("\n\n")[0]!.split("\n")).toEqual([
      "run         build-1",
      "status      completed",
      "title       nightly build",
      "created     2100-01-01T00:00:00.000Z",
      "started     2100-01-01T00:00:00.000Z",
      "finished    2100-01-01T00:00:17.000Z",
      "duration    17.00 s",
      "exit        exit 0",
    ]);
    expect(rows(done.stdout, "HOLDER")).toEqual([
      ["host A", "1", "2100-01-01T00:00:00.000Z", "2100-01-01T00:00:14.000Z", "its lease, and it was taken over"],
      ["host B", "2", "2100-01-01T00:00:15.000Z", "2100-01-01T00:00:17.000Z", "queue.completed"],
    ]);
    expect(rows(done.stdout, "ATTEMPT")).toEqual([
      ["exec.1", "cancelled", "1", "2100-01-01T00:00:00.000Z", "15.00 s", "-", "abandoned"],
      ["exec.2", "completed", "2", "2100-01-01T00:00:15.000Z", "1.90 s", "exit 0", "-"],
    ]);
    expect(rows(done.stdout, "CAPTURE OF")).toMatchObject([
      ["exec.1", expect.any(String), "3", "11", expect.any(String)],
      ["exec.2", "complete", "1", "3", "-"],
    ]);
  });

  test("tells what happened in the order of the journal, with what was refused to whom", async () => {
    const { stdout } = await call(["run", "build-1", "--ledger", await filledLedger(tellStory)]);
    const steps = rows(stdout, "POSITION");
    const positions = steps.map(([position = ""]) => Number(position.slice(1)));

    expect(positions).toEqual(positions.toSorted((left, right) => left - right));
    expect(steps.map(([, , says]) => says)).toEqual(
      expect.arrayContaining([
        "queued, claimed by host A, generation 1, until 2100-01-01T00:00:10.000Z",
        "attempt exec.1 started, process 4711 on machine",
        "capture of exec.1 begins",
        "taken over by host B, generation 2, until 2100-01-01T00:00:25.000Z, for the lease of generation 1 had ended",
        "attempt exec.1 cancelled: abandoned",
        "refused: session.appendEvents by host A, generation 1 (generation)",
        "capture of exec.2 complete",
        "attempt exec.2 completed, exit 0, after 1.90 s",
        "completed, exit 0",
        "off the queue: done",
      ]),
    );
    expect(stdout).not.toContain("renewed");
  });

  test("shows the same as JSON, in one object with stable keys", async () => {
    const [told] = jsonLines(
      (await call(["run", "build-1", "--ledger", await filledLedger(tellStory), "--json"])).stdout,
    );

    expect(told).toMatchObject({
      run: "build-1",
      status: "completed",
      durationMs: 17_000,
      exit: { code: 0 },
      owner: null,
      queue: { status: "done", reclaims: 1, failures: 0 },
      holders: [
        { generation: 1, holder: "host A", from: t0, to: t0 + 14_000, renewals: 1, end: "lease", takenOver: true },
        {
          generation: 2,
          holder: "host B",
          from: t0 + 15_000,
          to: t0 + 17_000,
          end: "queue.completed",
          takenOver: false,
        },
      ],
      attempts: [
        { attempt: "exec.1", status: "cancelled", generation: 1, process: { pid: 4711 } },
        { attempt: "exec.2", status: "completed", generation: 2, durationMs: 1_900 },
      ],
      captures: [
        { attempt: "exec.1", records: 3, bytes: 11 },
        { attempt: "exec.2", records: 1, status: "complete" },
      ],
    });
    expect(Object.keys(told!).join(" ")).toBe(
      "run status title definition command folder parent revision createdAt startedAt finishedAt durationMs exit " +
        "reason cancel owner queue holders attempts captures timeline",
    );
    const [step] = told!["timeline"] as object[];
    expect(step).toEqual({ position: 2, at: t0, type: "run.created", actor: null, says: "created" });
  });

  test("I13 names the owner of a run until its lease ends, and then says that it has none", async () => {
    const fieldAfter = async (ms: number): Promise<string | undefined> => {
      const file = await filledLedger(async (ledger, clock) => {
        await beginRun(ledger, "build-1", "host A");
        clock.advance(ms);
        await ledger.append("note/a", [{ type: "note.taken" }]);
      });
      return /^owner +(.*)$/m.exec((await call(["run", "build-1", "--ledger", file])).stdout)?.[1];
    };

    expect(await fieldAfter(leaseMs - 1)).toBe("host A, generation 1, until 2100-01-01T00:00:10.000Z");
    expect(await fieldAfter(leaseMs)).toBe("no owner");
  });

  test("G13 no duration is below zero, whatever clock reports it", async () => {
    const file = await filledLedger(async (ledger) => {
      const { fence, attemptId } = await beginRun(ledger, "build-1", "host A");
      const reported = { reportedStartedAt: t0 + 5_000, reportedFinishedAt: t0 + 1_000 };
      await ledger.attempts.finish({ runId: "build-1", attemptId, outcome: "completed", ...reported }, { fence });
    });
    const [told] = jsonLines((await call(["run", "build-1", "--ledger", file, "--json"])).stdout);

    expect(told).toMatchObject({ durationMs: null, attempts: [{ durationMs: 0 }] });
    expect(durationOf({ startedAt: t0, finishedAt: t0 - 1 })).toBe(0);
  });

  test("tells of an item that is on the queue and was never made a run", async () => {
    const file = await filledLedger(async ({ queue }) => {
      const { fence } = await queue.enqueue({ runId: "invoice-7", claim: { holder: "host A", leaseMs } });
      await queue.park(fence, { availableAt: null, reason: "waits for a person" });
      await queue.requestCancel("invoice-7", "no longer needed");
    });
    const text = await call(["run", "invoice-7", "--ledger", file]);

    expect(text.code).toBe(0);
    expect(text.stdout).toContain("status      not created; on the queue as done\n");
    expect(text.stdout).toContain("parked until somebody asks for it: waits for a person\n");
    expect(text.stdout).toContain("its queue item is asked to end: no longer needed\n");
    const [told] = jsonLines((await call(["run", "invoice-7", "--ledger", file, "--json"])).stdout);
    expect(told).toMatchObject({
      run: "invoice-7",
      status: null,
      attempts: [],
      captures: [],
      queue: { status: "done" },
    });
  });

  test("ends with 3 for a run that the ledger does not know, and shows the one that looks like it", async () => {
    const file = await filledLedger((ledger) => ledger.runs.create({ runId: "Build-1" }));
    const done = await call(["run", "build-1", "--ledger", file]);

    expect(done).toMatchObject({ code: 3, stdout: "" });
    expect(done.stderr).toContain("NOT_FOUND");
    expect(done.stderr).toContain("Build-1");
    const none = await call(["run", "deploy-1", "--ledger", file]);
    expect(none).toMatchObject({ code: 3, stdout: "" });
    expect(none.stderr).toContain("hint: `runledger runs` lists the runs there are");
  });

  test("T46 shows what others named as text, and does not obey it", async () => {
    const file = await filledLedger((ledger) => beginRun(ledger, "build-1", "\u202ehost", "title\u202e"));
    for (const form of [[], ["--json"]]) {
      const done = await call(["run", "build-1", "--ledger", file, ...form], {
        terminal: true,
        env: { TERM: "xterm" },
      });

      expect(done.code).toBe(0);
      expect(done.stdout).toMatch(/\\u\{?202e/);
      expect(done.stdout).not.toContain("\u202e");
    }
  });

  test.each([["a/b"], [""], [".."]])("refuses %j, which is no name of a run", async (run) => {
    const done = await call(["run", run, "--ledger", newLedgerFile()]);

    expect(done).toMatchObject({ code: 2, stdout: "" });
    expect(done.stderr).toContain("the run must be");
  });
});

describe("who held a run", () => {
  const story = async (name: string): Promise<unknown> => {
    const file = await filledLedger(async ({ queue }, clock) => {
      const own = await queue.enqueue({ runId: "r1", claim: { holder: "A", leaseMs } });
      if (name === "parked") await queue.park(own.fence);
      if (name === "failed") await queue.requeue(own.fence, { reason: "it fails" });
      if (name === "asked to end while held") await queue.requestCancel("r1", "no");
      clock.advance(leaseMs);
      if (name === "let go late") await queue.park(own.fence);
      if (name === "asked to end when the lease is over") await queue.requestCancel("r1", "no");
    });
    const ledger = await openLedger(file, { readOnly: true });
    const events = await ledger.readStream("queue/r1").toArray();
    await ledger.close();
    return holdersOf(events, t0 + leaseMs).map(({ holder, to, end }) => [holder, to, end]);
  };

  test.each([
    ["parked", ["A", t0, "queue.parked"]],
    ["failed", ["A", t0, "queue.requeued"]],
    ["let go late", ["A", t0 + leaseMs, "lease"]],
    ["asked to end while held", ["A", t0 + leaseMs, "lease"]],
    ["asked to end when the lease is over", ["A", t0 + leaseMs, "lease"]],
  ])("%s", async (name, held) => {
    expect(await story(name)).toEqual([held]);
  });
});
