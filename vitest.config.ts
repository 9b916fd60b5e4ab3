import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/order.js";

// Long searches run behind RUNLEDGER_LONG=1 (`npm run test:long`).
const long = process.env.RUNLEDGER_LONG === "1";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Processes, not threads: tests kill children and change the working directory.
    pool: "forks",
    // One more than there are cores, for half of the time that a worker has it waits: for servers, disks, leases and children.
    maxWorkers: availableParallelism() + 1,
    // The files of a worker share its process: half a second of a core for each of them, and code that has run is faster.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globalSetup: ["test/seed.ts", "test/postgres-server.ts"],
    setupFiles: ["test/setup.ts"],
    // A limit ends what hangs and judges no speed: on a busy machine a test of one second takes ten. Tests say a longer one, never
    // a shorter.
    testTimeout: long ? 600_000 : 120_000,
    hookTimeout: long ? 600_000 : 120_000,
    // What a test polls for must come, however busy the machine is.
    expect: { poll: { timeout: 30_000, interval: 10 } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "projections/**/*.ts"],
      reporter: ["text-summary", "html"],
    },
  },
});
