/** A projection of a host, as a module that the command loads, and a ledger with its documents. */
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineProjection } from "../../projections/define-projection.js";
import { openLedger } from "../../src/index.js";
import { mainFile, newLedgerFile } from "./command.js";

/** The library as a host's module imports it, quoted. */
export const library: string = JSON.stringify(pathToFileURL(join(dirname(mainFile), "../index.js")).href);

/** The projection as a host has it. */
export const visitsModule = `
  import { defineProjection } from ${library};
  export const visits = defineProjection()({
    name: "visits",
    version: 1,
    indexes: { count: ({ count }) => [count] },
    on: { "page.visited": { key: ({ data }) => data.page, apply: (page) => ({ count: (page?.count ?? 0) + 1 }) } },
  });`;

/** A ledger with the visits of three pages. */
export async function visitedLedger(): Promise<string> {
  const file = newLedgerFile();
  const visits = defineProjection<{ count: number }>()({
    name: "visits",
    version: 1,
    indexes: { count: ({ count }) => [count] },
    on: {
      "page.visited": {
        key: ({ data }) => data["page"] as string,
        apply: (page) => ({ count: (page?.count ?? 0) + 1 }),
      },
    },
  });
  const ledger = await openLedger(file, { projections: [visits] });
  for (const page of ["a", "b", "a", "c\u202e", "a"])
    await ledger.append("page/1", [{ type: "page.visited", data: { page } }]);
  await ledger.close();
  return file;
}
