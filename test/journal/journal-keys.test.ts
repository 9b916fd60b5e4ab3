import { describe, expect, test } from "vitest";
import { journalOpened, parseJournalOpened, parseKeyChanged } from "../../src/journal/events/journal.js";

const key = "example.com/orders+9baf461a+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
const zeros = (size: number): Uint8Array => new Uint8Array(size);

describe("the keys that a journal names", () => {
  test("stand in its first entry, or nowhere", () => {
    const opened = journalOpened("example.com/orders", zeros, key);

    expect(parseJournalOpened({ ...opened })).toEqual(opened);
    expect(opened.key).toBe(key);
    expect(Object.keys(journalOpened("example.com/orders", zeros))).not.toContain("key");
  });

  test("and in every journal.keyChanged", () => {
    expect(parseKeyChanged({ key })).toEqual({ key });
  });

  test.each([
    ["none", undefined],
    ["null", null],
    ["a signer key", "PRIVATE+KEY+example.com/orders+9baf461a+AQABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f"],
    ["a key id of 7 digits", key.replace("9baf461a", "9baf461")],
    ["a key that is cut short", key.slice(0, -1)],
    ["a name that is no origin", `Example ${key}`],
    ["two keys", `${key}\n${key}`],
  ])("are refused as damage when they are %s", (_, found) => {
    const damaged = { code: "STORE_DAMAGED", details: { type: "journal.keyChanged" } };
    expect(() => parseKeyChanged(found === undefined ? {} : { key: found })).toThrow(expect.objectContaining(damaged));
    if (found === undefined) return;
    const opened = { ...journalOpened("example.com/orders", zeros), key: found };
    expect(() => parseJournalOpened(opened)).toThrow(expect.objectContaining({ code: "STORE_DAMAGED" }));
  });
});
