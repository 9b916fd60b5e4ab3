/** The report as text that can be pasted anywhere.
 *  Invariant: whatever the journal holds, the text moves no cursor, colours nothing and reorders nothing (attack T46). */
import { invalid } from "../kernel/errors.js";
import { checkObject, isList } from "../kernel/members.js";
import { counted } from "./figures.js";
import type { VerifyReport } from "./report.js";

const reportExpected = "the report of a verification";

/** The report as lines of text, in the order of the checks. Digests of findings are shortened; the report itself has them
 *  in full. @public */
export function formatReport(report: VerifyReport): string {
  checkObject(report, "report", reportExpected);
  if (!isList(report.lines) || report.head === undefined || report.evidence === undefined)
    throw invalid("report", reportExpected, report);
  const { origin, format, incarnation, size, head, evidence, copied, lines, verdict, next } = report;
  const text: string[] = [];
  const identity = [
    origin ?? "an unknown journal",
    format === null ? "" : `format ${format}`,
    incarnation === null || incarnation === 1 ? "" : `incarnation ${incarnation}`,
    counted(size, "event"),
    head === null ? "" : `head ${head.id.slice(0, 12)}`,
  ];
  text.push(line("journal", "", identity));
  const files = evidence.files.map(({ name, sha256 }) => `${name} sha256 ${sha256}`);
  const notes = [
    copied ? "read from a private copy" : "",
    evidence.unchanged ? "unchanged by this run" : "changed while this run read it",
  ];
  if (files.length > 0) text.push(line("file", "", [...files, `(${notes.filter((note) => note !== "").join(", ")})`]));
  for (const { status, check, where, code, message } of lines) {
    text.push(line(status, check, [where, code ?? "", shorten(message)]));
  }
  text.push(line("verdict", verdict, [summary(report)]));
  if (next.length > 0) text.push(line("next", "", [next.join(" · ")]));
  return `${text.map(escapeLine).join("\n")}\n`;
}

function summary({ failures, firstBad, reason, checked }: VerifyReport): string {
  const found = failures === 0 ? "" : counted(failures, "finding");
  return [
    firstBad === null ? found : `${found}, first at #${firstBad}`,
    reason,
    `${counted(checked.entries, "entry", "entries")} checked`,
  ]
    .filter((part) => part !== "")
    .join("; ");
}

function line(status: string, name: string, parts: readonly string[]): string {
  const column = name === "" ? "" : name.padEnd(11);
  return status.padEnd(10) + column + parts.filter((part) => part !== "").join("   ");
}

function shorten(message: string): string {
  return message.replaceAll(/\b([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1…");
}

/** Controls, formats (bidi, zero width), lone surrogates, unassigned and private ones, and line separators. */
const odd = /[\p{C}\p{Zl}\p{Zp}]/gu;

function escapeLine(text: string): string {
  return text.replace(odd, (found) => `\\u{${found.codePointAt(0)!.toString(16)}}`);
}
