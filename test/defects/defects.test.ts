/** Every planted defect is seen by the law or checker that the table names; one that survives fails the run. The copies, and the
 *  children that try them, are of the built library, as hosts have it. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { runSeed } from "../engine/fixture.js";
import { defects } from "./defects.js";
import { judge, plant } from "./planted.js";

/** Until it is seen; whoever sees it stops at once. */
const triesMax = 300;
const triesWithoutDefect = 3;
const scratch = mkdtempSync(join(tmpdir(), "runledger-defects-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const claim = { file: "src/kernel/claim.js", find: "const generation = owned.generation + 1;" };
const batches = "commands: a batch leaves the same bytes and answers as its commands one by one";
const checkers = [...new Set(defects.map(({ killedBy }) => killedBy))];

test("each defect of the table has an id of its own", () => {
  const ids = defects.map(({ id }) => id);

  expect([...new Set(ids)]).toEqual(ids);
});

test("a defect whose place is not in the code any more, or more than once, is said to be stale", () => {
  const folder = join(scratch, "stale");

  expect(() => plant(join(folder, "gone"), { ...claim, find: "owned.generation + 2", put: "" })).toThrow(/found 0$/);
  expect(() => plant(join(folder, "twice"), { ...claim, find: "owned.generation", put: "" })).toThrow(/found \d+$/);
});

describe.concurrent("planted defects", () => {
  for (const { id, says, killedBy, ...defect } of defects)
    test(`${id} ${says}: seen by ${killedBy}`, async () => {
      const dist = plant(join(scratch, id), defect);

      const { verdicts, said } = await judge(dist, [killedBy], runSeed, triesMax);

      expect(verdicts, said).toEqual(["red"]);
    });

  test("a change that is no defect is seen by nobody", async () => {
    const dist = plant(join(scratch, "none"), { ...claim, put: "const generation = 1 + owned.generation;" });

    const { verdicts, said } = await judge(dist, checkers, runSeed, triesWithoutDefect);

    expect(verdicts, said).toEqual(checkers.map(() => "green"));
  });

  test("what ends by a crash was seen by nobody", async () => {
    const unreadable = plant(join(scratch, "unreadable"), { ...claim, put: "const generation = ;" });
    const throwing = plant(join(scratch, "throwing"), { ...claim, put: "const generation = owned.generation.at(0);" });

    const unread = await judge(unreadable, checkers, runSeed, triesWithoutDefect);
    const { verdicts } = await judge(throwing, [batches], runSeed, triesMax);

    expect(unread.verdicts).toEqual(checkers.map(() => "crashed"));
    expect(verdicts).toEqual(["crashed"]);
  });
});
