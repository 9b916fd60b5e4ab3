/** The id of a run for which nobody gave one: when, what, and eight digits by which it differs from all others. Row G-05. */
import { hexOf } from "./digest.js";

const nameUnitsMax = 80;
const digits = 4;

/** `20260301T120000Z-build-1f00c2aa`: a run id whatever the name. `random`: four bytes at least. */
export function generateRunId(name: string, at: number, random: Uint8Array): string {
  // A year beyond 9999 has a sign, which a run id cannot begin with.
  const time = new Date(at)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(/[^0-9TZ]/g, "");
  const said = name.replaceAll(/[^A-Za-z0-9._-]/g, "-").slice(0, nameUnitsMax);
  return `${time}-${said === "" ? "workflow" : said}-${hexOf(random.subarray(0, digits))}`;
}
