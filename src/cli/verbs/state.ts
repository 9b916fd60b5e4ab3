/** `runledger state`: documents of a projection, as of now or of any event. */
import type { Command } from "commander";
import { builtInProjections } from "../../../projections/built-in.js";
import type { AnyProjection, FindQuery } from "../../../projections/define-projection.js";
import type { IndexTuple } from "../../../projections/index-key.js";
import { parseQuery } from "../../../projections/query.js";
import { LedgerError } from "../../index.js";
import type { Ledger, ProjectionReader } from "../../index.js";
import { parseKey } from "../../kernel/names.js";
import { listLimitDefault } from "../../kernel/limits.js";
import { checked, jsonOption, ledgerOption, limitOption } from "../arguments.js";
import type { CommandLine, CommonOptions } from "../arguments.js";
import { defineOption, loadDefinitions } from "../definitions.js";
import type { DefineOptions, Definitions } from "../definitions.js";
import { escapeJson, escapeText } from "../escape.js";
import { cutText } from "../event-view.js";
import { UsageError } from "../exit.js";
import { ledgerFile, withLedger, withRawReader } from "../open.js";
import { foundDocuments, readsOf } from "../read-documents.js";
import { parseSelector } from "../selector.js";
import type { Selector } from "../selector.js";
import { findTable, storedDocuments } from "../stored-documents.js";
import type { KeyedDocument } from "../stored-documents.js";

interface StateOptions extends CommonOptions, DefineOptions {
  readonly index?: string;
  readonly prefix?: IndexTuple;
  readonly at?: Selector;
  readonly limit?: number;
}

const documentUnitsShown = 120;
const alwaysThere = builtInProjections.map(({ name }) => name).join(", ");

const moreHelp = `
Always there: ${alwaysThere}. Others are the host's own.

PROJECTION is a name, or a name with a version as in orders@2. With its code (--define) it shows the documents as of the last
event, from their table when that is current; --at shows them as of any event, by folding all events up to there. Without the
code they are shown as they are stored, which may be as of an earlier event: that is said, and "stored" is true in JSON.

Documents come in the order of their keys, or of an index: --index open --prefix '["eu"]' shows those whose tuple begins so.

Examples:
  runledger state run nightly-2026-03-01
  runledger state orders --define ./shop.js
  runledger state orders order/7 --define ./shop.js --at '#1200' --json
  runledger state orders --define ./shop.js --index open --prefix '["eu"]' --limit 10`;

export function addState(program: Command, line: CommandLine): void {
  program
    .command("state")
    .description("show what is derived: documents of a projection")
    .argument("<projection>", "its name, or name@version")
    .argument("[key]", "the document of this key (default: all)", checked("the key", parseKey))
    .option(...ledgerOption)
    .option(...defineOption)
    .option("--at <selector>", "as of this event; see runledger --help", parseSelector)
    .option("--index <name>", "in the order of this index, those that are in it")
    .option("--prefix <json>", "with --index: what the first elements must be, a JSON list", parsePrefix)
    .option(...limitOption("documents"))
    .option(...jsonOption)
    .addHelpText("after", moreHelp)
    .action((projection: string, key: string | undefined, options: StateOptions) =>
      state(line, projection, key ?? null, options),
    );
}

function parsePrefix(text: string): IndexTuple {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  if (Array.isArray(value)) return value as IndexTuple; // its elements are checked with the query
  throw new UsageError(`--prefix must be a JSON list such as '["eu",3]', found ${JSON.stringify(text)}`);
}

/** What is shown: where it comes from, and how the documents are had, in pages. */
interface Source {
  readonly name: string;
  readonly version: number;
  /** The last event that is folded into them. */
  readonly asOf: number;
  /** Are they shown as they are stored, without the code? */
  readonly stored: boolean;
  readonly documents: AsyncIterable<KeyedDocument>;
}

async function state(line: CommandLine, wanted: string, key: string | null, options: StateOptions): Promise<void> {
  const { name, version } = parseWanted(wanted);
  if (key !== null && options.index !== undefined) throw new UsageError("--index must stand without a key");
  if (options.prefix !== undefined && options.index === undefined)
    throw new UsageError("--prefix must stand with --index");
  const definitions = await loadDefinitions(options, line.env);
  const known = projectionOf(definitions, name, version);
  const file = ledgerFile(options.ledger, line.env);
  if (known === null) {
    const hint = codeHint(definitions);
    if (options.at !== undefined) throw new UsageError(`--at needs the code of ${name}, found none`, hint);
    await withRawReader(line.terminal, file, async (reader) => {
      const table = await findTable(reader, { name, version, hint });
      await show(line, key, options, {
        name,
        version: table.version,
        asOf: table.claim.position,
        stored: true,
        documents: storedDocuments(reader, table, key, queryOf(options)),
      });
    });
    return;
  }
  if (options.index !== undefined) checkQuery(known, queryOf(options));
  const { events } = definitions;
  const projections = builtInProjections.includes(known) ? [] : [known];
  const run = async (ledger: Ledger): Promise<void> => {
    const { reader, position } = await readsOf<object>(ledger, known, options.at);
    await show(line, key, options, {
      name,
      version: known.version,
      asOf: position,
      stored: false,
      documents: documentsOf(reader, key, queryOf(options), (options.limit ?? listLimitDefault) + 1),
    });
  };
  await withLedger(line.terminal, file, run, { events, projections });
}

function codeHint({ projections }: Definitions): string {
  const defined = projections.map(({ name, version }) => `${name}@${version}`);
  return defined.length === 0
    ? `${alwaysThere} are always there; for others --define names the module that has the code`
    : `the modules of --define have the code of ${defined.join(", ")}`;
}

function parseWanted(wanted: string): { readonly name: string; readonly version: number | null } {
  const match = /^(.+)@([1-9]\d{0,14})$/.exec(wanted);
  return match === null ? { name: wanted, version: null } : { name: match[1]!, version: Number(match[2]) };
}

/** The code of a projection; null when it was not given. */
function projectionOf({ projections }: Definitions, name: string, version: number | null): AnyProjection | null {
  const found = [...builtInProjections, ...projections].filter(
    (each) => each.name === name && (version === null || each.version === version),
  );
  if (found.length > 1)
    throw new UsageError(
      `projection ${name} must be of one version, found ${found.map((each) => each.version).join(", ")}`,
      `${name}@${found[0]!.version} names one`,
    );
  return found[0] ?? null;
}

function queryOf({ index, prefix }: StateOptions): FindQuery {
  return { ...(index === undefined ? {} : { index }), ...(prefix === undefined ? {} : { prefix }) };
}

function checkQuery(projection: AnyProjection, query: FindQuery): void {
  try {
    parseQuery(projection, query, "--");
  } catch (error) {
    if (error instanceof LedgerError) throw new UsageError(error.message.replace(/^--\./, "--"));
    throw error;
  }
}

async function* documentsOf(
  reader: ProjectionReader<object>,
  key: string | null,
  query: FindQuery,
  count: number,
): AsyncGenerator<KeyedDocument, void, undefined> {
  if (key !== null) {
    const document = await reader.get(key);
    if (document !== null) yield { key, document };
    return;
  }
  yield* foundDocuments(reader, query, count);
}

async function show(
  { terminal }: CommandLine,
  key: string | null,
  { json, limit = listLimitDefault }: StateOptions,
  { name, version, asOf, stored, documents }: Source,
): Promise<void> {
  const place = asOf < 0 ? "before the first event" : `as of #${asOf}`;
  let shown = 0;
  for await (const { key: found, document } of documents) {
    if (shown === limit) {
      await terminal.flush();
      await terminal.say(`there are more; --limit shows more than ${limit}`);
      break;
    }
    if (shown++ === 0 && !json)
      await terminal.say(`${name}@${version} ${place}${stored ? ", as stored: its code was not given" : ""}`);
    if (json) await terminal.json({ projection: name, version, asOf, stored, key: found, document });
    else if (key !== null) await terminal.line(escapeJson(JSON.stringify(document, null, 2)));
    else
      await terminal.line(
        `${terminal.style("cyan", escapeText(found))}  ${cutText(JSON.stringify(document), documentUnitsShown, escapeJson)}`,
      );
  }
  if (shown > 0) return;
  if (key === null) return terminal.say(`${name}@${version} has no such documents ${place}`);
  throw new LedgerError(
    "NOT_FOUND",
    `a document ${JSON.stringify(key)} of ${name}@${version} must be there ${place}, found none`,
    {
      details: { projection: name, version, key, asOf },
    },
  );
}
