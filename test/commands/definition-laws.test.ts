/** The commands of definitions keep the laws of all commands, over each store and with claims that come and go. */
import { describe, test } from "vitest";
import { describeCommands } from "../../src/testing/index.js";
import { openStore } from "../engine/fixture.js";
import { registered as wishes, runArea } from "./run-wishes.js";

const long = process.env["RUNLEDGER_LONG"] !== undefined;
describeCommands("definitions", { ...runArea, wishes, numRuns: long ? 200 : 15 }, { describe, test });
describeCommands(
  "definitions, on SQLite,",
  {
    ...runArea,
    wishes,
    numRuns: long ? 30 : 2,
    open: async () => ({ store: await openStore("sqlite"), dispose: async () => {} }),
  },
  { describe, test },
);
