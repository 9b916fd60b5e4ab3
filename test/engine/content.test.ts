import { expect, test } from "vitest";
import { content, defineEvents } from "../../src/index.js";
import type { ContentReference } from "../../src/index.js";
import { describeStores } from "./fixture.js";

const notes = defineEvents(
  "note",
  { open: true },
  { "note.written": { content: ["/text", "/parts/1"] }, "note.filed": {} },
);

describeStores("content", (openOne) => {
  test("is stored beside the journal and named by digest, size and number", async () => {
    const ledger = await openOne();

    await ledger.append("doc/1", [
      {
        type: "doc.saved",
        data: {
          title: "a",
          body: content("hello"),
          image: content(Uint8Array.of(1, 2), "image/png"),
          tree: content({ b: 1, a: [true] }),
        },
      },
    ]);

    const [event] = await ledger.readStream("doc/1").toArray();
    const { body, image, tree, title } = event!.data as unknown as Record<string, ContentReference>;
    expect(title).toBe("a");
    expect([body!.n, image!.n, tree!.n]).toEqual([1, 2, 3]);
    expect(body!.bytes).toBe(5);
    expect((await ledger.content(body!)).text()).toBe("hello");
    expect(await ledger.content(image!)).toMatchObject({ media: "image/png", bytes: Uint8Array.of(1, 2) });
    expect((await ledger.content(tree!)).json()).toEqual({ a: [true], b: 1 });
    expect((await ledger.status()).contents).toBe(3);
  });

  test("is taken from where the definition says, whatever the value is, and what is absent stays absent", async () => {
    const ledger = await openOne({ events: [notes] });

    await ledger.append("note/1", [
      { type: "note.written", data: { text: "secret", parts: ["kept", { moved: true }] } },
      { type: "note.written", data: { by: "a" } },
      { type: "note.written", data: { text: null } },
    ]);

    const events = await ledger.readStream("note/1").toArray();
    const first = events[0]!.data as unknown as { text: ContentReference; parts: [string, ContentReference] };
    // In the order of the canonical text: parts before text.
    expect([first.parts[1].n, first.text.n]).toEqual([1, 2]);
    expect(first.parts[0]).toBe("kept");
    expect((await ledger.content(first.text)).text()).toBe("secret");
    expect((await ledger.content(first.parts[1])).json()).toEqual({ moved: true });
    expect(events[1]!.data).toEqual({ by: "a" });
    expect((await ledger.content((events[2]!.data as unknown as { text: ContentReference }).text)).json()).toBe(null);
  });

  test("G-17 equal content of 1 KiB or more is stored once; another media type makes another content; small content is not shared", async () => {
    const ledger = await openOne();
    const large = "x".repeat(1_024);

    await ledger.append("doc/1", [{ type: "doc.saved", data: { a: content(large), b: content(large) } }]);
    await ledger.append("doc/2", [
      {
        type: "doc.saved",
        data: { a: content(large), b: content(large, "text/html"), c: content("x"), d: content("x") },
      },
    ]);

    const events = await ledger.read({ kinds: ["doc"] }).toArray();
    const numbers = events.flatMap((event) =>
      Object.values(event.data).map((reference) => (reference as ContentReference).n),
    );
    expect(numbers).toEqual([1, 1, 1, 2, 3, 4]);
    expect((await ledger.status()).contents).toBe(4);
  });

  test("is stored each time when deduplication is off", async () => {
    const ledger = await openOne({ dedupe: false });
    const large = "x".repeat(2_000);

    await ledger.append("doc/1", [{ type: "doc.saved", data: { a: content(large), b: content(large) } }]);

    expect((await ledger.status()).contents).toBe(2);
  });

  test("can be named again by a reference that was read, and by no invented one", async () => {
    const ledger = await openOne();
    await ledger.append("doc/1", [{ type: "doc.saved", data: { body: content("hello") } }]);
    const [event] = await ledger.readStream("doc/1").toArray();
    const reference = (event!.data as unknown as { body: ContentReference }).body;

    await ledger.append("doc/2", [{ type: "doc.copied", data: { body: reference } }]);

    expect((await ledger.status()).contents).toBe(1);
    const refused = [
      { ...reference, $content: "0".repeat(64) },
      { ...reference, n: 7 },
      { ...reference, bytes: 6 },
      { ...reference, more: true },
      { $content: "x" },
    ];
    for (const body of refused) {
      await expect(ledger.append("doc/2", [{ type: "doc.copied", data: { body } }])).rejects.toMatchObject({
        code: expect.stringMatching(/^(CONTENT_MISSING|INVALID_ARGUMENT)$/) as string,
      });
    }
    expect((await ledger.status()).size).toBe(3);
  });

  test("that this journal does not have is missing, which is another answer than erased", async () => {
    const ledger = await openOne();
    await expect(ledger.content({ $content: "0".repeat(64), bytes: 1, n: 1 })).rejects.toMatchObject({
      code: "CONTENT_MISSING",
    });
    await expect(ledger.content({ n: 1 } as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("G-17 reading JSON from a content of another media type is refused", async () => {
    const ledger = await openOne();
    await ledger.append("doc/1", [{ type: "doc.saved", data: { body: content("{}") } }]);
    const [event] = await ledger.readStream("doc/1").toArray();
    const body = await ledger.content((event!.data as unknown as { body: ContentReference }).body);
    expect(() => body.json()).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  test("large values fit as content where an entry has no room for them", async () => {
    const ledger = await openOne();
    await ledger.append("doc/1", [{ type: "doc.saved", data: { body: content("x".repeat(5_000_000)) } }]);
    const [event] = await ledger.readStream("doc/1").toArray();
    expect((await ledger.content((event!.data as unknown as { body: ContentReference }).body)).bytes.length).toBe(
      5_000_000,
    );
  });
});
