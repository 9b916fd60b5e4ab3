import { parseArgs } from "node:util";

/** How long and how large a run is. */
export interface Settings {
  readonly name: "quick" | "default" | "full";
  /** Measures to run, by id; null: all of them. */
  readonly only: ReadonlySet<string> | null;
  readonly rounds: number;
  /** How long each contender runs in a round. */
  readonly turnMs: number;
  /** Events in the ledger that is verified, opened and weighed. */
  readonly events: number;
  /** Events in the ledger that P7 appends to. */
  readonly bulkEvents: number;
  /** Items in the long queue of P6. */
  readonly queued: number;
  /** Where the files go; undefined: where the system keeps temporary files. */
  readonly directory: string | undefined;
}

const sizes = {
  quick: { rounds: 5, turnMs: 150, events: 100_000, bulkEvents: 100_000, queued: 100_000 },
  default: { rounds: 11, turnMs: 300, events: 1_000_000, bulkEvents: 1_000_000, queued: 1_000_000 },
  full: { rounds: 21, turnMs: 500, events: 1_000_000, bulkEvents: 3_000_000, queued: 1_000_000 },
} as const;

export const usage = "npm run bench -- [--quick | --full] [--only P3,P11] [--directory DIR]";

/** Parses the arguments of the command line, or throws with a sentence. */
export function parseSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean" },
      full: { type: "boolean" },
      only: { type: "string" },
      directory: { type: "string" },
    },
  });
  if (values.quick === true && values.full === true) throw new Error("--quick and --full exclude each other");
  const name = values.quick === true ? "quick" : values.full === true ? "full" : "default";
  const only =
    values.only === undefined
      ? null
      : new Set(
          values.only
            .toUpperCase()
            .split(",")
            .map((id) => id.trim()),
        );
  return { name, only, ...sizes[name], directory: values.directory };
}
