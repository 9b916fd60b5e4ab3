/** The documents of the run queue: what each event leaves, and the laws of projections over histories that can happen. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { queue } from "../../projections/queue.js";
import type { QueueItem } from "../../projections/queue.js";
import { indexKeys } from "../../projections/reducer.js";
import { replay } from "../../projections/replay.js";
import { refusedNamesMax } from "../../src/kernel/limits.js";
import { queueEvents, queueStream } from "../../src/journal/events/queue.js";
import { describeProjection } from "../../src/testing/index.js";
import { recordHistory } from "../../src/testing/history.js";
import type { HistoryEvent } from "../../src/testing/history.js";
import { runSteps } from "./run-histories.js";
import type { Step } from "./run-histories.js";

const start = Date.UTC(2026, 0, 1);
const tokenHash = "ab".repeat(32);

/** What is known of one run while a history is made: enough to say what can happen next. */
interface Run {
  on: boolean;
  status: "queued" | "claimed" | "parked" | "done" | "dead";
  generation: number;
  expiresAt: number | null;
}

/** A history of such steps: at each of them one of the things that can happen to its run happens. */
function historyOf(steps: readonly Step[]): readonly HistoryEvent[] {
  const runs = new Map<string, Run>();
  const history: HistoryEvent[] = [];
  let at = start;
  for (const { run: name, pick, waitMs, more } of steps) {
    at += waitMs;
    const run = runs.get(name) ?? { on: false, status: "done", generation: 0, expiresAt: null };
    runs.set(name, run);
    const live = run.expiresAt !== null && run.expiresAt > at;
    const soon = at + (more % 3) * 1_000;
    const add = (type: string, data: object = {}): void =>
      void history.push({ stream: queueStream(name), type, data, at });
    const take = (superseded: number | null): object => {
      run.generation++;
      run.status = "claimed";
      run.expiresAt = at + 1 + more;
      return { claim: { holder: "A", generation: run.generation, tokenHash, expiresAt: run.expiresAt, superseded } };
    };
    const letGo = (status: Run["status"]): void => {
      run.status = status;
      run.expiresAt = null;
    };
    const ends = (status: Run["status"], type: string, data?: object) => () => {
      letGo(status);
      add(type, data);
    };
    const can: (() => void)[] = [];
    if (!run.on)
      can.push(() => {
        run.on = true;
        letGo("queued");
        const item = {
          availableAt: soon,
          priority: (more % 5) - 2,
          affinity: more % 2 === 0 ? null : "A",
          parent: more % 7 === 0 ? "p" : null,
          reclaimsMax: 2,
        };
        const input = more % 4 === 0 ? { input: { more } } : {};
        add("queue.enqueued", { ...item, ...input, ...(more % 3 === 0 ? take(null) : {}) });
      });
    if (run.on && (run.status === "queued" || run.status === "parked"))
      can.push(() => add("queue.claimed", take(null)));
    if (run.status === "claimed" && !live)
      can.push(() => add("queue.claimed", take(run.generation)), ends("dead", "queue.died", { cause: "reclaims" }));
    if (run.status === "claimed" && live)
      can.push(
        () => add("queue.renewed", { expiresAt: (run.expiresAt = run.expiresAt! + more) }),
        ends("done", "queue.completed"),
        ends("queued", "queue.requeued", { availableAt: soon, reason: "it failed" }),
        ends("dead", "queue.died", { cause: "failures", reason: "too often" }),
      );
    if (run.status === "claimed")
      can.push(ends("parked", "queue.parked", { availableAt: more % 2 === 0 ? null : soon }), () => {
        run.on = false;
        letGo("done");
        add("queue.released", { reason: "no use" });
      });
    if (run.on && run.status !== "done")
      can.push(
        () => {
          if (run.status === "dead") letGo("queued");
          add("queue.wanted", { availableAt: soon });
        },
        () => {
          if (!live) letGo("done");
          add("queue.cancelRequested", { reason: "no use" });
        },
        () => {
          if (live) return;
          letGo("done");
          add("queue.closed", more % 2 === 0 ? {} : { reason: "the run is over" });
        },
      );
    if (run.generation > 0)
      can.push(() => {
        const refused = {
          key: queueStream(name),
          generation: 1 + (more % run.generation),
          command: "append",
          reason: "token",
        };
        history.push({ stream: `fence/${queueStream(name)}`, type: "fence.refused", data: refused, at });
      });
    can[pick % can.length]?.();
  }
  return history;
}

const histories = runSteps.map(historyOf);

describeProjection("the run queue", { projection: queue, events: [queueEvents], histories }, { describe, test });

async function itemsOf(history: readonly HistoryEvent[]): Promise<readonly QueueItem[]> {
  const { documents } = (await replay([queue], recordHistory(history, [queueEvents]))).projection(queue).find({});
  return documents.map(({ document }) => document);
}

const indexesOf = (item: QueueItem): readonly string[] =>
  [...queue.indexes.keys()].filter((_, index) => indexKeys(queue, item, item.runId)[index] !== null);

describe("a document of the run queue", () => {
  test("is, after any history, in the indexes of how it stands, and owned exactly when it is claimed", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        for (const item of await itemsOf(history)) {
          expect(item.claim !== null).toBe(item.status === "claimed");
          if (item.claim !== null) expect(item.claim.generation).toBe(item.generation);
          const waits = item.status === "queued" || item.status === "parked";
          const ready = waits && item.availableAt !== null && item.availableAt <= item.updatedAt;
          expect(indexesOf(item)).toEqual([
            ...(ready ? ["ready"] : []),
            ...(ready && item.affinity !== null ? ["affine"] : []),
            ...(waits && item.availableAt !== null && !ready ? ["later"] : []),
            ...(item.claim !== null ? ["expiring"] : []),
            ...(item.parent !== null ? ["parent"] : []),
            ...(item.status !== "released" ? ["created", "status"] : []),
          ]);
        }
      }),
      { numRuns: process.env["RUNLEDGER_LONG"] === undefined ? 50 : 500 },
    );
  });

  test("is claimed, taken over, given back, let go of and asked for, event by event", async () => {
    const stream = queueStream("r1");
    const at = (offset: number): number => start + offset;
    const taken = (generation: number, expiresAt: number, superseded: number | null = null): object => ({
      claim: { holder: "A", generation, tokenHash, expiresAt: at(expiresAt), superseded },
    });
    const events: readonly (readonly [type: string, data: object, offset: number, expected: object])[] = [
      [
        "queue.enqueued",
        { availableAt: at(5), priority: 2, affinity: null, parent: "p", reclaimsMax: 3 },
        0,
        { status: "queued", createdAt: at(0), availableAt: at(5), rank: at(0) - 120_000, generation: 0, claim: null },
      ],
      [
        "queue.claimed",
        taken(1, 20),
        10,
        { status: "claimed", generation: 1, reclaims: 0, claim: { acquiredAt: at(10) } },
      ],
      [
        "queue.renewed",
        { expiresAt: at(30) },
        15,
        { updatedAt: at(15), claim: { acquiredAt: at(10), expiresAt: at(30) } },
      ],
      ["queue.wanted", { availableAt: at(500) }, 16, { status: "claimed", wantedAt: at(500), availableAt: at(5) }],
      ["queue.wanted", { availableAt: at(600) }, 17, { wantedAt: at(500) }],
      ["queue.claimed", taken(2, 60, 1), 30, { generation: 2, reclaims: 1, wantedAt: at(500) }],
      [
        "queue.requeued",
        { availableAt: at(900), reason: "it failed" },
        40,
        { status: "queued", availableAt: at(500), failures: 1, reason: "it failed", claim: null, wantedAt: null },
      ],
      ["queue.claimed", taken(3, 700), 600, { generation: 3, reclaims: 1, failures: 1 }],
      ["queue.parked", { availableAt: null }, 610, { status: "parked", availableAt: null, reason: null }],
      [
        "queue.wanted",
        { availableAt: at(620), reason: "a message came" },
        620,
        { status: "parked", availableAt: at(620), reason: "a message came" },
      ],
      ["queue.claimed", taken(4, 640), 630, { generation: 4 }],
      [
        "queue.cancelRequested",
        { reason: "no use" },
        635,
        { status: "claimed", cancel: { at: at(635), reason: "no use" } },
      ],
      ["queue.died", { cause: "reclaims" }, 640, { status: "dead", availableAt: null, reclaims: 1, claim: null }],
      [
        "queue.wanted",
        { availableAt: at(650) },
        650,
        { status: "queued", availableAt: at(650), reclaims: 0, failures: 0, cancel: null },
      ],
      ["queue.claimed", taken(5, 670), 660, { generation: 5, reclaims: 0 }],
      [
        "queue.released",
        { reason: "no use" },
        670,
        { status: "released", parent: null, input: null, generation: 5, claim: null },
      ],
      [
        "queue.enqueued",
        { availableAt: at(680), priority: 0, affinity: "A", parent: null, reclaimsMax: 3, ...taken(6, 700) },
        680,
        { status: "claimed", createdAt: at(680), generation: 6, reason: null, failures: 0 },
      ],
      ["queue.completed", {}, 690, { status: "done", generation: 6, claim: null, availableAt: null }],
    ];

    for (const [index, [, , , expected]] of events.entries()) {
      const history = events
        .slice(0, index + 1)
        .map(([type, data, offset]) => ({ stream, type, data, at: at(offset) }));
      expect(await itemsOf(history)).toMatchObject([expected]);
    }
  });

  test("remembers the fences that were refused, in the order in which they were recorded, across a release", async () => {
    const stream = queueStream("r1");
    const claim = { holder: "A", generation: 1, tokenHash, expiresAt: start + 9e8, superseded: null };
    const item = { availableAt: start, priority: 0, affinity: null, parent: null, reclaimsMax: 3 };
    const refusals = Array.from({ length: refusedNamesMax }, (_, index) => `step.take${index}`);
    const history = [
      { stream, type: "queue.enqueued", data: { ...item, claim } },
      ...refusals.map((command) => ({
        stream: `fence/${stream}`,
        type: "fence.refused",
        data: { key: stream, generation: 1, command, reason: "token" },
      })),
      {
        stream: "fence/other/r1",
        type: "fence.refused",
        data: { key: "other/r1", generation: 1, command: "x.y", reason: "token" },
      },
      { stream, type: "queue.released" },
      { stream, type: "queue.enqueued", data: item },
    ];

    expect(await itemsOf(history)).toMatchObject([
      { status: "queued", generation: 1, refused: refusals.map((command) => `1 ${command}`) },
    ]);
  });
});

describe("an event of the run queue", () => {
  const claim = { holder: "A", generation: 2, tokenHash, expiresAt: 5, superseded: 1 };
  const item = { availableAt: 0, priority: 0, affinity: null, parent: null, reclaimsMax: 0 };

  test.each<[string, object]>([
    ["queue.enqueued", {}],
    ["queue.enqueued", { ...item, priority: 1_001 }],
    ["queue.enqueued", { ...item, parent: "a/b" }],
    ["queue.enqueued", { ...item, holder: "A" }],
    ["queue.enqueued", { ...item, claim: null }],
    ["queue.claimed", {}],
    ["queue.claimed", { claim: { ...claim, superseded: 2 } }],
    ["queue.claimed", { claim: { ...claim, generation: 0, superseded: null } }],
    ["queue.claimed", { claim: { ...claim, tokenHash: "a token" } }],
    ["queue.claimed", { claim: { ...claim, token: "a token" } }],
    ["queue.claimed", { claim: { ...claim, expiresAt: 8.64e15 + 1 } }],
    ["queue.renewed", { expiresAt: -1 }],
    ["queue.parked", {}],
    ["queue.parked", { availableAt: null, reason: "" }],
    ["queue.completed", { at: 1 }],
    ["queue.requeued", { availableAt: null }],
    ["queue.cancelRequested", {}],
    ["queue.died", { cause: "age" }],
  ])("%s is refused when it is written with facts that are not its own: %j", (type, data) => {
    expect(() => queueEvents.events.get(type)!.parse(data)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });
});
