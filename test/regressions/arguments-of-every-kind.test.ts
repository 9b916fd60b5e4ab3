/** Arguments that ended in an error without a code: what no program means to give, and what programs written without types
 *  do give. Each line is one public function. */
import { expect, test } from "vitest";
import { content, defineEvents, LedgerError, openLedger } from "../../src/index.js";
import type { ContentReference, Ledger } from "../../src/index.js";
import * as forensic from "../../src/forensic/index.js";
import type { RawReader } from "../../src/forensic/index.js";
import { createMemoryStore } from "../../src/store/memory/store.js";

const hostile = (): never => expect.fail("the value's code ran");
const proxyOf = (target: object): unknown =>
  new Proxy(target, { get: hostile, ownKeys: hostile, has: hostile, getPrototypeOf: hostile });
const revokedOf = (target: object): unknown => {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
};
const oddities: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a number", 5],
  ["a symbol", Symbol("odd")],
  ["a list with a hole", Object.assign(Array(2), { 1: "x" })],
  ["a function", () => {}],
  ["a Proxy of an object", proxyOf({})],
  ["a Proxy of a list", proxyOf([])],
  ["a Proxy that was revoked", revokedOf({})],
  ["a Proxy of a list that was revoked", revokedOf([])],
];

type Act = (value: never) => unknown;
const digest = "ab".repeat(32);
const ledgerActs = (ledger: Ledger): readonly (readonly [string, Act])[] => [
  ["append, target", (value) => ledger.append(value, [{ type: "order.placed", data: {} }])],
  ["append, events", (value) => ledger.append("order/7", value)],
  ["append, event", (value) => ledger.append("order/7", [value])],
  ["append, options", (value) => ledger.append("order/7", [{ type: "order.placed", data: {} }], value)],
  ["append, require", (value) => ledger.append("order/7", [{ type: "order.placed", data: {} }], { require: value })],
  ["append, cause", (value) => ledger.append("order/7", [{ type: "order.placed", data: {} }], { cause: value })],
  ["read", (value) => ledger.read(value)],
  ["read, streams", (value) => ledger.read({ streams: value })],
  ["readStream", (value) => ledger.readStream("order/7", value)],
  ["subscribe", (value) => ledger.subscribe(value)],
  ["subscribe, types", (value) => ledger.subscribe({ types: value })],
  ["content", (value) => ledger.content(value)],
  ["erase, digests", (value) => ledger.erase(value, { reason: "asked" })],
  ["erase, options", (value) => ledger.erase([digest], value)],
  ["checkpoint", (value) => ledger.checkpoint(value)],
  ["checkpoints", (value) => ledger.checkpoints(value)],
  ["prove", (value) => ledger.prove(0, value)],
  ["verify", (value) => ledger.verify(value)],
  ["verify, from", (value) => ledger.verify({ from: value })],
  ["verify, keys", (value) => ledger.verify({ keys: value })],
  ["verify, signal", (value) => ledger.verify({ signal: value })],
];
const acts: readonly (readonly [string, Act])[] = [
  ["openLedger, options", (value) => openLedger("memory:", value)],
  ["openLedger, events", (value) => openLedger("memory:", { events: value })],
  ["defineEvents, options", (value) => defineEvents("order", value, {})],
  ["defineEvents, kinds", (value) => defineEvents("order", { open: true, kinds: value }, {})],
  ["merkleRoot", (value) => forensic.merkleRoot([value])],
  ["verifyInclusion", (value) => forensic.verifyInclusion(value)],
  ["verifyConsistency", (value) => forensic.verifyConsistency(value)],
  ["verifyNote", (value) => forensic.verifyNote("x\n\n— x AAAAAAA=\n", value)],
  ["checkProof", (value) => forensic.checkProof("old 1\n", value)],
  ["formatReport", (value) => forensic.formatReport(value)],
];

/** The digest of the note in the only event that has one. */
async function digestIn(ledger: Ledger): Promise<string> {
  for await (const { data } of ledger.readStream("order/7")) return (data as { note: ContentReference }).note.$content;
  throw new Error("there is an event");
}

async function codeOf(act: Act, value: unknown): Promise<string> {
  try {
    await act(value as never);
    return "no error";
  } catch (error) {
    return error instanceof LedgerError ? error.code : `without a code: ${String(error)}`;
  }
}

test.each(oddities)(
  "%s in the place of what a function takes has a coded answer and no code of its own runs",
  async (_name, value) => {
    const ledger = await openLedger("memory:");

    for (const [name, act] of [...ledgerActs(ledger), ...acts])
      expect([name, await codeOf(act, value)]).toEqual([name, "INVALID_ARGUMENT"]);
    expect((await ledger.status()).size).toBe(1);
    await ledger.close();
  },
);

test("what is no raw reader is refused by those who read one, with the way to get one", async () => {
  for (const value of [undefined, null, "state.ledger", {}, []]) {
    expect(await codeOf(() => forensic.verify(value as RawReader), null)).toBe("INVALID_ARGUMENT");
    expect(await codeOf(() => forensic.forkCheck(value as RawReader, "x"), null)).toBe("INVALID_ARGUMENT");
  }
  for (const act of [forensic.merkleRoot, forensic.verifyInclusion, forensic.verifyConsistency, forensic.formatReport])
    expect(await codeOf(() => act(undefined as never), null)).toBe("INVALID_ARGUMENT");
});

test("an option that is computed is refused and not asked", async () => {
  const ledger = await openLedger("memory:");

  for (const [name, act] of [
    ["actor", (value: never) => ledger.append("order/7", [{ type: "order.placed", data: {} }], value)],
    ["type", (value: never) => ledger.append("order/7", [value])],
    ["size", (value: never) => ledger.checkpoint(value)],
    ["consumer", (value: never) => ledger.subscribe(value)],
  ] as const)
    expect(await codeOf(act, Object.defineProperty({}, name, { get: hostile, enumerable: true }))).toBe(
      "INVALID_ARGUMENT",
    );
  await ledger.close();
});

test("a digest that shows another value at the second look is erased as it was checked", async () => {
  const ledger = await openLedger("memory:");
  await ledger.append("order/7", [{ type: "order.placed", data: { note: content("ring twice") } }]);
  const $content = await digestIn(ledger);
  let looks = 0;
  const digests = Object.defineProperty([$content], 0, { get: () => (looks++ === 0 ? $content : "not a digest") });

  const { contents } = await ledger.erase(digests, { reason: "asked" });

  expect(contents.map((each) => each.digest)).toEqual([$content]);
  await ledger.close();
});

test("a signal of another realm stops a verification, as it stops every other reading", async () => {
  const signal = { aborted: true, reason: "enough", addEventListener() {}, removeEventListener() {} };
  const ledger = await openLedger(createMemoryStore());

  await expect(ledger.verify({ signal: signal as unknown as AbortSignal })).rejects.toMatchObject({ code: "ABORTED" });
  await ledger.close();
});
