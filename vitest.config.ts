import { defineConfig } from "vitest/config";

// Long searches run behind RUNLEDGER_LONG=1 (`npm run test:long`); by default a slow test is a broken test.
const long = process.env.RUNLEDGER_LONG === "1";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // Processes, not threads: tests kill children and change the working directory.
    pool: "forks",
    globalSetup: ["test/seed.ts"],
    setupFiles: ["test/setup.ts"],
    testTimeout: long ? 600_000 : 20_000,
    hookTimeout: long ? 600_000 : 20_000,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts", "projections/**/*.ts"],
      reporter: ["text-summary", "html"],
    },
  },
});
