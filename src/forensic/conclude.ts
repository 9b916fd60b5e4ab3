/** Turns what the checks found into a report: one line a check, the verdict, and what to do now. */
import { unreachable } from "../kernel/errors.js";
import type { EvidenceFile, RawReader } from "../journal/raw-reader.js";
import { anchoredOf, anchorLines } from "./anchor-lines.js";
import type { Checkpoints } from "./checkpoints.js";
import type { DeepCheck } from "./deep.js";
import { counted, grouped } from "./figures.js";
import type { CheckName, Findings } from "./findings.js";
import type { JournalEvents } from "./journal-events.js";
import type { Settings } from "./options.js";
import type { PassParts, PassState } from "./pass.js";
import type { Anchored, CheckLine, Verdict, VerifyLevel, VerifyReport } from "./report.js";
import type { Roots } from "./tree.js";

/** What a run leaves behind. */
export interface Checked {
  readonly settings: Settings;
  readonly size: number;
  readonly entries: number;
  readonly state: PassState;
  readonly parts: PassParts;
  readonly journal: JournalEvents;
  readonly checkpoints: Checkpoints;
  /** Null but at the deep level. */
  readonly deep: DeepCheck | null;
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

const allChecks: readonly CheckName[] = [
  "store",
  "genesis",
  "bytes",
  "chain",
  "tx",
  "streams",
  "columns",
  "causes",
  "content",
  "tree",
  "checkpoint",
  "receipts",
  "claims",
  "documents",
  "clock",
];
const quickChecks: readonly CheckName[] = [
  "store",
  "genesis",
  "bytes",
  "chain",
  "tx",
  "columns",
  "checkpoint",
  "clock",
];

/** The checks of each level, in the order of the report. */
const checksOf: Readonly<Record<VerifyLevel, readonly CheckName[]>> = {
  quick: quickChecks,
  full: allChecks.filter((check) => !["receipts", "claims", "documents"].includes(check)),
  deep: allChecks,
};

/** The report on a run. */
export function conclude(reader: RawReader, evidence: Evidence, checked: Checked, findings: Findings): VerifyReport {
  const { settings, size, entries, state, parts, journal, checkpoints, deep, root } = checked;
  const { level } = settings;
  const { signed } = checkpoints;
  const anchored = anchoredOf(checkpoints, size);
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
    head:
      state.previous === null || entries === 0 ? null : { position: state.next - 1, id: state.previous, at: state.at },
    root,
    evidence,
    checked: {
      entries,
      streams: parts.streams.rows,
      contents: parts.contents.rows,
      causes: state.causes,
      checkpoints: checkpoints.compared,
      receipts: deep?.receipts.count ?? 0,
      claims: deep?.claims.taken ?? 0,
      fencedEvents: deep?.claims.fenced ?? 0,
      tables: deep?.tables ?? 0,
      documents: deep?.documents ?? 0,
    },
    anchored,
    signed: signed === null ? null : { to: signed.size - 1, by: signed.by },
    lines: [...checkLines(checked, findings), ...closingLines(checked, anchored)],
    findings: findings.list,
    findingsOmitted: findings.omitted,
    failures: findings.total("FAIL"),
    firstBad,
    verdict,
    reason,
    exitCode: exitCodeOf(verdict),
    next: nextCommands(verdict, firstBad ?? explained(findings), deep?.claims.suspect ?? null, level, size),
  };
}

/** Damage goes before tampering: what damaged pages show may look like it. */
function judge(
  { entries, settings, checkpoints }: Checked,
  findings: Findings,
): { readonly verdict: Verdict; readonly reason: string } {
  if (findings.pointsTo("corruption")) return { verdict: "CORRUPT", reason: "" };
  if (findings.pointsTo("tampering")) return { verdict: "TAMPERED", reason: "" };
  if (findings.pointsTo("format"))
    return { verdict: "UNDECIDED", reason: "entries are of a format that this version does not know" };
  if (entries === 0) return { verdict: "UNDECIDED", reason: "nothing to check" };
  if (findings.pointsTo("derived") || findings.pointsTo("drift"))
    return { verdict: "DERIVED", reason: "the journal itself is in order" };
  if (findings.count("W_CHECKPOINT_MISSING") > 0)
    return { verdict: "UNDECIDED", reason: "no checkpoint is signed by a key that was given" };
  if (settings.requireAnchor && checkpoints.anchor === null)
    return { verdict: "UNANCHORED", reason: "in order by itself, and no checkpoint from outside vouches for it" };
  return { verdict: "OK", reason: "" };
}

function exitCodeOf(verdict: Verdict): VerifyReport["exitCode"] {
  switch (verdict) {
    case "OK":
      return 0;
    case "TAMPERED":
    case "CORRUPT":
    case "DERIVED":
      return 1;
    case "UNDECIDED":
      return 3;
    case "UNANCHORED":
      return 4;
    default:
      return unreachable(verdict);
  }
}

function checkLines(checked: Checked, findings: Findings): CheckLine[] {
  const lines: CheckLine[] = [];
  for (const check of checksOf[checked.settings.level]) {
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
    // A table that was not checked takes nothing away from those that were.
    const warned = check === "documents" ? 0 : findings.ofCheck(check, "warn");
    const found = findings.ofCheck(check, "FAIL") + warned;
    if (found === 0 && checked.entries > 0 && message !== "")
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

/** What each check looked at when it found nothing; without a count, it could not look, and without words, it had nothing to
 *  look at. */
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
  columns: ({ entries, parts, settings: { level } }) => [
    entries,
    `every copy equals its entry${level === "quick" ? "" : `, ${counted(parts.streams.pageRows, "page")} of positions`}`,
  ],
  causes: ({ state }) => [state.causes, `${counted(state.causes, "cause")} found earlier`],
  content: ({ parts: { contents } }) => [
    contents.rows,
    `${counted(contents.rows - contents.erased, "content")} hashed`,
  ],
  tree: ({ roots, root, entries, nodes }) =>
    root === null
      ? [
          null,
          `no root: ${roots === null ? "reading came to no end" : `what is at #${roots.end} is missing or cannot be read`}`,
        ]
      : [
          entries,
          `root ${root} of ${counted(entries, "entry", "entries")}, ${nodes === null ? "stored nodes were not compared" : counted(nodes, "stored node")}`,
        ],
  checkpoint: ({ checkpoints, settings: { level } }) => {
    const { given, stored, compared } = checkpoints;
    if (given + stored === 0) return [0, ""];
    const looked = `${grouped(stored)} stored, ${grouped(given)} given`;
    const left = given + stored - compared;
    if (left === 0) return [compared, `${looked}: all of them fit`];
    const reason = level === "quick" ? "a quick verification computes no root" : "for want of a root";
    return [null, `${looked}: ${grouped(left)} not compared, ${reason}`];
  },
  receipts: ({ deep }) =>
    deep === null || deep.receipts.count === 0
      ? [0, ""]
      : [deep.receipts.count, `${counted(deep.receipts.count, "receipt")}, each the only one of its command`],
  claims: ({ deep }) => deep?.sayClaims() ?? [0, ""],
  documents: ({ deep }) => deep?.sayDocuments() ?? [0, ""],
  clock: ({ entries }) => [entries, "the time never falls"],
};

function closingLines(
  { size, entries, settings, parts, state, checkpoints }: Checked,
  anchored: Anchored,
): CheckLine[] {
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
  if (settings.level === "quick")
    lines.push(
      line(
        "bytes",
        `quick: ${grouped(entries)} of ${counted(size, "entry", "entries")} looked at; contents, streams and causes were not`,
        entries,
      ),
    );
  return [...lines, ...anchorLines(checkpoints, anchored, state.at, settings.now)];
}

/** The event that explains the first document that differs. */
function explained({ list }: Findings): number | null {
  return list.find(({ document, position }) => document !== null && position !== null)?.position ?? null;
}

/** A stream that no shell takes for anything else. */
const plainStream = /^[A-Za-z0-9][A-Za-z0-9._/-]*$/;

function nextCommands(
  verdict: Verdict,
  shown: number | null,
  claimKey: string | null,
  level: VerifyLevel,
  size: number,
): string[] {
  const commands: string[] = [];
  if (verdict === "CORRUPT") commands.push("runledger salvage -o NEW");
  if (verdict !== "OK" && shown !== null) {
    commands.push(`runledger show '#${shown}'`, `runledger log '#${Math.max(0, shown - 5)}..#${shown + 5}'`);
  }
  if (claimKey !== null && plainStream.test(claimKey)) commands.push(`runledger log --stream '${claimKey}'`);
  if (level === "quick" && size > 0) commands.push("runledger verify --full");
  return commands;
}
