/** What a caller gave to `append` was looked at again after the call returned, when the caller may have changed it.
 *  Notation: a append called, m the caller changes its object, w the writer's turn. */
import { expect, test } from "vitest";
import { content, openLedger } from "../../src/index.js";
import type { ContentReference, ContentValue } from "../../src/index.js";

// a m w: the digest was computed at the call and the bytes were stored at the writer's turn, from the same array.
test("bytes that change after the append do not reach the content", async () => {
  const ledger = await openLedger("memory:");
  const note: ContentValue & { bytes?: Uint8Array } = content(Buffer.from("before"));

  const appending = ledger.append("note/1", [{ type: "note.added", data: { note } }]);
  note.bytes?.fill(0);
  await appending;

  for await (const event of ledger.readStream("note/1")) {
    expect((await ledger.content(event.data["note"] as ContentReference)).text()).toBe("before");
  }
  await ledger.close();
});

// a m w: the entry held the id that was given at the call, and the writer looked up the one that was there at its turn.
test("a cause that changes after the append is judged as it was", async () => {
  const ledger = await openLedger("memory:");
  const { position, ids } = await ledger.append("note/1", [{ type: "note.added" }]);
  const cause = { position, id: "ab".repeat(32) };

  const appending = ledger.append("note/1", [{ type: "note.added" }], { cause });
  cause.id = ids[0] ?? "";

  await expect(appending).rejects.toMatchObject({ code: "NOT_FOUND" });
  await ledger.close();
});
