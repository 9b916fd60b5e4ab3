/** Arguments as they were given. Node.js hands them on as text, with U+FFFD for what is not UTF-8, so that another file or
 *  another command would be meant, and nobody told. */
import { isUtf8 } from "node:buffer";
import { readFileSync } from "node:fs";

/** The first of so many last arguments of this process that is not UTF-8, as Node.js shows it; null: all are, or the system
 *  does not tell. */
export function brokenArgument(count: number): string | null {
  if (count === 0) return null;
  const broken = argumentsOfSystem()
    .slice(-count)
    .find((bytes) => !isUtf8(bytes));
  return broken?.toString() ?? null;
}

function argumentsOfSystem(): readonly Buffer[] {
  let bytes: Buffer;
  try {
    bytes = readFileSync("/proc/self/cmdline");
  } catch {
    return [];
  }
  const parts: Buffer[] = [];
  for (let start = 0, end = bytes.indexOf(0); end >= 0; start = end + 1, end = bytes.indexOf(0, start))
    parts.push(bytes.subarray(start, end));
  return parts;
}
