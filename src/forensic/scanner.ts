/** Reads an entry's text once, from left to right, and shows that it is canonical without building a value.
 *  Invariant: it accepts exactly the texts that `parseEntry` accepts (a law mutates every byte to hold the two equal);
 *  whatever it cannot show cheaply it hands to the same functions that `parseEntry` uses. It explains nothing: a text
 *  that it refuses goes to `parseEntry` for the reason. */
import { isContentReference } from "../journal/content.js";
import type { ContentReference } from "../journal/content.js";
import { checkLabels, EntryProblem } from "../journal/entry.js";
import { isDigest } from "../kernel/digest.js";
import { LedgerError } from "../kernel/errors.js";
import {
  depthMax,
  entriesPerTxMax,
  entryBytesMax,
  keyUnitsMax,
  metaBytesMax,
  metaKeysMax,
  nameUnitsMax,
  timeMsMax,
} from "../kernel/limits.js";
import { parseStream, parseType } from "../kernel/names.js";
import { longEscapes, shortEscapes } from "./escapes.js";

const quote = 0x22;
const dollar = 0x24;
const comma = 0x2c;
const minus = 0x2d;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const underscore = 0x5f;
const lowerC = 0x63;
const lowerF = 0x66;
const lowerT = 0x74;
const lowerU = 0x75;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const del = 0x7f;
/** Fifteen digits are always a safe integer; longer ones are looked at with care. */
const digitsMax = 15;

/** How an entry must end: the values of `prev`, `rev` and `seq`, the text from there to the value of `tv`, and the text
 *  behind the tx. */
interface Ending {
  readonly previous: string;
  readonly rev: number;
  readonly seq: number;
  readonly middle: string;
  readonly ending: string;
}

/** One scanner serves many texts; what it found in the last one stands in its fields. Each step takes the position where
 *  something must start and answers where it ends, or −1. */
export class EntryScanner {
  at = 0;
  cause: string | null = null;
  /** After `scan` alone. */
  prev = "";
  /** Content references of the data, in the order of the text. */
  references: ContentReference[] = [];
  /** Something in the data looks like a content reference and is none. */
  brokenReference = false;
  /** The text shows U+FFFD: it may stand for bytes that are not text. */
  replacement = false;
  rev = 0;
  seq = 0;
  tv = 0;
  txFirst = 0;
  txCount = 0;
  stream = "";
  type = "";

  private text = "";
  private length = 0;
  /** The last string had an escape, a DEL or anything beyond ASCII. */
  private odd = false;
  /** The last integer. */
  private integer = 0;

  /** Is the whole text an entry? The fields are then those of the text. */
  scan(text: string): boolean {
    const prev = this.scanToPrev(text);
    this.prev = text.slice(prev, prev + 64);
    if (prev < 0 || !isDigest(this.prev) || !this.scanFromPrev(prev)) return false;
    return accepts(() => {
      parseStream(this.stream, "stream");
      parseType(this.type, "type");
    });
  }

  /** Takes a text whose part before the value of `prev` has a known shape, without content references. */
  skipToPrev(text: string, prev: number): number {
    this.start(text);
    // In text without escapes a member's name cannot occur inside a string.
    const end = this.natural(text.charCodeAt(3) === lowerT ? 6 : text.indexOf(',"at":') + 6);
    this.at = this.integer;
    if (text.charCodeAt(end + 2) === lowerC) {
      const cause = this.literal(end, ',"cause":"');
      if (cause >= 0) this.cause = text.slice(cause, cause + 64);
    }
    return this.at <= timeMsMax ? prev : -1;
  }

  private start(text: string): void {
    this.text = text;
    this.length = text.length;
    this.brokenReference = false;
    this.replacement = false;
    this.cause = null;
    if (this.references.length > 0) this.references = [];
  }

  /** Scans up to the value of the member `prev`. */
  scanToPrev(text: string): number {
    this.start(text);
    if (text.length * 3 > entryBytesMax && Buffer.byteLength(text) > entryBytesMax) return -1;
    let pos = this.literal(0, '{"actor":"');
    pos = pos < 0 ? this.literal(0, '{"at":') : this.literal(this.label(pos, "actor", nameUnitsMax), ',"at":');
    pos = this.natural(pos);
    this.at = this.integer;
    if (pos < 0 || this.at > timeMsMax) return -1;
    let data = this.literal(pos, ',"data":{');
    if (data < 0) data = this.literal(this.labelsBeforeData(pos), ',"data":{');
    const end = this.object(data, 2);
    pos = this.literal(end, ',"prev":"');
    return pos < 0 ? this.literal(this.labelsAfterData(end), ',"prev":"') : pos;
  }

  /** Scans from the value of the member `prev` to the end. Neither that value nor the stream and the type are judged. */
  scanFromPrev(prev: number): boolean {
    let pos = this.natural(this.literal(prev + 64, '","rev":'));
    this.rev = this.integer;
    pos = this.natural(this.literal(pos, ',"seq":'));
    this.seq = this.integer;
    const streamStart = this.literal(pos, ',"stream":"');
    const streamEnd = this.string(streamStart);
    pos = this.natural(this.literal(streamEnd, ',"tv":'));
    this.tv = this.integer;
    pos = this.natural(this.literal(pos, ',"tx":['));
    this.txFirst = this.integer;
    pos = this.natural(this.literal(pos, ","));
    this.txCount = this.integer;
    pos = this.literal(pos, '],"type":"');
    const typeEnd = this.length - 8;
    if (pos < 0 || pos > typeEnd || this.literal(typeEnd, '","v":1}') < 0) return false;
    this.stream = unquoted(this.text, streamStart, streamEnd);
    this.type = this.text.slice(pos, typeEnd);
    const { rev, tv, seq, txFirst, txCount } = this;
    return (
      rev >= 1 && tv >= 1 && txCount >= 1 && txCount <= entriesPerTxMax && txFirst <= seq && seq < txFirst + txCount
    );
  }

  /** Is everything from the value of the member `prev` on as it must be? Of the rest it says only what tx and what `tv` it
   *  is. Comparing whole parts is several times as fast as reading them unit by unit. */
  endsAs(prev: number, { previous, rev, seq, middle, ending }: Ending): boolean {
    const { text } = this;
    if (text.slice(prev, prev + 64) !== previous) return false;
    const revEnd = this.natural(this.literal(prev + 64, '","rev":'));
    if (revEnd < 0 || this.integer !== rev) return false;
    const seqEnd = this.natural(this.literal(revEnd, ',"seq":'));
    if (seqEnd < 0 || this.integer !== seq || text.slice(seqEnd, seqEnd + middle.length) !== middle) return false;
    let pos = this.natural(seqEnd + middle.length);
    this.tv = this.integer;
    pos = this.natural(this.literal(pos, ',"tx":['));
    this.txFirst = this.integer;
    pos = this.natural(this.literal(pos, ","));
    this.txCount = this.integer;
    const { tv, txFirst, txCount } = this;
    if (pos < 0 || text.slice(pos) !== ending) return false;
    return tv >= 1 && txCount >= 1 && txCount <= entriesPerTxMax && txFirst <= seq && seq < txFirst + txCount;
  }

  /** Exact text. */
  private literal(start: number, expected: string): number {
    if (start < 0) return -1;
    const { text } = this;
    // A loop: `startsWith` takes several times as long.
    for (let index = 0; index < expected.length; index++)
      if (text.charCodeAt(start + index) !== expected.charCodeAt(index)) return -1;
    return start + expected.length;
  }

  private labelsBeforeData(start: number): number {
    let pos = start;
    const cause = this.literal(pos, ',"cause":"');
    if (cause >= 0) {
      this.cause = this.text.slice(cause, cause + 64);
      if (!isDigest(this.cause)) return -1;
      pos = this.literal(cause + 64, '"');
    }
    const command = this.literal(pos, ',"command":"');
    if (command >= 0) pos = this.label(command, "command", keyUnitsMax);
    const corr = this.literal(pos, ',"corr":"');
    return corr < 0 ? pos : this.label(corr, "corr", keyUnitsMax);
  }

  private labelsAfterData(start: number): number {
    let pos = start;
    const fence = this.literal(pos, ',"fence":["');
    if (fence >= 0) {
      pos = this.label(fence, "corr", keyUnitsMax); // a claim key is a key, as the correlation is
      pos = this.natural(this.literal(pos, ","));
      if (this.integer < 1) return -1;
      pos = this.natural(this.literal(pos, ","));
      if (this.integer < 1) return -1;
      pos = this.literal(pos, "]");
    }
    const meta = this.literal(pos, ',"meta":{');
    return meta < 0 ? pos : this.meta(meta);
  }

  private meta(start: number): number {
    const end = this.object(start, 2);
    if (end < 0) return -1;
    let pos = start;
    for (let count = 1; ; count++) {
      if (count > metaKeysMax) return -1;
      pos = this.label(this.literal(pos, '"'), "actor", nameUnitsMax); // a key of meta is a label, as the actor is
      pos = this.literal(pos, ':"');
      if (pos < 0) return -1;
      pos = this.string(pos);
      if (this.text.charCodeAt(pos) === closeBrace) break;
      pos++;
    }
    const length = end - start + 1;
    return length * 3 <= metaBytesMax || Buffer.byteLength(this.text.slice(start - 1, end)) <= metaBytesMax ? end : -1;
  }

  /** A name that people gave, from behind its opening quote. */
  private label(start: number, name: "actor" | "command" | "corr", unitsMax: number): number {
    const end = this.string(start);
    if (end < 0) return -1;
    if (!this.odd) return end - start > 1 && end - start <= unitsMax + 1 ? end : -1;
    return accepts(() => checkLabels({ [name]: unquoted(this.text, start, end) })) ? end : -1;
  }

  private value(start: number, depth: number): number {
    const code = this.text.charCodeAt(start);
    if (code === quote) return this.string(start + 1);
    if (code === openBrace) return this.object(start + 1, depth);
    if (code === openBracket) return this.array(start + 1, depth);
    if (code === minus || (code >= zero && code <= nine)) return this.number(start, code);
    return this.literal(start, code === lowerT ? "true" : code === lowerF ? "false" : "null");
  }

  private array(start: number, depth: number): number {
    if (depth > depthMax + 1) return -1;
    if (this.text.charCodeAt(start) === closeBracket) return start + 1;
    for (let pos = start; ; pos++) {
      pos = this.value(pos, depth + 1);
      if (pos < 0) return -1;
      const code = this.text.charCodeAt(pos);
      if (code === closeBracket) return pos + 1;
      if (code !== comma) return -1;
    }
  }

  private object(start: number, depth: number): number {
    const { text } = this;
    if (start < 0 || depth > depthMax + 1) return -1;
    if (text.charCodeAt(start) === closeBrace) return start + 1;
    let previousStart = -1;
    let previousEnd = -1;
    let previousOdd = false;
    let reference = false;
    for (let pos = start; ; pos++) {
      if (text.charCodeAt(pos) !== quote) return -1;
      const keyStart = pos + 1;
      pos = this.string(keyStart);
      if (pos < 0 || text.charCodeAt(pos) !== colon) return -1;
      const keyEnd = pos - 1;
      const odd = this.odd;
      const first = text.charCodeAt(keyStart);
      if (first === dollar && keyEnd - keyStart === 8 && this.literal(keyStart, "$content") >= 0) reference = true;
      else if (first === underscore && keyEnd - keyStart === 9 && this.literal(keyStart, "__proto__") >= 0) return -1;
      if (previousStart >= 0) {
        const ordered =
          odd || previousOdd
            ? unquoted(text, previousStart, previousEnd + 1) < unquoted(text, keyStart, keyEnd + 1)
            : this.ordered(previousStart, previousEnd, keyStart, keyEnd);
        if (!ordered) return -1;
      }
      previousStart = keyStart;
      previousEnd = keyEnd;
      previousOdd = odd;
      pos = this.value(pos + 1, depth + 1);
      if (pos < 0) return -1;
      const code = text.charCodeAt(pos);
      if (code === closeBrace) {
        if (reference) this.reference(start - 1, pos + 1);
        return pos + 1;
      }
      if (code !== comma) return -1;
    }
  }

  /** Does the first of two keys without escapes stand before the second, by code units? */
  private ordered(aStart: number, aEnd: number, bStart: number, bEnd: number): boolean {
    const { text } = this;
    let a = aStart;
    let b = bStart;
    while (a < aEnd && b < bEnd) {
      const difference = text.charCodeAt(a++) - text.charCodeAt(b++);
      if (difference !== 0) return difference < 0;
    }
    return b < bEnd;
  }

  private reference(start: number, end: number): void {
    const value: unknown = JSON.parse(this.text.slice(start, end));
    if (isContentReference(value)) this.references.push(value);
    else this.brokenReference = true;
  }

  /** A string from behind its opening quote to behind its closing one. */
  private string(start: number): number {
    const { text, length } = this;
    this.odd = false;
    if (start < 0) return -1;
    for (let pos = start; pos < length; pos++) {
      const code = text.charCodeAt(pos);
      if (code > backslash) {
        if (code < del) continue;
        this.odd = true;
        if (code < 0xd800) continue;
        if (code <= 0xdfff) {
          const low = text.charCodeAt(++pos);
          if (code > 0xdbff || !(low >= 0xdc00 && low <= 0xdfff)) return -1;
        } else if (code === 0xfffd) this.replacement = true;
      } else if (code === quote) return pos + 1;
      else if (code === backslash) {
        this.odd = true;
        pos = this.escape(pos + 1);
        if (pos < 0) return -1;
      } else if (code < 0x20) return -1;
    }
    return -1;
  }

  /** An escape from behind its backslash to its last character: only those without which a text cannot do. */
  private escape(pos: number): number {
    const code = this.text.charCodeAt(pos);
    if (code !== lowerU) return code === quote || code === backslash || shortEscapes.has(code) ? pos : -1;
    return longEscapes.has(this.text.slice(pos + 1, pos + 5)) ? pos + 4 : -1;
  }

  /** A whole number from 0 to 2^53−1 without a sign; its value is left in `integer`. */
  private natural(start: number): number {
    if (start < 0) return -1;
    const { text } = this;
    let pos = start;
    let value = 0;
    for (let code = text.charCodeAt(pos); code >= zero && code <= nine; code = text.charCodeAt(++pos))
      value = value * 10 + (code - zero);
    this.integer = value;
    if (pos === start || (pos > start + 1 && text.charCodeAt(start) === zero)) return -1;
    return pos - start <= digitsMax || (pos - start === digitsMax + 1 && Number.isSafeInteger(value)) ? pos : -1;
  }

  /** A number as canonical JSON spells it. */
  private number(start: number, first: number): number {
    const { text } = this;
    let pos = first === minus ? start + 1 : start;
    const digits = pos;
    let code = text.charCodeAt(pos);
    while (code >= zero && code <= nine) code = text.charCodeAt(++pos);
    if (code === comma || code === closeBrace || code === closeBracket) {
      const count = pos - digits;
      if (count === 1) return first === minus && text.charCodeAt(digits) === zero ? -1 : pos;
      if (count > 1 && count <= digitsMax) return text.charCodeAt(digits) === zero ? -1 : pos;
    }
    numberPattern.lastIndex = start;
    const token = numberPattern.exec(text)![0];
    const value = Number(token);
    if (String(value) !== token || !Number.isFinite(value)) return -1;
    return !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= 1e21
      ? start + token.length
      : -1;
  }
}

const numberPattern = /[-+.0-9eE]*/y;

/** The value of a string that was scanned, from behind its opening quote to behind its closing one. */
function unquoted(text: string, start: number, end: number): string {
  return JSON.parse(text.slice(start - 1, end)) as string; // a JSON string was scanned there
}

function accepts(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    if (error instanceof EntryProblem || error instanceof LedgerError) return false;
    throw error;
  }
}
