/** The escapes of canonical JSON: those without which a text cannot do, each in its one spelling. */

/** What may stand behind a backslash, beside a quote and a backslash. */
export const shortEscapes: ReadonlySet<number> = new Set(
  ["b", "f", "n", "r", "t"].map((letter) => letter.charCodeAt(0)),
);
/** What may stand behind `\u`: units without a short escape. */
export const longEscapes: ReadonlySet<string> = new Set(
  Array.from({ length: 0x20 }, (_, code) => JSON.stringify(String.fromCharCode(code)))
    .filter((escaped) => escaped.length === 8)
    .map((escaped) => escaped.slice(3, 7)),
);
