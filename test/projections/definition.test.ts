/** The documents of definitions, and the laws of projections over them. Row U-05. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { definitions } from "../../projections/definition.js";
import { replay } from "../../projections/replay.js";
import { definitionEvents, definitionStream } from "../../src/journal/events/definition.js";
import { describeProjection, jsonValues } from "../../src/testing/index.js";
import { recordHistory } from "../../src/testing/history.js";
import type { HistoryEvent } from "../../src/testing/history.js";

const registered = (digit: string, name: string, snapshot: unknown): HistoryEvent => {
  const digest = digit.repeat(64);
  return { stream: definitionStream(digest), type: "definition.registered", data: { name, digest, snapshot } };
};

/** Each of them once. */
const histories = fc
  .uniqueArray(
    fc.record({
      digit: fc.constantFrom("a", "b", "c", "1"),
      name: fc.constantFrom("build", "n.1"),
      snapshot: jsonValues(),
    }),
    { selector: ({ digit }) => digit },
  )
  .map((some) => some.map(({ digit, name, snapshot }) => registered(digit, name, snapshot)));

describeProjection(
  "definitions",
  { projection: definitions, events: [definitionEvents], histories },
  { describe, test },
);

test("U-05 a definition is found by its digest, with its name and the content that it is", async () => {
  const history = recordHistory([registered("a", "build", { steps: ["make"] })], [definitionEvents]);

  const replayed = (await replay([definitions], history)).projection(definitions);

  expect(replayed.get("a".repeat(64))).toMatchObject({
    digest: "a".repeat(64),
    name: "build",
    snapshot: { bytes: '{"steps":["make"]}'.length },
  });
});
