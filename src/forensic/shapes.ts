/** Shapes: most entries of a type differ in their values alone. From one entry that was shown canonical a pattern is made
 *  which later entries are matched against in one native step.
 *  Invariant: a pattern matches only text that the scanner accepts: the same members in the same order, strings of plain
 *  ASCII, numbers of few digits. Whatever does not match goes to the scanner. */
import type { JsonObject, JsonValue } from "../kernel/canonical.js";
import { entryBytesMax, keyUnitsMax, nameUnitsMax } from "../kernel/limits.js";

/** Printable ASCII that stands for itself inside a string. */
const plain = String.raw`[ !#-\[\]-~]`;
const digest = "[0-9a-f]{64}";
const count = String.raw`[1-9]\d{0,14}`;
/** Whole numbers of up to 15 digits, and fractions that print without an exponent. */
const number = String.raw`(?:0|-?[1-9]\d{0,14}|-?(?:0|[1-9]\d{0,7})\.\d{0,5}[1-9])`;
const patternUnitsMax = 8_192;
/** A list writes its elements' pattern twice, so deep ones are left to the scanner. */
const levelsMax = 4;
const shapesPerTypeMax = 4;
/** A journal whose entries fit no shape is not to be asked for one at each entry. */
const failuresMax = 1_000;

/** The shapes of one type. */
export class Shapes {
  private readonly patterns: RegExp[] = [];
  private failures = 0;

  /** Matches everything before the value of the member `prev`; answers where that starts, or −1. */
  match(text: string): number {
    if (text.length > entryBytesMax) return -1;
    for (const pattern of this.patterns) {
      pattern.lastIndex = 0;
      if (pattern.test(text)) return pattern.lastIndex;
    }
    return -1;
  }

  /** Takes the shape of an entry that was shown to be right and matched none. */
  learn(text: string): void {
    if (this.patterns.length === shapesPerTypeMax || this.failures === failuresMax) return;
    this.failures++;
    const pattern = patternOf(JSON.parse(text) as JsonObject);
    if (pattern !== null && pattern.length <= patternUnitsMax) this.patterns.unshift(new RegExp(pattern, "y"));
  }
}

function patternOf(entry: JsonObject): string | null {
  const members: (string | null)[] = [];
  for (const name of ["actor", "at", "cause", "command", "corr", "data", "fence"]) {
    if (entry[name] !== undefined) members.push(memberPattern(name, entry[name]));
  }
  if (entry["meta"] !== undefined || members.includes(null)) return null;
  return String.raw`\{${members.join(",")},"prev":"`;
}

function memberPattern(name: string, value: JsonValue): string | null {
  switch (name) {
    case "actor":
      return `"actor":"${plain}{1,${nameUnitsMax}}"`;
    case "at":
      return String.raw`"at":(?:0|[1-9]\d{0,14})`;
    case "cause":
      return `"cause":"${digest}"`;
    case "command":
    case "corr":
      return `"${name}":"${plain}{1,${keyUnitsMax}}"`;
    case "fence":
      return String.raw`"fence":\["${plain}{1,${keyUnitsMax}}",${count},${count}\]`;
    default: {
      const data = shapeOf(value, 0);
      return data === null ? null : `"data":${data}`;
    }
  }
}

/** The pattern of a value; null when it has none. */
function shapeOf(value: JsonValue | undefined, level: number): string | null {
  if (typeof value === "string") return `"${plain}*"`;
  if (typeof value === "number") return number;
  if (typeof value !== "object" || value === null) return "(?:true|false|null)";
  if (level === levelsMax) return null;
  if (!Array.isArray(value)) return objectShape(value as JsonObject, level);
  const shapes = new Set(value.map((each: JsonValue) => shapeOf(each, level + 1)));
  const [shape] = shapes;
  if (shape === undefined) return String.raw`\[\]`;
  return shapes.size > 1 || shape === null ? null : String.raw`\[${shape}(?:,${shape})*\]`;
}

function objectShape(value: JsonObject, level: number): string | null {
  const members: string[] = [];
  for (const [name, each] of Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))) {
    const shape = shapeOf(each, level + 1);
    // A content reference is read by the scanner; a name beyond plain letters and digits needs it too.
    if (shape === null || !/^[A-Za-z0-9 _.:/-]*$/.test(name)) return null;
    members.push(`"${name.replaceAll(".", String.raw`\.`)}":${shape}`);
  }
  return String.raw`\{${members.join(",")}\}`;
}
