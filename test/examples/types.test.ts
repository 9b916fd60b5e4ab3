/** What the types say to a host: its events, documents, commands and results are inferred, without a cast in the whole file. */
import { expect, expectTypeOf, test } from "vitest";
import { defineProjection } from "../../projections/index.js";
import { accept, content, contentSalt, defineCommand, defineEvents, openLedger, refuse } from "../../src/index.js";
import type { ContentReference, ContentValue, FoundContent, FoundDocuments } from "../../src/index.js";

interface GarageEvents {
  readonly "garage.opened": { readonly spot: string; readonly level: number };
  readonly "garage.parked": { readonly plate: string; readonly spot: string; readonly note?: ContentReference };
  readonly "garage.left": { readonly plate: string; readonly spot: string };
}

interface Spot {
  readonly level: number;
  plate: string | null;
}

interface Car {
  spot: string | null;
  readonly note: ContentReference | null;
}

const garageEvents = defineEvents(
  "garage",
  { open: false, kinds: ["spot", "car"] },
  { "garage.opened": {}, "garage.parked": { content: ["/note"] }, "garage.left": {} },
);

const spots = defineProjection<Spot, GarageEvents>()({
  name: "spot",
  version: 1,
  indexes: { free: (spot) => (spot.plate === null ? [spot.level] : null) },
  on: {
    "garage.opened": {
      key: ({ data }) => data.spot,
      apply(_, { data }) {
        expectTypeOf(data).toEqualTypeOf<GarageEvents["garage.opened"]>();
        return { level: data.level, plate: null };
      },
    },
    "garage.parked": {
      key: ({ data }) => data.spot,
      apply(spot, { data }) {
        if (spot) spot.plate = data.plate;
      },
    },
    "garage.left": {
      key: ({ data }) => data.spot,
      apply(spot) {
        if (spot) spot.plate = null;
      },
    },
  },
});

const cars = defineProjection<Car, GarageEvents>()({
  name: "car",
  version: 1,
  on: {
    "garage.parked": {
      key: ({ data }) => data.plate,
      apply: (_, { data }) => ({ spot: data.spot, note: data.note ?? null }),
    },
    "garage.left": {
      key: ({ data }) => data.plate,
      apply(car) {
        if (car) car.spot = null;
      },
    },
  },
});

const open = defineCommand("garage.open", {
  decide: (_, data: GarageEvents["garage.opened"]) =>
    accept([{ stream: `spot/${data.spot}`, type: "garage.opened", data }]),
});

const park = defineCommand("garage.park", {
  parse: (input: { readonly plate: string; readonly note?: ContentValue }) => ({
    ...input,
    plate: input.plate.toUpperCase(),
  }),
  reads: [
    ({ plate }) => ({ car: cars.get(plate), free: spots.find({ index: "free", limit: 1 }) }),
    (_, { car, free }) => ({ old: contentSalt(car?.note), spot: spots.get(car?.spot ?? free.documents[0]?.key) }),
  ],
  decide({ car, free, old, spot }, { plate, note }, { sameContent }) {
    expectTypeOf(car).toEqualTypeOf<Car | null>();
    expectTypeOf(free).toEqualTypeOf<FoundDocuments<Spot>>();
    expectTypeOf(spot).toEqualTypeOf<Spot | null>();
    expectTypeOf(old).toEqualTypeOf<FoundContent | null>();
    const place = free.documents[0];
    if (car?.spot) return refuse("ALREADY_PARKED", { plate, spot: car.spot });
    if (place === undefined) return refuse("GARAGE_FULL", {}, { transient: true });
    const sameNote = old !== null && note !== undefined && sameContent(old.reference, note);
    const data = { plate, spot: place.key, ...(note === undefined ? {} : { note }) };
    return accept([{ stream: `car/${plate}`, type: "garage.parked", data }], { spot: place.key, sameNote });
  },
});

const leave = defineCommand("garage.leave", {
  reads: [({ plate }: { readonly plate: string }) => ({ car: cars.get(plate) })],
  decide({ car }, { plate }) {
    if (!car?.spot) return refuse("NOT_PARKED", { plate });
    return accept([{ stream: `car/${plate}`, type: "garage.left", data: { plate, spot: car.spot } }], {
      was: car.spot,
    });
  },
});

test("events, found documents and results have the types that a host gave them", async () => {
  const ledger = await openLedger("memory:", {
    events: [garageEvents],
    projections: [spots, cars],
    commands: [open, park, leave],
  });

  const listed = await ledger.execute([open({ spot: "A1", level: 1 }), park({ plate: "b 12" })]);
  expectTypeOf(listed.results[1]).toEqualTypeOf<{ readonly spot: string; readonly sameNote: boolean }>();
  expect(listed.results).toEqual([undefined, { spot: "A1", sameNote: false }]);

  const left = await ledger.execute(leave({ plate: "B 12" }));
  expectTypeOf(left.result).toEqualTypeOf<{ readonly was: string }>();

  const [first] = (await ledger.projection(spots).find({ index: "free" })).documents;
  expectTypeOf(first?.document).toEqualTypeOf<Spot | undefined>();
  expectTypeOf(await ledger.projection(cars).get("B 12")).toEqualTypeOf<Car | null>();
  const past = await ledger.at(listed.position);
  expectTypeOf(await past.projection(cars).get("B 12")).toEqualTypeOf<Car | null>();
  expect([first?.key, await past.projection(cars).get("B 12")]).toEqual(["A1", { spot: "A1", note: null }]);
  await ledger.close();
});

test("a command of one kind or another is executed as it is, and answers either", async () => {
  const ledger = await openLedger("memory:", {
    events: [garageEvents],
    projections: [spots, cars],
    commands: [open, park, leave],
  });
  const wishes = [
    open({ spot: "A1", level: 1 }),
    park({ plate: "B 12", note: content("red") }),
    leave({ plate: "B 12" }),
  ];

  for (const wish of wishes) {
    const { result } = await ledger.execute(wish);
    expectTypeOf(result).toEqualTypeOf<
      { readonly spot: string; readonly sameNote: boolean } | { readonly was: string } | undefined
    >();
  }
  const { results } = await ledger.execute(wishes.slice(1));
  expectTypeOf(results[0]).toEqualTypeOf<
    { readonly spot: string; readonly sameNote: boolean } | { readonly was: string } | undefined
  >();

  expect(results).toEqual([{ spot: "A1", sameNote: true }, { was: "A1" }]);
  await ledger.close();
});

test("what does not fit is not compiled", () => {
  const define = defineProjection<Car, GarageEvents>();
  const apply = () => null;
  // @ts-expect-error -- there is no such event
  define({ name: "car", version: 1, on: { "garage.prked": { key: () => null, apply } } });
  // @ts-expect-error -- not the document
  define({ name: "car", version: 1, on: { "garage.left": { key: () => null, apply: () => ({ spot: 1 }) } } });
  // @ts-expect-error -- a member is missing in the input
  park({});

  expect(define).toBeTypeOf("function");
});
