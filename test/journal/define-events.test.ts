import { describe, expect, test } from "vitest";
import { defineEvents, reservedAreas } from "../../src/journal/define-events.js";
import type { EventDefinition, EventDefinitions } from "../../src/journal/define-events.js";
import { refusalOf } from "../kernel/refusal.js";

const open = { open: true };
const loosely = defineEvents as (area: unknown, options: unknown, events: unknown) => EventDefinitions;

function define(definition: unknown): EventDefinitions {
  return loosely("invoice", open, { "invoice.sent": definition });
}

test("an area says what it is, once", () => {
  const events = defineEvents(
    "invoice",
    { open: false, kinds: ["invoice", "customer"] },
    {
      "invoice.sent": {
        version: 2,
        content: ["/note", "/deep/a~1b", "/deep/~01"],
        upcast: { 1: (data) => ({ ...data, currency: "EUR" }) },
      },
      "invoice.paid": {},
    },
  );

  expect(events).toMatchObject({ area: "invoice", open: false, kinds: ["invoice", "customer"] });
  expect([...events.events.keys()]).toEqual(["invoice.sent", "invoice.paid"]);
  const sent = events.events.get("invoice.sent");
  expect(sent).toMatchObject({ type: "invoice.sent", version: 2 });
  expect(sent?.upcast.get(1)?.({ total: 1 })).toEqual({ total: 1, currency: "EUR" });
  expect(sent?.pointers?.children.get("note")?.leaf).toBe(true);
  expect(sent?.pointers?.children.get("deep")).toMatchObject({ leaf: false });
  expect([...(sent?.pointers?.children.get("deep")?.children.keys() ?? [])]).toEqual(["a/b", "~1"]);
  expect(sent?.pointers?.children.get("deep")?.children.get("a/b")?.leaf).toBe(true);
  expect(events.events.get("invoice.paid")).toMatchObject({ version: 1, pointers: undefined });
});

test("an area owns the kind of its own name unless it says otherwise", () => {
  expect(defineEvents("invoice", open, {}).kinds).toEqual(["invoice"]);
});

describe("misuse", () => {
  test.each(["", "Invoice", "1", "a_b", "a.b", "é", "a".repeat(33), null, undefined, 1, ["invoice"]])(
    "the area %j is refused",
    (area) => {
      expect(refusalOf(() => loosely(area, open, {})).details).toMatchObject({ path: "area" });
    },
  );

  test("the names of the journal itself are refused, as areas and as kinds", () => {
    expect([...reservedAreas]).toEqual(expect.arrayContaining(["journal", "content", "receipt", "fence"]));
    for (const name of reservedAreas)
      expect(refusalOf(() => loosely(name, open, {})).message).toContain("that the journal does not use itself");
    for (const name of [...reservedAreas, "client"]) {
      expect(refusalOf(() => loosely("invoice", { open: true, kinds: ["invoice", name] }, {})).details).toMatchObject({
        path: "invoice options.kinds[1]",
      });
    }
  });

  test.each([undefined, null, {}, { open: "yes" }, { open: 1 }, "open"])("the options %j are refused", (options) => {
    expect(refusalOf(() => loosely("invoice", options, {})).details).toMatchObject({ path: "invoice options.open" });
  });

  test.each([["invoice"], [null], [{}], [["Invoice"]], [[1]], [["a", "a"]]])("the kinds %j are refused", (kinds) => {
    expect(String(refusalOf(() => loosely("invoice", { open: true, kinds }, {})).details["path"])).toMatch(
      /^invoice options\.kinds/,
    );
  });

  test.each([undefined, null, [], "x", 1])("the events %j are refused", (events) => {
    expect(refusalOf(() => loosely("invoice", open, events)).details).toMatchObject({ path: "invoice events" });
  });

  test.each(["sent", "invoice", "invoice.", "invoice.Sent", "order.sent", "invoices.sent", "__proto__.a"])(
    "the type %j is refused",
    (type) => {
      expect(refusalOf(() => loosely("invoice", open, { [type]: {} })).details).toMatchObject({
        path: "invoice event type",
      });
    },
  );

  test.each([null, undefined, 1, "x", []])("the definition %j is refused", (definition) => {
    expect(refusalOf(() => define(definition)).details).toMatchObject({ path: "invoice.sent definition" });
  });

  test.each([0, -1, 1.5, "2", NaN, null, 2 ** 53])("the version %j is refused", (version) => {
    expect(refusalOf(() => define({ version })).details).toMatchObject({ path: "invoice.sent version" });
  });

  test("upcasting has a step from every older version, and from no other", () => {
    const step = (data: object): object => data;

    expect(refusalOf(() => define({ version: 2 })).message).toContain(
      "a step from version 1: version 2 is written today",
    );
    expect(refusalOf(() => define({ version: 3, upcast: { 1: step } })).message).toContain("a step from version 2");
    expect(refusalOf(() => define({ version: 2, upcast: { 1: step, 2: step } })).message).toContain(
      "steps from versions 1 to 1",
    );
    for (const from of ["0", "-1", "01", "1.0", "x", "1e0"]) {
      expect(refusalOf(() => define({ version: 2, upcast: { 1: step, [from]: step } })).details).toMatchObject({
        path: "invoice.sent upcast",
      });
    }
    for (const notAStep of [null, 1, "x", {}])
      expect(refusalOf(() => define({ version: 2, upcast: { 1: notAStep } })).details).toMatchObject({
        path: "invoice.sent upcast[1]",
      });
    for (const upcast of [null, [step], 1])
      expect(refusalOf(() => define({ version: 2, upcast })).details).toMatchObject({ path: "invoice.sent upcast" });
    expect(define({ version: 3, upcast: { 2: step, 1: step } }).events.get("invoice.sent")?.upcast.size).toBe(2);
  });

  test.each([
    "/note",
    null,
    {},
    [""],
    ["note"],
    ["#/note"],
    ["/a~2b"],
    ["/a~"],
    [1],
    [null],
    ["/a", "/a/b"],
    ["/a/b", "/a"],
    ["/a", "/a"],
  ])("the content pointers %j are refused", (content) => {
    expect(refusalOf(() => define({ content })).details).toMatchObject({ path: "invoice.sent content" });
  });
});

describe("parsing data", () => {
  const parse = (definition: EventDefinition, data: unknown): unknown =>
    define(definition).events.get("invoice.sent")?.parse(data);
  const schema = (validate: (value: unknown) => unknown): EventDefinition => ({ parse: { "~standard": { validate } } });

  test("data goes through as it is where nobody checks it", () => {
    const data = { total: 1 };
    expect(parse({}, data)).toBe(data);
  });

  test("a function checks and shapes it; what it throws is the caller's", () => {
    expect(parse({ parse: (data) => ({ data, checked: true }) }, 1)).toEqual({ data: 1, checked: true });

    const mine = new RangeError("mine");
    expect(() =>
      parse(
        {
          parse: () => {
            throw mine;
          },
        },
        {},
      ),
    ).toThrow(mine);
  });

  test("a Standard Schema gives the value or its issues", () => {
    expect(
      parse(
        schema((value) => ({ value: { ...(value as object), checked: true } })),
        { total: 1 },
      ),
    ).toEqual({ total: 1, checked: true });
    expect(
      parse(
        schema(() => ({ value: {}, issues: undefined })),
        {},
      ),
    ).toEqual({});

    const refusal = refusalOf(() =>
      parse(
        schema(() => ({ issues: [{ message: "total must be positive", path: ["total"] }] })),
        {},
      ),
    );
    expect(refusal.code).toBe("INVALID_ARGUMENT");
    expect(refusal.message).toBe("invoice.sent data is not what its schema says: total must be positive");
    expect(refusal.details).toMatchObject({ type: "invoice.sent", issues: [{ path: ["total"] }] });
  });

  test("a schema that says neither is refused", () => {
    for (const result of [{}, { value: undefined }, { issues: [] }, null, undefined, "x", 1]) {
      expect(
        refusalOf(() =>
          parse(
            schema(() => result),
            {},
          ),
        ).code,
      ).toBe("INVALID_ARGUMENT");
    }
  });

  test("A18 a check that answers later is refused at once", () => {
    expect(refusalOf(() => parse({ parse: async () => ({}) }, {})).message).toContain("must be synchronous");
    expect(
      refusalOf(() =>
        parse(
          schema(() => Promise.resolve({ value: {} })),
          {},
        ),
      ).message,
    ).toContain("must be synchronous");
    expect(
      refusalOf(() =>
        parse(
          schema(() => ({ value: Promise.resolve({}) })),
          {},
        ),
      ).message,
    ).toContain("must be synchronous");
  });

  test.each([null, 1, "x", {}, { "~standard": {} }, { "~standard": null }, { "~standard": { validate: 1 } }])(
    "the check %j is refused",
    (check) => {
      expect(refusalOf(() => define({ parse: check })).details).toMatchObject({ path: "invoice.sent parse" });
    },
  );
});
