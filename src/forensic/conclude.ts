/** Turns what the checks found into a report: one line a check, the verdict, and what to do now. */
import type { EvidenceFile, RawReader } from "../journal/raw-reader.js";
import { counted, grouped } from "./figures.js";
import type { CheckName, Findings } from "./findings.js";
import type { JournalEvents } from "./journal-events.js";
import type { PassParts, PassState } from "./pass.js";
import type { CheckLine, Verdict, VerifyLevel, VerifyReport } from "./report.js";
import type { Roots } from "./tree.js";

/** What a run leaves behind. */
export interface Checked {
  readonly level: VerifyLevel;
  readonly size: number;
  readonly entries: number;
  readonly state: PassState;
  readonly parts: PassParts;
  readonly journal: JournalEvents;
  /** Null when the tree was not computed. */
  readonly roots: Roots | null;
  /** The root of all entries; null when it is not known. */
  readonly root: string | null;
  /** How many stored nodes were compared; null when they were not. */
  readonly nodes: number | null;
}

interface Evidence {
  readonly files: readonly EvidenceFile[];
  readonly unchanged: boolean;
}

/** The checks of each level, in the order of the report. */
const checksOf: Readonly<Record<VerifyLevel, readonly CheckName[]>> = {
  quick: ["store", "genesis", "bytes", "chain", "tx", "columns", "clock"],
  full: ["store", "genesis", "bytes", "chain", "tx", "streams", "columns", "causes", "content", "tree", "clock"],
};

/** The report on a run. */
export function conclude(reader: RawReader, evidence: Evidence, checked: Checked, findings: Findings): VerifyReport {
  const { level, size, entries, state, parts, journal, root } = checked;
  const { verdict, reason } = judge(checked, findings);
  const firstBad = findings.firstBad();
  return {
    level,
    location: reader.location,
    copied: reader.copied,
    origin: journal.opened?.origin ?? null,
    format: journal.opened?.format ?? null,
    incarnation: journal.incarnation,
    size,
    head: state.previous === null || entries === 0 ? null : { position: state.next - 1, id: state.previous },
    root,
    evidence,
    checked: { entries, streams: parts.streams.rows, contents: parts.contents.rows, causes: state.causes },
    anchored: { to: null, unanchored: size },
    lines: [...checkLines(checked, findings), ...closingLines(checked)],
    findings: findings.list,
    findingsOmitted: findings.omitted,
    failures: findings.total("FAIL"),
    firstBad,
    verdict,
    reason,
    exitCode: verdict === "OK" ? 0 : verdict === "UNDECIDED" ? 3 : 1,
    next: nextCommands(verdict, firstBad, level, size),
  };
}

/** Damage goes before tampering: what damaged pages show may look like it. */
function judge({ entries }: Checked, findings: Findings): { readonly verdict: Verdict; readonly reason: string } {
  if (findings.pointsTo("corruption")) return { verdict: "CORRUPT", reason: "" };
  if (findings.pointsTo("tampering")) return { verdict: "TAMPERED", reason: "" };
  if (findings.pointsTo("format"))
    return { verdict: "UNDECIDED", reason: "entries are of a format that this version does not know" };
  if (entries === 0) return { verdict: "UNDECIDED", reason: "nothing to check" };
  if (findings.pointsTo("derived")) return { verdict: "DERIVED", reason: "the journal itself is in order" };
  return { verdict: "OK", reason: "" };
}

function checkLines(checked: Checked, findings: Findings): CheckLine[] {
  const lines: CheckLine[] = [];
  for (const check of checksOf[checked.level]) {
    const [count, message] = summaries[check](checked);
    const listed = findings.list.filter((finding) => finding.check === check);
    for (const { severity, where, code, message: says, want, have } of listed) {
      const values = [want === null ? "" : `want ${want}`, have === null ? "" : `have ${have}`]
        .filter((part) => part !== "")
        .join(" ");
      lines.push({
        status: severity,
        check,
        where,
        code,
        message: values === "" ? says : `${values}: ${says}`,
        checked: count ?? 0,
      });
    }
    for (const severity of ["FAIL", "warn"] as const) {
      const more = findings.ofCheck(check, severity) - listed.filter((finding) => finding.severity === severity).length;
      if (more > 0)
        lines.push({
          status: severity,
          check,
          where: "",
          code: null,
          message: `and ${grouped(more)} more like these`,
          checked: count ?? 0,
        });
    }
    if (findings.ofCheck(check, "FAIL") + findings.ofCheck(check, "warn") === 0 && checked.entries > 0)
      lines.push({
        status: count === null ? "info" : "ok",
        check,
        where: "",
        code: null,
        message,
        checked: count ?? 0,
      });
  }
  return lines;
}

/** What each check looked at when it found nothing; without a count, it could not look. */
const summaries: Readonly<Record<CheckName, (checked: Checked) => readonly [count: number | null, message: string]>> = {
  store: () => [1, "identifiers, tables, types and pages"],
  genesis: ({ journal }) => [journal.count, `#0 opens the journal, ${counted(journal.count, "event")} of its own`],
  bytes: ({ entries }) => [entries, `${counted(entries, "entry", "entries")} canonical, ${counted(entries, "id")}`],
  chain: ({ entries, state, size }) => [
    entries,
    state.first === 0 ? `#0..#${size - 1}` : `#${state.first}..#${size - 1}, and #0`,
  ],
  tx: ({ entries }) => [entries, "every tx is whole"],
  streams: ({ parts }) => [parts.streams.rows, `${counted(parts.streams.rows, "stream")} without a gap`],
  columns: ({ entries, parts, level }) => [
    entries,
    `every copy equals its entry${level === "full" ? `, ${counted(parts.streams.pageRows, "page")} of positions` : ""}`,
  ],
  causes: ({ state }) => [state.causes, `${counted(state.causes, "cause")} found earlier`],
  content: ({ parts: { contents } }) => [
    contents.rows,
    `${counted(contents.rows - contents.erased, "content")} hashed`,
  ],
  tree: ({ roots, root, entries, nodes }) =>
    root === null
      ? [null, `no root: what is at #${roots?.end ?? 0} is missing or cannot be read`]
      : [
          entries,
          `root ${root} of ${counted(entries, "entry", "entries")}, ${nodes === null ? "stored nodes were not compared" : counted(nodes, "stored node")}`,
        ],
  clock: ({ entries }) => [entries, "the time never falls"],
};

function closingLines({ size, entries, level, parts }: Checked): CheckLine[] {
  const line = (check: CheckLine["check"], message: string, checked: number): CheckLine => ({
    status: "info",
    check,
    where: "",
    code: null,
    message,
    checked,
  });
  const lines: CheckLine[] = [];
  if (parts.contents.erased > 0) lines.push(line("erased", parts.contents.sayErased(), parts.contents.erased));
  if (level === "quick")
    lines.push(
      line(
        "bytes",
        `quick: ${grouped(entries)} of ${counted(size, "entry", "entries")} looked at; contents, streams and causes were not`,
        entries,
      ),
    );
  lines.push(line("anchored", `no checkpoint from outside: ${counted(size, "event")} rest on this file alone`, size));
  return lines;
}

function nextCommands(verdict: Verdict, firstBad: number | null, level: VerifyLevel, size: number): string[] {
  const commands: string[] = [];
  if (verdict === "CORRUPT") commands.push("runledger salvage -o NEW");
  if (verdict !== "OK" && firstBad !== null) {
    commands.push(`runledger show '#${firstBad}'`, `runledger log '#${Math.max(0, firstBad - 5)}..#${firstBad + 5}'`);
  }
  if (level === "quick" && size > 0) commands.push("runledger verify --full");
  return commands;
}
