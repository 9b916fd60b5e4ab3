/** Starts the files that take longest first, so that no worker is left with one of them when the others are done.
 *  What is not named here follows as vitest orders it: by the durations of an earlier run, or by size in a fresh clone. */
import { BaseSequencer } from "vitest/node";
import type { TestSpecification } from "vitest/node";

const longest: readonly string[] = [
  "test/defects/defects.test.ts",
  "test/cli/exec.test.ts",
  "test/processes/verify-workers.test.ts",
  "test/processes/exec.test.ts",
  "test/processes/exec-kills.test.ts",
  "test/processes/capture-crash.test.ts",
  "test/processes/queue-eight.test.ts",
  "test/examples/readme.test.ts",
  "test/processes/crash.test.ts",
  "test/postgres/outage.test.ts",
  "test/testing/describe-commands.test.ts",
  "test/engine/projector-background.test.ts",
  "test/postgres/hosts.test.ts",
  "test/postgres/doubt.test.ts",
  "test/testing/simulation.test.ts",
  "test/postgres/faults.test.ts",
  "test/processes/stock-crash.test.ts",
  "test/processes/subscribe.test.ts",
  "test/postgres/lost.test.ts",
  "test/cli/verify-checkpoints.test.ts",
  "test/cli/exec-resume.test.ts",
  "test/postgres/limits.test.ts",
  "test/engine/checkpoint.test.ts",
  "test/store/contract.test.ts",
  "test/cli/tail.test.ts",
  "test/postgres/partitions.test.ts",
  "test/processes/erase.test.ts",
  "test/cli/verify.test.ts",
  "test/engine/commands-properties.test.ts",
  "test/processes/workers.test.ts",
  "test/processes/receipts.test.ts",
  "test/processes/two-processes.test.ts",
  "test/engine/fences.test.ts",
  "test/processes/key-change.test.ts",
  "test/postgres/restart.test.ts",
  "test/store/erasure.test.ts",
  "test/api/worker.test.ts",
  "test/engine/receipts.test.ts",
  "test/api/queue-claim.test.ts",
  "test/forensic/properties.test.ts",
  "test/engine/projector-builds.test.ts",
  "test/store/document-crash.test.ts",
  "test/testing/queue-model.test.ts",
  "test/postgres/bad-input.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const ordered = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification): number => {
      const found = longest.findIndex((file) => moduleId.endsWith(file));
      return found === -1 ? longest.length : found;
    };
    return ordered.sort((one, other) => rank(one) - rank(other));
  }
}
