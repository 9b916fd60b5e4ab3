import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineProjection, replay } from "../../projections/index.js";
import type { FindQuery, FoundDocuments, ProjectionEvent } from "../../projections/index.js";
import { freezeDeep } from "../../projections/freeze.js";
import { foldLive } from "../../projections/live.js";
import { keyOf } from "../../projections/reducer.js";
import { canonicalize } from "../../src/kernel/canonical.js";
import { LedgerError } from "../../src/kernel/errors.js";
import { refusalOf } from "../kernel/refusal.js";
import { histories, playing } from "./histories.js";

const runs = process.env.RUNLEDGER_LONG === "1" ? 2_000 : 200;

interface Card {
  suit: string;
  rank: number;
}

function cardOf({ data }: ProjectionEvent): string {
  return data["card"] as string;
}

const cards = defineProjection<Card>()({
  name: "cards",
  version: 3,
  indexes: { bySuit: (card) => (card.rank === 0 ? null : [card.suit, card.rank]) },
  on: {
    "card.dealt": { key: cardOf, apply: (_, dealing) => dealing.data["face"] as Card },
    "card.torn": { key: cardOf, apply: () => null },
  },
});

function event(position: number, type: string, data: object): ProjectionEvent {
  return { position, stream: "card/all", revision: position + 1, type, version: 1, data, at: 5 };
}

const faces = ["b", "a", "ä", "\uffff", "\u{1f600}"];
const dealt = faces.map((card, index) =>
  event(index, "card.dealt", { card, face: { suit: index % 2 === 0 ? "red" : "black", rank: index } }),
);

async function code(act: Promise<unknown>): Promise<unknown> {
  const refusal: unknown = await act.then(
    () => null,
    (cause: unknown) => cause,
  );
  return refusal instanceof LedgerError ? refusal.code : refusal;
}

describe("replay", () => {
  test("folds events from nothing, and answers documents, queries and a digest", async () => {
    const { position, projection } = await replay([cards], [...dealt, event(9, "card.torn", { card: "a" })]);

    expect(position).toBe(9);
    expect(projection(cards).get("b")).toEqual({ suit: "red", rank: 0 });
    expect(projection(cards).get("a")).toBeNull();
    expect(projection("cards").find({ index: "bySuit", prefix: ["red"] }).documents).toEqual([
      { key: "ä", document: { suit: "red", rank: 2 } },
      { key: "\u{1f600}", document: { suit: "red", rank: 4 } },
    ]);
    const lines = ["b", "ä", "\uffff", "\u{1f600}"].map(
      (key) => `${canonicalize([key, projection(cards).get(key)])}\n`,
    );
    const digest = createHash("sha256")
      .update(`runledger state/v1\ncards\n3\n${lines.join("")}`)
      .digest("hex");
    expect(projection(cards).digest()).toEqual({ position: 9, documents: 4, digest });
  });

  test("takes the events of an asynchronous reading as well", async () => {
    async function* reading(): AsyncGenerator<ProjectionEvent> {
      for (const each of dealt) yield await Promise.resolve(each);
    }
    const [one, other] = [await replay([cards], reading()), await replay([cards], dealt)];
    expect(one.projection(cards).digest()).toEqual(other.projection(cards).digest());
  });

  test.each<FindQuery>([{}, { order: "desc" }, { index: "bySuit" }, { index: "bySuit", order: "desc" }])(
    "pages of one are the whole, in the same order (%o)",
    async (query) => {
      const { projection } = await replay([cards], dealt);
      const whole = projection(cards).find(query);
      const pages: FoundDocuments<Card>["documents"][number][] = [];
      let page = projection(cards).find({ ...query, limit: 1 });
      while (page.next !== null) {
        pages.push(...page.documents);
        page = projection(cards).find({ ...query, limit: 1, after: page.next });
      }
      // The last page knows that it is the last, as that of a table does.
      expect(page.documents).toHaveLength(1);
      pages.push(...page.documents);
      expect(whole.next).toBeNull();
      expect(pages).toEqual(whole.documents);
      expect(pages.length).toBe(query.index === undefined ? 5 : 4);
    },
  );

  test("a projection that stops says where and why, at each read too, and does not stop the others", async () => {
    const broken = defineProjection<Card>()({
      name: "broken",
      version: 1,
      on: {
        "card.dealt": {
          key: cardOf,
          apply: (card, each) => {
            if (each.position === 3) throw new Error("no more cards");
            return each.data["face"] as Card;
          },
        },
      },
    });
    const { projection } = await replay([broken, cards], dealt);

    expect(projection(broken).failure).toEqual({
      code: "PROJECTION_FAILED",
      position: 3,
      type: "card.dealt",
      key: "\uffff",
      message: "no more cards",
    });
    expect(projection(broken).position).toBe(2);
    const { failure } = projection(broken);
    const reads = [
      () => projection(broken).get("a"),
      () => projection(broken).find(),
      () => projection(broken).digest(),
    ];
    for (const read of reads)
      expect(refusalOf(read)).toMatchObject({ code: "PROJECTION_FAILED", details: { position: 3 } });
    expect(failure?.message).toBe("no more cards");
    expect(projection(cards).digest().documents).toBe(5);
  });

  test("what a symbol names is not looked for, and not shown", async () => {
    const marked = defineProjection<Record<string, unknown>>()({
      name: "marked",
      version: 1,
      on: {
        "card.dealt": {
          key: () => "all",
          apply: (document, { position }) => ({ ...document, at: { position, [Symbol("mark")]: {} } }),
        },
      },
    });
    const { projection } = await replay([marked], dealt);

    const { at } = projection(marked).get("all") ?? {};
    expect(at).toEqual({ position: 4 });
    expect(Object.getOwnPropertySymbols(at)).toEqual([]);
    expect(Object.isFrozen(at)).toBe(true);
    expect(projection(marked).digest().documents).toBe(1);
  });

  test("a member named __proto__ stops it, where it stops the live driver", async () => {
    const named = defineProjection<Record<string, unknown>>()({
      name: "named",
      version: 1,
      on: {
        "card.dealt": {
          key: () => "all",
          apply(document = {}, { position }) {
            document["position"] = position;
            if (position === 2) Object.defineProperty(document, "__proto__", { value: 1, enumerable: true });
            return document;
          },
        },
      },
    });
    const { failure } = (await replay([named], dealt)).projection(named);

    expect(failure).toMatchObject({ position: 2, key: "all" });
    const live = refusalOf(() => foldLive(named, dealt[2] as ProjectionEvent, "all", { position: 1 }));
    expect(live).toMatchObject({ code: "PROJECTION_FAILED", details: { position: 2, key: "all" } });
  });

  test("the events of the caller stay as they were: neither changed nor frozen", async () => {
    const own = event(0, "card.dealt", { card: "a", face: { suit: "red", rank: 1 } });
    await replay([cards], [own]);
    expect(Object.isFrozen(own) || Object.isFrozen(own.data) || Object.isFrozen(own.data["face"])).toBe(false);
  });

  test.each<[what: string, events: unknown[]]>([
    ["positions that stand still", [event(1, "card.dealt", {}), event(1, "card.dealt", {})]],
    ["an event that is none", [5]],
    ["a type that is none", [event(0, "card", {})]],
    ["data that is none", [event(0, "card.dealt", [])]],
    ["a date in the data", [event(0, "card.dealt", { at: new Date() })]],
    ["an integer that was rounded", [event(0, "card.dealt", { n: 2 ** 53 })]],
  ])("%s are refused", async (_, events) => {
    expect(await code(replay([cards], events as ProjectionEvent[]))).toBe("INVALID_ARGUMENT");
  });

  test("projections that are none, or have one name, are refused; one that was not replayed is not found", async () => {
    expect(await code(replay([{} as typeof cards], []))).toBe("INVALID_ARGUMENT");
    expect(await code(replay([cards, cards], []))).toBe("INVALID_ARGUMENT");
    const { projection } = await replay([], []);
    expect(() => projection(cards)).toThrow(expect.objectContaining({ code: "NOT_FOUND" }) as Error);
  });

  test("has the digest of the documents that were folded live, on random histories", async () => {
    await fc.assert(
      fc.asyncProperty(histories({ failures: false }), async (history) => {
        const projection = playing("play");
        const replayed = (await replay([projection], history)).projection(projection);
        if (replayed.failure !== null) return; // held to the others' failures in drivers.test.ts
        const documents = new Map<string, object>();
        for (const each of freezeDeep(structuredClone(history))) {
          const key = keyOf(projection, each);
          if (key === null) continue;
          const after = foldLive<object>(projection, each, key, documents.get(key) ?? null);
          if (after === null) documents.delete(key);
          else documents.set(key, after);
        }
        const lines = [...documents]
          .map(([key, document]) => [Buffer.from(key), `${canonicalize([key, document])}\n`] as const)
          .sort(([a], [b]) => Buffer.compare(a, b))
          .map(([, line]) => line);
        const digest = createHash("sha256")
          .update(`runledger state/v1\nplay\n1\n${lines.join("")}`)
          .digest("hex");
        expect(replayed.digest()).toEqual({ position: replayed.position, documents: documents.size, digest });
      }),
      { numRuns: runs },
    );
  });
});
