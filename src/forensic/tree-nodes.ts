/** The stored nodes of the tree, held against those that the entries make.
 *  Invariants: nothing is taken from a row; a row that is wrong says nothing of the entries. One finding a level and kind of
 *  fault, so that a tree that is wrong as a whole takes a few lines. */
import type { RawNode, RawReader } from "../journal/raw-reader.js";
import { counted } from "./figures.js";
import type { Findings } from "./findings.js";
import { tileRoot, tileWidth } from "../journal/merkle.js";

const rowsPerRead = 1_000;

type Fault = "missing" | "different" | "unknown";

/** The first node of a level with a fault, and how many more there are. */
interface Faults {
  readonly n: number;
  readonly have: unknown;
  count: number;
}

/** Compares all rows with the tree whose nodes of level 1 are given; answers how many rows there are. */
export async function compareNodes(reader: RawReader, nodes: readonly string[], findings: Findings): Promise<number> {
  const comparison = new Comparison(nodes);
  let rows = 0;
  for (let after: { level: number; n: number } | null = null; ;) {
    const page: readonly RawNode[] = await reader.nodes(after, rowsPerRead);
    rows += page.length;
    for (const { level, n, hash } of page) {
      if (typeof level === "number" && typeof n === "number") comparison.take(level, n, hash);
      else
        findings.add("E_TYPE", {
          where: `nodes ${String(level)}/${String(n)}`,
          message: "level and n must be integers",
        });
    }
    const last = page.at(-1);
    if (page.length < rowsPerRead || typeof last?.level !== "number" || typeof last.n !== "number") break;
    if (after !== null && (last.level < after.level || (last.level === after.level && last.n <= after.n))) break;
    after = { level: last.level, n: last.n };
  }
  comparison.report(findings);
  return rows;
}

class Comparison {
  /** What must be stored, level by level; level 1 first. */
  private readonly levels: readonly string[][];
  /** Of each level, the number that must come next. */
  private readonly next: number[];
  private readonly faults = new Map<string, Faults>();

  constructor(nodes: readonly string[]) {
    const levels = [[...nodes]];
    for (let below = nodes; below.length >= tileWidth; below = levels.at(-1)!) {
      const level: string[] = [];
      for (let from = 0; from + tileWidth <= below.length; from += tileWidth)
        level.push(tileRoot(below.slice(from, from + tileWidth)));
      levels.push(level);
    }
    this.levels = levels;
    this.next = levels.map(() => 0);
  }

  take(level: number, n: number, hash: unknown): void {
    const want = this.levels[level - 1]?.[n];
    const next = this.next[level - 1];
    if (want === undefined || next === undefined || n < next) return this.note(level, "unknown", n, hash);
    this.missing(level, n);
    this.next[level - 1] = n + 1;
    if (hash !== want) this.note(level, "different", n, hash);
  }

  report(findings: Findings): void {
    for (const [at, { length }] of this.levels.entries()) this.missing(at + 1, length);
    for (const [key, { n, have, count }] of this.faults) {
      const [level, fault] = key.split(" ") as [string, Fault]; // as `note` writes it
      const width = tileWidth ** Number(level);
      const covered = `entries #${n * width} to #${(n + 1) * width - 1}`;
      const more = count === 1 ? "" : `; so ${counted(count - 1, "other")} of its level`;
      const message = {
        missing: `the node of ${covered} is missing${more}`,
        different: `the node is not the root of ${covered}${more}`,
        unknown: `no entries have such a node, or it is there twice${more}`,
      }[fault];
      findings.add("E_CACHE", {
        where: `nodes ${level}/${n}`,
        message,
        want: this.levels[Number(level) - 1]?.[n],
        have,
      });
    }
  }

  /** Notes that the nodes of a level up to `n` are missing. */
  private missing(level: number, n: number): void {
    for (let missing = this.next[level - 1]!; missing < n; missing++) this.note(level, "missing", missing, undefined);
  }

  private note(level: number, fault: Fault, n: number, have: unknown): void {
    const known = this.faults.get(`${level} ${fault}`);
    if (known === undefined) this.faults.set(`${level} ${fault}`, { n, have, count: 1 });
    else known.count++;
  }
}
