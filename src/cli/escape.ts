/** What may reach a terminal or a reader's eye. Whoever writes an event chooses its actor, type, stream and data; none of
 *  them may move the cursor, colour the screen, reorder the line or hide (attack T46).
 *  Invariant: everything printed passes through one of these functions, but for the exact bytes of `cat`, and of
 *  `session` where stdout is no terminal. */

/** Controls, formats (bidi, zero width, tags), lone surrogates, unassigned and private ones, line separators, what is
 *  ignorable, and the spaces that look like a space. */
const odd = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u00a0\u1680\u2000-\u200a\u202f\u205f\ufffc]/gu;
/** The same inside JSON text, where a line feed only ever stands between members. */
const oddInJson = new RegExp(`(?!\\n)${odd.source}`, "gu");
const oddInOutput = new RegExp(`(?![\\n\\t])${odd.source}`, "gu");
const named: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\" };

/** A value for reading: odd characters as `\u{…}`, a backslash doubled, so that no two values look the same for it. */
export function escapeText(value: string): string {
  return value.replaceAll("\\", "\\\\").replace(odd, escapeOne);
}

/** A sentence for reading, made by this program around values that are quoted already. */
export function escapeSentence(sentence: string): string {
  return sentence.replace(odd, escapeOne);
}

/** Output of a program for reading: its lines and tabs as they are, everything else that is odd as `\u{…}`. */
export function escapeOutput(output: string): string {
  return output.replace(oddInOutput, escapeOne);
}

/** JSON text that means the same and is free of odd characters. */
export function escapeJson(json: string): string {
  // Most JSON needs no escape, and asking first takes a fraction of the time.
  if (/^[\n\x20-\x7e]*$/.test(json)) return json;
  return json.replace(oddInJson, (found) => {
    let escaped = "";
    for (let unit = 0; unit < found.length; unit++) escaped += `\\u${hex(found.charCodeAt(unit), 4)}`;
    return escaped;
  });
}

/** A name for comparing by eye: everything beyond ASCII as `\u{…}`. */
export function escapeToAscii(name: string): string {
  return escapeText(name).replace(/[^\x20-\x7e]/gu, escapeOne);
}

/** Would a terminal take any of these bytes for more than text? */
export function isPlainText(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes).toString("utf8");
  return !text.includes("\ufffd") && text.replaceAll(/[\n\t]/g, "").search(odd) < 0;
}

function escapeOne(found: string): string {
  return named[found] ?? `\\u{${hex(found.codePointAt(0) ?? 0, 1)}}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
