/** The import directions of the project, as a function over source texts, so that the rules can be tested themselves.
 *  Invariant: every import that a file writes is judged (type-only, re-exported, dynamic and `import("…")` types too);
 *  what cannot be judged is a finding, never skipped. `src/ARCHITECTURE.md` draws the same picture. */
import { posix } from "node:path";
import { parseSync } from "vite";

export interface Finding {
  readonly rule: "direction" | "package" | "builtin" | "unresolved" | "export-all" | "cycle" | "long-file" | "name";
  readonly file: string;
  readonly message: string;
}

/** Paths from the root of the repository, with forward slashes, and what each file says. */
export type Sources = ReadonlyMap<string, string>;

export interface Options {
  /** Files that may be longer than `linesMax`, each with the reason. */
  readonly longFiles?: Readonly<Record<string, string>>;
}

export const linesMax = 400;

const core = ["kernel", "journal", "projections", "commands", "engine", "api", "forensic"] as const;

/** What each zone may import, beside itself. */
const zones = {
  kernel: [],
  journal: ["kernel"],
  projections: ["kernel", "journal"],
  commands: ["kernel", "journal", "projections"],
  engine: ["kernel", "journal", "projections", "commands"],
  api: ["kernel", "journal", "projections", "commands", "engine", "forensic"],
  // What the adapters have in common, then the adapters, which do not see each other.
  store: ["kernel", "journal"],
  "store/memory": ["kernel", "journal", "store"],
  "store/sqlite": ["kernel", "journal", "store"],
  "store/postgres": ["kernel", "journal", "store"],
  // Trusts nothing that writes: neither the engine nor a store.
  forensic: ["kernel", "journal", "projections"],
  // The entry points of the package are the only places that choose a store.
  index: [...core, "store/memory", "store/sqlite", "store/postgres"],
  postgres: [...core, "index", "store", "store/postgres"],
  cli: [...core, "index"],
  // Everything but the command line.
  testing: [...core, "index", "postgres", "store", "store/memory", "store/sqlite", "store/postgres"],
} as const satisfies Record<string, readonly string[]>;

type Zone = keyof typeof zones;

/** Where each package may be imported. A package that is not named here may not be imported at all. */
const packages: Readonly<Record<string, { readonly where: string; readonly allows: RegExp }>> = {
  "better-sqlite3": { where: "src/store/sqlite", allows: /^src\/store\/sqlite\// },
  pg: { where: "src/store/postgres", allows: /^src\/store\/postgres\// },
  immer: { where: "projections and src/engine/projector*", allows: /^(projections\/|src\/engine\/projector)/ },
  commander: { where: "src/cli", allows: /^src\/cli\// },
  "fast-check": { where: "src/testing", allows: /^src\/testing\// },
};

const indexFiles: readonly string[] = [
  "src/copy-ledger.ts",
  "src/index.ts",
  "src/open-ledger.ts",
  "src/open-raw-reader.ts",
  "src/verify-worker.ts",
  "src/verify-workers.ts",
];

/** Zones without I/O, and the only builtins that they may use. */
const pureZones: readonly Zone[] = ["kernel", "journal", "projections", "commands"];
const pureBuiltins: readonly string[] = ["node:buffer", "node:crypto", "node:util"];

/** Judges all files together; an empty list means that the rules hold. */
export function checkArchitecture(sources: Sources, options: Options = {}): Finding[] {
  const findings: Finding[] = [];
  const graph = new Map<string, string[]>();
  for (const [file, text] of sources) {
    findings.push(...checkName(file), ...checkLength(file, text, options.longFiles ?? {}));
    const imports = readImports(file, text);
    graph.set(file, []);
    for (const found of imports) {
      if (found.exportsAll) findings.push({ rule: "export-all", file, message: `export * from "${found.specifier}"` });
      const target = resolve(file, found, sources);
      if (typeof target === "string") graph.get(file)?.push(target);
      findings.push(...checkImport(file, found, target));
    }
  }
  findings.push(...findCycles(graph));
  return findings;
}

interface Import {
  /** Undefined when it is computed at run time. */
  readonly specifier: string | undefined;
  readonly exportsAll: boolean;
}

/** Every module that a file names, in the order of its text. */
export function readImports(file: string, text: string): Import[] {
  const parsed = parseSync(file, text, { sourceType: "module" });
  if (parsed.errors.length > 0) throw new Error(`${file} does not parse: ${parsed.errors[0]?.message}`);
  const imports: Import[] = [];
  visit(parsed.program, (node) => {
    const found = importOf(node);
    if (found !== undefined) imports.push(found);
  });
  return imports;
}

type Node = Readonly<Record<string, unknown>>;

function importOf(node: Node): Import | undefined {
  switch (node.type) {
    case "ImportDeclaration":
    case "ImportExpression":
    case "TSImportType":
      return { specifier: literal(node.source), exportsAll: false };
    case "ExportNamedDeclaration":
      return node.source == null ? undefined : { specifier: literal(node.source), exportsAll: false };
    case "ExportAllDeclaration":
      return { specifier: literal(node.source), exportsAll: true };
    case "TSExternalModuleReference":
      return { specifier: literal(node.expression), exportsAll: false };
    case "CallExpression": {
      const callee = node.callee as Node;
      if (callee.type !== "Identifier" || callee.name !== "require") return undefined;
      return { specifier: literal((node.arguments as readonly unknown[])[0]), exportsAll: false };
    }
    default:
      return undefined;
  }
}

function literal(value: unknown): string | undefined {
  const node = (value ?? {}) as Node;
  if (node.type === "Literal" && typeof node.value === "string") return node.value;
  // A template without holes is as good as a string.
  const quasis = node.type === "TemplateLiteral" ? (node.quasis as readonly Node[]) : [];
  const text = quasis.length === 1 ? (quasis[0]?.value as Node | undefined) : undefined;
  return text?.cooked as string | undefined;
}

function visit(value: unknown, see: (node: Node) => void): void {
  if (typeof value !== "object" || value === null) return;
  if (Array.isArray(value)) {
    for (const item of value) visit(item, see);
    return;
  }
  const node = value as Node;
  if (typeof node.type === "string") see(node);
  for (const child of Object.values(node)) visit(child, see);
}

interface Foreign {
  readonly package?: string;
  readonly builtin?: string;
  readonly problem?: string;
}

/** The file behind a relative import, or what else the import reaches. */
function resolve(file: string, found: Import, sources: Sources): string | Foreign {
  const { specifier } = found;
  if (specifier === undefined) return { problem: "a module name computed at run time" };
  if (specifier.startsWith("node:")) return { builtin: specifier };
  if (!/^\.{1,2}\//.test(specifier)) return { package: packageName(specifier) };

  const path = posix.join(posix.dirname(file), specifier);
  const candidates = [path, path.replace(/\.js$/, ".ts")];
  return candidates.find((candidate) => sources.has(candidate)) ?? { problem: `no source file ${path}` };
}

function packageName(specifier: string): string {
  const parts = specifier.split("/");
  return specifier.startsWith("@") ? parts.slice(0, 2).join("/") : (parts[0] ?? specifier);
}

function checkImport(file: string, found: Import, target: string | Foreign): Finding[] {
  const zone = zoneOf(file);
  if (zone === undefined) return [];
  if (typeof target === "string") return checkDirection(file, zone, target);
  if (target.package !== undefined) return checkPackage(file, target.package);
  if (target.builtin !== undefined) return checkBuiltin(file, zone, target.builtin);
  // The command line loads the host's own definitions, whose names it learns from its arguments.
  if (found.specifier === undefined && zone === "cli") return [];
  return [{ rule: "unresolved", file, message: `imports ${target.problem}` }];
}

function checkDirection(file: string, zone: Zone, target: string): Finding[] {
  const targetZone = zoneOf(target);
  if (targetZone === zone) return [];
  const allowed: readonly string[] = zones[zone];
  if (targetZone !== undefined && allowed.includes(targetZone)) return [];
  const message = `${zone} may not import ${targetZone ?? "an unknown zone"}, found ${target}`;
  return [{ rule: "direction", file, message }];
}

function checkPackage(file: string, name: string): Finding[] {
  const rule = Object.hasOwn(packages, name) ? packages[name] : undefined;
  if (rule?.allows.test(file)) return [];
  return [{ rule: "package", file, message: `${name} is imported ${rule ? `in ${rule.where} alone` : "nowhere"}` }];
}

function checkBuiltin(file: string, zone: Zone, builtin: string): Finding[] {
  if (!pureZones.includes(zone) || pureBuiltins.includes(builtin)) return [];
  return [{ rule: "builtin", file, message: `${zone} does no I/O and may not import ${builtin}` }];
}

/** The zone of a file, or undefined for a file that has no place in the picture. */
function zoneOf(file: string): Zone | undefined {
  const parts = file.split("/");
  if (parts[0] === "projections") return "projections";
  if (parts[0] !== "src") return undefined;
  // The index itself is a list of names; beside it stand its parts that choose a store.
  if (parts.length === 2) {
    if (indexFiles.includes(file)) return "index";
    return file === "src/postgres.ts" ? "postgres" : undefined;
  }

  const folder = parts[1] === "store" && parts.length > 3 ? `store/${parts[2]}` : (parts[1] ?? "");
  // `src/projections` and `src/index/` are not folders of the layout.
  const known = folder !== "projections" && folder !== "index" && folder !== "postgres" && Object.hasOwn(zones, folder);
  return known ? (folder as Zone) : undefined;
}

function checkName(file: string): Finding[] {
  const findings: Finding[] = [];
  if (zoneOf(file) === undefined) findings.push({ rule: "name", file, message: "stands outside the layout" });
  const vague = file.split("/").find((part) => /^(utils?|helpers?)(\.ts)?$/i.test(part));
  if (vague !== undefined) findings.push({ rule: "name", file, message: `"${vague}" says nothing; name the idea` });
  return findings;
}

function checkLength(file: string, text: string, longFiles: Readonly<Record<string, string>>): Finding[] {
  const lines = text.replace(/\n$/, "").split("\n").length;
  if (lines <= linesMax || Object.hasOwn(longFiles, file)) return [];
  return [{ rule: "long-file", file, message: `has ${lines} lines, at most ${linesMax} unless listed with a reason` }];
}

/** One finding for each import that closes a circle, told as the way around it. */
function findCycles(graph: ReadonlyMap<string, readonly string[]>): Finding[] {
  const findings: Finding[] = [];
  const path: string[] = [];
  const done = new Set<string>();
  const walk = (file: string): void => {
    if (done.has(file)) return;
    const start = path.indexOf(file);
    if (start >= 0) {
      findings.push({ rule: "cycle", file, message: [...path.slice(start), file].join(" → ") });
      return;
    }
    path.push(file);
    for (const next of new Set(graph.get(file))) walk(next);
    path.pop();
    done.add(file);
  };
  for (const file of graph.keys()) walk(file);
  return findings;
}
