/** Commands of runs as plain functions: who may write, and what bad input is refused with. Rows U-08, U-09, G-04. */
import { describe, expect, test } from "vitest";
import { fencedError } from "../../src/kernel/claim.js";
import type { CommandContext } from "../../src/commands/context.js";
import { requireHolder, writerOf } from "../../src/commands/guard.js";
import { LedgerError, runCommands } from "../../src/index.js";
import { create, finish, prepareResume, requestCancel, start } from "../../src/commands/run.js";

const at = 1_000;
const tokenHash = "ab".repeat(32);
const fence = { key: "queue/r1", incarnation: 1, generation: 3, tokenHash };

function context(presented: CommandContext["fence"] = null): CommandContext {
  // Only what a guard asks for.
  return { at, id: null, client: "default", actor: null, incarnation: 1, fence: presented } as CommandContext;
}

/** A claim that is live until then. */
const owned = (expiresAt: number) => ({
  generation: 3,
  claim: { holder: "A", generation: 3, tokenHash, acquiredAt: 0, expiresAt },
});
const free = { generation: 3, claim: null };

describe("whoever writes to a run", () => {
  test.each([
    ["presents the fence of its live claim", owned(at + 1), fence, undefined, null],
    ["and may say what it has seen", owned(at + 1), fence, 7, null],
    ["which must be so", owned(at + 1), fence, 6, "REVISION_CONFLICT"],
    ["presents none", owned(at + 1), null, 7, "FENCED"],
    ["presents that of something else", owned(at + 1), { ...fence, key: "queue/r2" }, 7, "FENCED"],
    ["says what it has seen when the claim has expired", owned(at), null, 7, null],
    ["says nothing when the claim has expired", owned(at), null, undefined, "INVALID_ARGUMENT"],
    ["says what it has seen when nobody has it", free, null, 7, null],
    ["says another when nobody has it", free, null, 8, "REVISION_CONFLICT"],
    ["says nothing when nobody has it", free, null, undefined, "INVALID_ARGUMENT"],
    ["says what it has seen of what is not on the queue", null, null, 7, null],
    ["says nothing of what is not on the queue", null, null, undefined, "INVALID_ARGUMENT"],
    ["presents that of something else where nobody has it", free, { ...fence, key: "queue/r2" }, 7, null],
  ])("%s", (_, item, presented, expectedRevision, code) => {
    const refused = writerOf({ runId: "r1", item, revision: 7, expectedRevision }, context(presented));

    expect(refused?.code ?? null).toBe(code);
    // What is right with a fence later must not be refused by its receipt.
    if (code === "INVALID_ARGUMENT") expect(refused?.transient).toBe(true);
  });

  test("is told what the engine tells of a fence", () => {
    const refused = requireHolder("r1", owned(at + 1), context());
    const { message, details } = fencedError("queue/r1", { type: "fenced", reason: "missing", held: 3, offered: 3 });
    expect(refused).toMatchObject({ message, details });
    expect(requireHolder("r1", owned(at), context())).toBeNull();
    expect(requireHolder("r1", null, context())).toBeNull();
  });
});

const digest = "ab".repeat(32);

describe("what a command of runs is told", () => {
  test.each<[string, (input: never) => unknown, unknown]>([
    ["create.runId", create.parse, { runId: "../bad" }],
    ["create.runId", create.parse, { runId: "r".repeat(201) }],
    ["create.title", create.parse, { runId: "r1", title: "" }],
    ["create.title", create.parse, { runId: "r1", title: "t".repeat(201) }],
    ["create.parent", create.parse, { runId: "r1", parent: "" }],
    ["create.definition.digest", create.parse, { runId: "r1", definition: { name: "n", digest: "AB".repeat(32) } }],
    ["create.definition.name", create.parse, { runId: "r1", definition: { name: "", digest } }],
    ["create.definition", create.parse, { runId: "r1", definition: { name: "n", digest, snapshot: 1 } }],
    ["create.input", create.parse, { runId: "r1", input: "x".repeat(1024 * 1024 + 1) }],
    ["create", create.parse, { runId: "r1", status: "running" }],
    ["start.runId", start.parse, {}],
    ["start.expectedRevision", start.parse, { runId: "r1", expectedRevision: 0 }],
    ["start.expectedRevision", start.parse, { runId: "r1", expectedRevision: "1" }],
    ["prepareResume", prepareResume.parse, null],
    ["requestCancel.reason", requestCancel.parse, { runId: "r1" }],
    ["requestCancel.reason", requestCancel.parse, { runId: "r1", reason: "r".repeat(201) }],
    ["requestCancel", requestCancel.parse, { runId: "r1", reason: "r", expectedRevision: 1 }],
    ["finish.status", finish.parse, { runId: "r1", status: "running" }],
    ["finish.exit", finish.parse, { runId: "r1", status: "failed", exit: {} }],
    ["finish.exit", finish.parse, { runId: "r1", status: "failed", exit: { code: 1, signal: "SIGTERM" } }],
    ["finish.exit.code", finish.parse, { runId: "r1", status: "failed", exit: { code: 256 } }],
    ["finish.exit.signal", finish.parse, { runId: "r1", status: "failed", exit: { signal: "TERM" } }],
    ["finish.reason", finish.parse, { runId: "r1", status: "failed", reason: "a\nb" }],
    ["finish.error", finish.parse, { runId: "r1", status: "failed", error: new Uint8Array(1024 * 1024 + 1) }],
  ])("%s is refused when it is %# of what it must not be", (path, parse, input) => {
    const thrown = (): unknown => parse(input as never);
    expect(thrown).toThrow(LedgerError);
    expect(thrown).toThrow(expect.objectContaining({ details: expect.objectContaining({ path }) as unknown }));
  });

  test("is taken as it is within its bounds", () => {
    const bytes = new Uint8Array(1024 * 1024);
    expect(create.parse({ runId: "r".repeat(200), title: "t".repeat(200), input: bytes })).toMatchObject({
      input: { size: bytes.length },
    });
    expect(finish.parse({ runId: "r1", status: "failed", exit: { code: 255 } })).toMatchObject({ exit: { code: 255 } });
    expect(finish.parse({ runId: "r1", status: "failed", exit: { signal: "SIGRTMIN+1" } })).toBeDefined();
    expect(finish.parse({ runId: "r1", status: "failed", error: "e".repeat(9_000) })).toMatchObject({
      error: { media: "text/plain;charset=utf-8", size: 8_191 + 3 },
    });
    expect(Object.keys(runCommands)).toEqual(["create", "start", "prepareResume", "requestCancel", "finish"]);
  });
});
