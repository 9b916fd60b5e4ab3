/** Commits whose connection is lost: each caller gets the answer that is true, and nothing is written twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { content, queueCommands } from "../../src/index.js";
import type { ContentReference, Ledger, LedgerError, LedgerEvent, LedgerOptions } from "../../src/index.js";
import { open } from "../engine/fixture.js";
import { blockCommits } from "./blocker.js";
import { calm } from "./calm.js";
import { ask, behindProxy, expectSound, handled, refusal, schemaOf } from "./place.js";
import type { Behind } from "./place.js";

/** Something that a ledger is asked for, and how to see how often it was done. */
interface Wish {
  /** What must be there before. */
  readonly before: (ledger: Ledger) => Promise<void>;
  readonly ask: (ledger: Ledger) => Promise<unknown>;
  readonly isIt: (event: LedgerEvent) => boolean;
}

const wishes: Readonly<Record<string, Wish>> = {
  "an append": {
    before: (ledger) => note(ledger, 0),
    ask: (ledger) => note(ledger, 1),
    isIt: ({ stream, revision }) => stream === "note/1" && revision === 2,
  },
  "the first append of an area": {
    before: async () => {},
    ask: (ledger) => note(ledger, 1),
    isIt: ({ type }) => type === "note.written",
  },
  "a command with an id": {
    before: async () => {},
    ask: (ledger) => ledger.execute(queueCommands.enqueue({ runId: "r1" }), { id: "c1" }),
    isIt: ({ type }) => type === "queue.enqueued",
  },
  "an erasure": {
    before: (ledger) => note(ledger, 0),
    ask: async (ledger) => {
      const [event] = await ledger.readStream("note/1").toArray();
      const { $content } = (event!.data as unknown as { text: ContentReference }).text;
      return ledger.erase([$content], { reason: "asked for" });
    },
    isIt: ({ type }) => type === "content.erased",
  },
  "a claim": {
    before: async (ledger) => {
      await ledger.queue.enqueue({ runId: "r1" });
    },
    ask: (ledger) => ledger.queue.claimNext({ holder: "one", leaseMs: 600_000 }),
    isIt: ({ type }) => type === "queue.claimed",
  },
};

async function note(ledger: Ledger, n: number): Promise<void> {
  await ledger.append("note/1", [{ type: "note.written", data: { n, text: content(`note ${n}`) } }]);
}

interface Started extends Behind {
  readonly ledger: Ledger;
  /** Another one on the same journal, which never loses a connection. */
  readonly other: Ledger;
}

async function start(wish: Wish, options: LedgerOptions = {}): Promise<Started> {
  const behind = await behindProxy();
  const other = await open(behind.direct);
  await wish.before(other);
  return { ...behind, ledger: await open(behind.url, options), other };
}

async function countOf(wish: Wish, ledger: Ledger): Promise<number> {
  return (await ledger.read().toArray()).filter(wish.isIt).length;
}

/** What its caller is told; nothing found is not done. */
function outcome(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    (answer) => (answer === null ? "nothing" : "done"),
    (error: unknown) => (error as LedgerError).code,
  );
}

const commit = /^COMMIT\b/i;

for (const [name, wish] of Object.entries(wishes)) {
  describe(name, () => {
    test("that is cut off before its COMMIT is refused, leaves nothing, and can be asked for again", async () => {
      const { proxy, ledger, other } = await start(wish);
      const struck = proxy.cutWhen({ query: commit, moment: "before" });

      expect(await refusal(wish.ask(ledger))).toMatchObject({ code: "STORE_UNAVAILABLE" });

      await struck;
      expect(await countOf(wish, other)).toBe(0);
      await wish.ask(ledger);
      expect(await countOf(wish, other)).toBe(1);
      await expectSound(other);
    });

    for (const moment of ["sent", "answered"] as const) {
      test(`whose COMMIT was ${moment} when the connection went is done, once, and its caller is told so`, async () => {
        const { proxy, ledger, other } = await start(wish);
        const struck = proxy.cutWhen({ query: commit, moment });

        const answer = await wish.ask(ledger);

        await struck;
        expect(answer).not.toBeNull();
        expect(await countOf(wish, other)).toBe(1);
        await expectSound(other);
      });
    }

    for (const [moment, told] of [
      ["before", ["STORE_UNAVAILABLE"]],
      // What has not come to the lock when it is looked for comes too late.
      ["sent", ["done", "STORE_UNAVAILABLE"]],
      ["answered", ["done"]],
    ] as const) {
      test(`that waited for no lock and is cut off at its COMMIT, ${moment}, is there once when its caller is told so, and else not`, async () => {
        const { proxy, ledger, direct, other } = await start(wish, { busyTimeoutMs: 60_000 });
        const begun = await calm(ledger, proxy);
        const { backends } = proxy;
        const struck = proxy.cutWhen({ query: commit, moment });

        const answer = await outcome(wish.ask(ledger));

        await struck;
        expect(begun()).toBe(1);
        expect(told).toContain(answer);
        await handled(proxy, direct, backends);
        expect(await countOf(wish, other)).toBe(answer === "done" ? 1 : 0);
        if (answer !== "done") expect(await outcome(wish.ask(ledger))).toBe("done");
        expect(await countOf(wish, other)).toBe(1);
        await expectSound(other);
      });
    }

    test("whose COMMIT is still at work when the connection goes is waited for", async () => {
      const { proxy, ledger, direct, other } = await start(wish, { busyTimeoutMs: 60_000 });
      const blocker = await blockCommits(direct);
      const struck = proxy.cutWhen({ query: commit, moment: "sent" });
      const asked = wish.ask(ledger);
      await struck;
      // The one that was cut off, and whoever asks what became of it.
      await expect.poll(() => blocker.waiting()).toBe(2);

      await blocker.release();

      await asked;
      expect(await countOf(wish, other)).toBe(1);
      await expectSound(other);
    });
  });
}

for (const name of ["an append", "a command with an id"] as const) {
  for (const [moment, count] of [
    ["before", 0],
    ["sent", 1],
    ["answered", 1],
  ] as const) {
    test(`${name} is in doubt when the database stays away from ${moment} on, and is there ${count} times when it is back`, async () => {
      const wish = wishes[name]!;
      const { proxy, ledger, other } = await start(wish, { busyTimeoutMs: 300 });
      void proxy.cutWhen({ query: commit, moment }).then(() => proxy.fail());

      expect(await refusal(wish.ask(ledger))).toMatchObject({ code: "STORE_IN_DOUBT" });

      await expect.poll(() => countOf(wish, other)).toBe(count);
      proxy.restore();
      await note(ledger, 9);
      await expectSound(other);
    });
  }
}

for (const [moment, told, count] of [
  ["before", "STORE_UNAVAILABLE", 0],
  ["sent", "done", 1],
  ["answered", "done", 1],
] as const) {
  test(`an append whose database is away for a moment from ${moment} on is not in doubt: it waits, and is told ${told}`, async () => {
    const wish = wishes["an append"]!;
    const { proxy, ledger, other } = await start(wish, { busyTimeoutMs: 60_000 });
    void proxy.cutWhen({ query: commit, moment }).then(async () => {
      proxy.fail();
      await sleep(300);
      proxy.restore();
    });

    const answer = await outcome(wish.ask(ledger));

    expect(answer).toBe(told);
    expect(await countOf(wish, other)).toBe(count);
    await expectSound(other);
  });
}

test("a commit that outlasts the busy timeout is waited for while its server answers, and is found to have happened", async () => {
  const wish = wishes["an append"]!;
  const { proxy, ledger, direct, other } = await start(wish, { busyTimeoutMs: 300 });
  const blocker = await blockCommits(direct);
  void proxy.cutWhen({ query: commit, moment: "sent" }).then(async () => {
    await sleep(1_000);
    await blocker.release();
  });

  expect(await outcome(wish.ask(ledger))).toBe("done");

  expect(await countOf(wish, other)).toBe(1);
  await note(ledger, 9);
  await expectSound(other);
});

test("a command in doubt that is sent again under its id is adopted when it was done, and done when it was not", async () => {
  for (const [moment, adopted] of [
    ["before", false],
    ["sent", true],
  ] as const) {
    const wish = wishes["a command with an id"]!;
    const { proxy, ledger, other } = await start(wish, { busyTimeoutMs: 300 });
    void proxy.cutWhen({ query: commit, moment }).then(() => proxy.fail());
    expect(await refusal(wish.ask(ledger))).toMatchObject({ code: "STORE_IN_DOUBT" });
    proxy.restore();

    expect(await wish.ask(ledger)).toMatchObject({ adopted });

    expect(await countOf(wish, other)).toBe(1);
  }
});

test("of many callers in one batch whose answer is lost each is told what became of its own", async () => {
  const { proxy, url, direct } = await behindProxy();
  const ledger = await open(url);
  await note(ledger, 0);
  void proxy.cutWhen({ query: commit, moment: "answered" });

  const told = await Promise.allSettled([
    ...Array.from({ length: 20 }, (_, n) => ledger.append(`note/${n + 2}`, [{ type: "note.written", data: { n } }])),
    ledger.append("note/1", [{ type: "note.written", data: { n: 99 } }], { expected: 7 }),
  ]);

  expect(told.map(({ status }) => status)).toEqual([...Array.from({ length: 20 }, () => "fulfilled"), "rejected"]);
  expect(told.at(-1)).toMatchObject({ reason: { code: "REVISION_CONFLICT" } });
  const other = await open(direct);
  for (const [n, each] of told.slice(0, 20).entries()) {
    const { position, ids } = (each as PromiseFulfilledResult<{ position: number; ids: readonly string[] }>).value;
    const [event] = await other.read({ from: position, limit: 1 }).toArray();
    expect(event).toMatchObject({ stream: `note/${n + 2}`, id: ids[0], revision: 1 });
  }
  await expectSound(other);
});

test("a backend that is ended in a batch refuses it, and the next one goes well", async () => {
  const { url, direct } = await behindProxy();
  const ledger = await open(url);
  await note(ledger, 0);
  const blocker = await blockCommits(direct);
  const asked = refusal(note(ledger, 1));
  await expect.poll(() => blocker.waiting()).toBe(1);

  expect(await endWriter(direct)).toBe(1);

  expect(await asked).toMatchObject({ code: "STORE_UNAVAILABLE" });
  await blocker.release();
  await note(ledger, 2);
  const events = await ledger.readStream("note/1").toArray();
  expect(events.map(({ data }) => data["n"])).toEqual([0, 2]);
  await expectSound(ledger);
});

/** Ends the backend that waits in a COMMIT of this journal, as an operator does. */
async function endWriter(direct: string): Promise<number> {
  const found = await ask(
    direct,
    `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE relation = '"${schemaOf(direct)}".entries'::regclass
      AND mode = 'RowExclusiveLock'`,
  );
  return found.length;
}
