/** Bytes of contents are read where a content is read, and nowhere else: to name one its facts will do, however large it is. */
import { expect, test } from "vitest";
import { accept, content, contentSalt, defineCommand, defineEvents } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";
import { open } from "./fixture.js";
import { remoteStore } from "./remote.js";

const files = defineEvents("file", { open: true }, { "file.kept": {} });

const keepAgain = defineCommand("file.keepAgain", {
  reads: [({ body }: { readonly body: ContentReference }) => ({ body: contentSalt(body) })],
  decide: ({ body }, input, context) =>
    accept([{ stream: "file/3", type: "file.kept", data: { body: input.body } }], {
      state: body?.state ?? null,
      same: context.sameContent(input.body, text),
    }),
});

const text = "x".repeat(100_000);

async function withOneContent(): Promise<{ ledger: Ledger; body: ContentReference; wholes: () => number }> {
  const { store, asked } = remoteStore(createMemoryStore());
  const ledger = await open(store, { events: [files], commands: [keepAgain] });
  await ledger.append("file/1", [{ type: "file.kept", data: { body: content(text) } }]);
  const [event] = await ledger.readStream("file/1").toArray();
  const { body } = event!.data as unknown as { body: ContentReference };
  asked.length = 0;
  return {
    ledger,
    body,
    wholes: () => asked.flatMap(({ calls }) => calls).filter((name) => name === "contents").length,
  };
}

test("an equal content is found again without its bytes", async () => {
  const { ledger, body, wholes } = await withOneContent();

  await ledger.append("file/2", [{ type: "file.kept", data: { body: content(text) } }]);

  const [event] = await ledger.readStream("file/2").toArray();
  expect(event!.data).toEqual({ body });
  expect(wholes()).toBe(0);
});

test("a content is named again without its bytes", async () => {
  const { ledger, body, wholes } = await withOneContent();

  await ledger.append("file/2", [{ type: "file.kept", data: { body } }]);
  await expect(
    ledger.append("file/2", [{ type: "file.kept", data: { body: { ...body, bytes: 7 } } }]),
  ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });

  expect(wholes()).toBe(0);
});

test("a command that names a content it has asked for needs no bytes of it", async () => {
  const { ledger, body, wholes } = await withOneContent();

  expect((await ledger.execute(keepAgain({ body }))).result).toEqual({ state: "stored", same: true });

  const [event] = await ledger.readStream("file/3").toArray();
  expect(event!.data).toEqual({ body });
  expect(wholes()).toBe(0);
});

test("a content is erased without its bytes", async () => {
  const { ledger, body, wholes } = await withOneContent();

  await ledger.erase([body.$content], { reason: "asked for" });

  expect(wholes()).toBe(0);
  await expect(ledger.content(body)).rejects.toMatchObject({ code: "CONTENT_ERASED" });
  expect(wholes()).toBe(1);
});
