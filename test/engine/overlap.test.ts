/** Batches that are begun before the one in front of them is on disk: decision 0030, on memory, with commits that are held back,
 *  fail, or are never answered. */
import { describe, expect, test } from "vitest";
import { content, LedgerError } from "../../src/index.js";
import type { AppendOptions, Diagnostic, Ledger, LedgerOptions } from "../../src/index.js";
import { assumingStore, busy, gate, unavailable } from "./assuming.js";
import type { AssumingStore } from "./assuming.js";
import { open } from "./fixture.js";
import { accounts, append as appendTo, expectWhole, moved, opened } from "./tables.js";

const table = accounts();

interface Setup extends AssumingStore {
  readonly ledger: Ledger;
  readonly told: string[];
  readonly heard: Diagnostic[];
  /** Appends one event, and notes how its caller was told. */
  append(name: string, options?: AppendOptions & { readonly stream?: string }): Promise<string>;
  /** Names of what is stored, in order. */
  stored(): Promise<unknown[]>;
}

async function setup(options: LedgerOptions = {}): Promise<Setup> {
  const assuming = assumingStore();
  const told: string[] = [];
  const heard: Diagnostic[] = [];
  const ledger = await open(assuming.store, { onEvent: (event) => void heard.push(event), ...options });
  await ledger.append("a/1", [{ type: "a.b", data: { name: "zero" } }]);
  heard.length = 0;
  assuming.startCounting();
  const append: Setup["append"] = async (name, { stream = "a/1", ...rest } = {}) => {
    const answer = await ledger.append(stream, [{ type: "a.b", data: { name } }], rest).then(
      () => "done",
      (error: unknown) => (error instanceof LedgerError ? error.code : String(error)),
    );
    told.push(`${name} ${answer}`);
    return answer;
  };
  const stored = async (): Promise<unknown[]> =>
    (await ledger.read({ from: 2 }).toArray()).map((event) => (event.data as { name: string }).name);
  return Object.assign(assuming, { ledger, told, heard, append, stored });
}

/** Batches are cut by the watch of the host; it stands still meanwhile, so that no busy machine splits one. */
async function unhurried<Value>(work: () => Promise<Value>): Promise<Value> {
  const { now } = performance;
  const stood = performance.now();
  performance.now = () => stood;
  try {
    return await work();
  } finally {
    performance.now = now;
  }
}

/** So many turns of the event loop that whatever can happen has happened. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 40; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function expectSound(ledger: Ledger): Promise<void> {
  expect(await ledger.verify({ level: "deep" })).toMatchObject({ verdict: "OK" });
}

/** Two batches on their way, the first of which waits at a gate and then meets what `then` does. */
async function twoOnTheirWay(
  { meet, append }: Setup,
  fate: { readonly before?: () => void; readonly after?: () => void },
): Promise<{ readonly letGo: () => void; readonly answers: Promise<readonly string[]> }> {
  const held = gate();
  meet({
    before: async () => {
      await held.pass();
      fate.before?.();
    },
    after: () => fate.after?.(),
  });
  const first = append("one", { expected: 1 });
  await held.reached;
  const behind = await unhurried(async () => {
    const sent = [append("two", { expected: 2 }), append("three", { expected: 3 })];
    await quiet();
    return sent;
  });
  return { letGo: held.open, answers: Promise.all([first, ...behind]) };
}

describe("while the commit of a batch is held back", () => {
  test("the next one is decided and sent, and its callers are told behind those of the first", async () => {
    const all = await setup();
    const { letGo, answers } = await twoOnTheirWay(all, {});

    expect([all.sent, all.togetherMax, all.told]).toEqual([2, 2, []]);
    letGo();
    expect(await answers).toEqual(["done", "done", "done"]);
    expect(all.told).toEqual(["one done", "two done", "three done"]);
    expect(await all.stored()).toEqual(["one", "two", "three"]);
    expect(all.voided).toBe(0);
    await expectSound(all.ledger);
  });

  test("no more than one is sent behind it", async () => {
    const all = await setup();
    const { letGo, answers } = await twoOnTheirWay(all, {});
    const later = [all.append("four"), all.append("five", { stream: "a/2" })];
    await quiet();

    expect([all.sent, (await all.ledger.status()).queue.commands]).toEqual([2, 2]);
    await unhurried(async () => {
      letGo();
      await Promise.all([answers, ...later]);
    });
    expect([all.sent, all.togetherMax]).toEqual([3, 2]);
    expect(await all.stored()).toEqual(["one", "two", "three", "four", "five"]);
  });

  test("what does not fit into the second one waits, however much there is", async () => {
    const all = await setup();
    const held = gate();
    all.meet({ before: held.pass });
    const one = all.append("one");
    await held.reached;
    const many = await unhurried(async () => {
      const appends = Array.from({ length: 600 }, (_, n) => all.append(`${n}`));
      await quiet();
      return appends;
    });

    expect([all.sent, (await all.ledger.status()).queue.commands]).toEqual([2, 600 - 512]);
    held.open();
    await Promise.all([one, ...many]);
    expect(await all.stored()).toEqual(["one", ...many.map((_, n) => `${n}`)]);
  });

  test("nobody is told anything that is not on disk, and readers see nothing of it", async () => {
    const all = await setup();
    const [first, second] = [gate(), gate()];
    all.meet({ before: first.pass }, { after: second.pass });
    const one = all.append("one");
    await first.reached;
    const two = all.append("two");
    await quiet();

    expect([all.told, await all.stored(), (await all.ledger.status()).size]).toEqual([[], [], 2]);
    first.open();
    await second.reached;
    await quiet();
    expect([all.told, await all.stored()]).toEqual([["one done"], ["one", "two"]]);
    second.open();
    await Promise.all([one, two]);
    expect(all.told).toEqual(["one done", "two done"]);
  });
});

describe("when the commit of a batch fails with another one behind it", () => {
  test("both are decided again in their order, nothing twice, and what was expected of the first holds for the second", async () => {
    const all = await setup();
    const { letGo, answers } = await twoOnTheirWay(all, {
      before: () => {
        throw busy();
      },
    });
    letGo();

    expect(await answers).toEqual(["done", "done", "done"]);
    expect(all.told).toEqual(["one done", "two done", "three done"]);
    expect(await all.stored()).toEqual(["one", "two", "three"]);
    expect(all.voided).toBe(1);
    await expectSound(all.ledger);
  });

  test("and is refused for good, the second one is decided without it", async () => {
    const all = await setup();
    const { letGo, answers } = await twoOnTheirWay(all, {
      before: () => {
        throw unavailable();
      },
    });
    const free = all.append("free");
    letGo();

    expect(await answers).toEqual(["STORE_UNAVAILABLE", "REVISION_CONFLICT", "REVISION_CONFLICT"]);
    expect(await free).toBe("done");
    expect(all.told.map((each) => each.split(" ")[0])).toEqual(["one", "two", "three", "free"]);
    expect(await all.stored()).toEqual(["free"]);
    await expectSound(all.ledger);
  });

  test("although it happened, everybody is told that it is done, and it is done once", async () => {
    const all = await setup();
    const { letGo, answers } = await twoOnTheirWay(all, {
      after: () => {
        throw unavailable();
      },
    });
    letGo();

    expect(await answers).toEqual(["done", "done", "done"]);
    expect(all.told).toEqual(["one done", "two done", "three done"]);
    expect(await all.stored()).toEqual(["one", "two", "three"]);
    await expectSound(all.ledger);
  });

  test("another ledger may have written in between, and both are decided on what it wrote", async () => {
    const all = await setup();
    const other = await open(all.inner);
    const { letGo, answers } = await twoOnTheirWay(all, {});
    const free = all.append("free");
    await other.append("a/1", [{ type: "a.b", data: { name: "other" } }]);
    letGo();

    expect(await answers).toEqual(["REVISION_CONFLICT", "done", "done"]);
    expect(await free).toBe("done");
    expect(await all.stored()).toEqual(["other", "two", "three", "free"]);
    expect(all.heard.filter(({ type }) => type === "retried")).toHaveLength(2);
    await expectSound(all.ledger);
  });

  test.each(["before", "after"] as const)(
    "and nobody can be asked whether it happened (%s): it is in doubt, the second one was not written, and the journal is whole",
    async (moment) => {
      const all = await setup({ busyTimeoutMs: 50 });
      const { letGo, answers } = await twoOnTheirWay(all, {
        [moment]: () => {
          all.gone = true;
          throw unavailable();
        },
      });
      letGo();

      expect(await answers).toEqual(["STORE_IN_DOUBT", "STORE_BUSY", "STORE_BUSY"]);
      all.gone = false;
      expect(await all.append("four")).toBe("done");
      expect(await all.stored()).toEqual(moment === "after" ? ["one", "four"] : ["four"]);
      await expectSound(all.ledger);
    },
  );
});

describe("a batch that writes nothing", () => {
  test("tells a refusal only when what it rests on is so: nobody hears of a conflict with what was never written", async () => {
    const all = await setup();
    const held = gate();
    all.meet({
      before: async () => {
        await held.pass();
        throw unavailable();
      },
    });
    const one = all.append("one");
    await held.reached;
    const conflict = all.append("old", { expected: 1 });
    await quiet();

    expect(all.told).toEqual([]);
    held.open();
    expect([await one, await conflict]).toEqual(["STORE_UNAVAILABLE", "done"]);
    expect(await all.stored()).toEqual(["old"]);
  });

  test("is decided again when another ledger wrote what it lacks", async () => {
    const all = await setup();
    const other = await open(all.inner);
    await other.append("a/1", [{ type: "a.b", data: { name: "other" } }]);

    expect(await all.append("next", { expected: 2 })).toBe("done");
    expect([all.voided, await all.stored()]).toEqual([1, ["other", "next"]]);
    expect(all.heard.filter(({ type }) => type === "retried")).toHaveLength(1);
  });
});

test("closing waits for all that is on its way", async () => {
  const all = await setup();
  const { letGo, answers } = await twoOnTheirWay(all, {});
  const closing = all.ledger.close().then(() => all.told.push("closed"));
  await quiet();

  expect(all.told).toEqual([]);
  letGo();
  await closing;
  expect(await answers).toEqual(["done", "done", "done"]);
  expect(all.told).toEqual(["one done", "two done", "three done", "closed"]);
});

test.each([
  [15, [15]],
  [16, [8, 8]],
  [33, [17, 16]],
])("of %i that wait when nothing is on its way, the batches hold %j", async (count, sizes) => {
  const all = await setup();
  const held = gate();
  all.meet({ before: held.pass });
  const appends = await unhurried(async () => {
    const sent = Array.from({ length: count }, (_, n) => all.append(`${n}`));
    await quiet();
    return sent;
  });
  held.open();
  await Promise.all(appends);

  const committed = all.heard.flatMap((event) => (event.type === "committed" ? [event] : []));
  expect(committed.map(({ commands }) => commands)).toEqual(sizes);
  expect(committed.at(-1)?.position).toBe(count + 1);
});

test("nobody begins on a batch that erases", async () => {
  const all = await setup();
  const secret = content("s".repeat(2_000));
  await all.ledger.append("a/2", [{ type: "a.b", data: { name: "secret", secret } }]);
  const [event] = await all.ledger.read({ from: 2 }).toArray();
  const { secret: reference } = event!.data as { readonly secret: { readonly $content: string } };
  const held = gate();
  all.startCounting();
  all.meet({ before: held.pass });
  const erasing = all.ledger.erase([reference.$content], { reason: "asked" });
  await held.reached;
  const behind = all.append("behind");
  await quiet();

  expect([all.sent, all.assumed]).toEqual([1, 1]);
  held.open();
  await Promise.all([erasing, behind]);
  expect([all.sent, all.togetherMax]).toEqual([2, 1]);
  await expectSound(all.ledger);
});

test("reads of documents see nothing that is not on disk while a commit is held back, and all of it behind it", async () => {
  const all = await setup({ projections: [table] });
  await appendTo(all.ledger, "a", opened("a"));
  const balance = async (): Promise<unknown> => (await all.ledger.projection(table).get("a"))?.balance;
  await appendTo(all.ledger, "a", moved("a", 1));
  expect(await balance()).toBe(1);
  const held = gate();
  all.meet({ before: held.pass });
  const moving = appendTo(all.ledger, "a", moved("a", 10));
  await held.reached;
  const further = appendTo(all.ledger, "a", moved("a", 100));
  await quiet();

  expect(await balance()).toBe(1);
  held.open();
  await Promise.all([moving, further]);
  expect(await balance()).toBe(111);
  await expectWhole(all.ledger, table);
});

test("a table is not taken for fresh for the sake of a batch that is on its way, where another ledger wrote at that position", async () => {
  const all = await setup({ projections: [table] });
  const other = await open(all.inner);
  await appendTo(all.ledger, "a", opened("a"));
  await all.ledger.projection(table).get("a"); // it follows from here on
  await appendTo(all.ledger, "a", moved("a", 1));
  const held = gate();
  all.meet({ before: held.pass });
  const unrelated = all.append("unrelated");
  await held.reached;
  await quiet();
  await appendTo(other, "a", moved("a", 10));

  // Bringing it up waits for what is on its way.
  const read = all.ledger.projection(table).get("a");
  await quiet();
  held.open();
  expect((await read)?.balance).toBe(11);
  expect(await unrelated).toBe("done");
  await expectWhole(all.ledger, table);
});
