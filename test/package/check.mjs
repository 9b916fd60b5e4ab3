// Judges the package as a stranger receives it: packs it, unpacks the tarball into an empty project beside its declared
// dependencies and nothing else, imports every entry point, compiles a program against its types, runs its command.
// The native dependency is linked from this checkout, not compiled again.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.keys(manifest.exports).filter((name) => name !== "./package.json");
const specifiers = entries.map((name) => manifest.name + name.slice(1));
const project = mkdtempSync(join(tmpdir(), "runledger-package-"));

try {
  const packed = pack();
  checkFiles(packed.files.map((file) => file.path));
  install(packed.filename);
  checkImports();
  checkTypes();
  checkCommand();
  console.log(`package: ${packed.files.length} files, ${packed.size} bytes packed, ${specifiers.join(", ")} in order`);
} finally {
  rmSync(project, { recursive: true, force: true });
}

function pack() {
  // The build has just been made; running it again here would say so on standard output.
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", project];
  const [packed] = JSON.parse(execFileSync("npm", args, { cwd: root, encoding: "utf8" }));
  return packed;
}

/** Everything that is needed is in the tarball, and nothing else. */
function checkFiles(files) {
  const targets = entries.flatMap((name) => Object.values(manifest.exports[name]));
  const bins = Object.values(manifest.bin);
  for (const needed of [...targets, ...bins, "package.json", "README.md", "LICENSE", "CHANGELOG.md"]) {
    const path = needed.replace(/^\.\//, "");
    assert.ok(files.includes(path), `the package must contain ${path}`);
  }

  const known = [
    /^dist\/(src|projections)\/.+(\.js|\.d\.ts)$/,
    /^(src|projections)\/.+\.md$/,
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md)$/,
  ];
  const strangers = files.filter((file) => !known.some((pattern) => pattern.test(file)));
  assert.deepEqual(strangers, [], "the package must contain no other files");
}

function install(tarball) {
  const modules = join(project, "node_modules");
  const home = join(modules, manifest.name);
  mkdirSync(join(modules, ".bin"), { recursive: true });
  mkdirSync(home);
  execFileSync("tar", ["-xzf", join(project, tarball), "-C", home, "--strip-components=1"]);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "stranger", private: true, type: "module" }));

  // Only what the manifest declares, so that an import of a development dependency fails here.
  const declared = { ...manifest.dependencies, ...manifest.peerDependencies };
  for (const name of [...Object.keys(declared), "@types/node"]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, "node_modules", name), join(modules, name), "dir");
  }
  for (const [name, path] of Object.entries(manifest.bin)) symlinkSync(join(home, path), join(modules, ".bin", name));
}

function checkImports() {
  for (const specifier of specifiers) {
    const program = `
      const names = Object.keys(await import(${JSON.stringify(specifier)}));
      if (names.length === 0 || names.includes("default")) throw new Error("exports [" + names + "]");
    `;
    run(process.execPath, ["--input-type=module", "--eval", program]);
  }
}

/** The declarations compile in a strict program of every module resolution, their own files checked too, and so do the
 *  documents' examples, under the settings that find most. */
function checkTypes() {
  const lines = specifiers.map((specifier, index) => `export * as entry${index} from ${JSON.stringify(specifier)};`);
  writeFileSync(join(project, "program.ts"), `${lines.join("\n")}\n`);
  const examples = ["invoices.ts", "invoices-replayed.ts"];
  for (const name of examples) copyFileSync(join(root, "test/examples", name), join(project, name));
  const rules = ["exactOptionalPropertyTypes", "noUncheckedIndexedAccess", "noPropertyAccessFromIndexSignature"];
  const strict = ["--strict", ...rules.map((rule) => `--${rule}`)];
  for (const [module, resolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    const libs = ["--target", "es2023", "--lib", "es2023,es2024.string", "--types", "node"];
    const modules = ["--module", module, "--moduleResolution", resolution];
    const tsc = join(root, "node_modules/typescript/bin/tsc");
    run(process.execPath, [tsc, "--noEmit", ...strict, ...libs, ...modules, "program.ts", ...examples]);
  }
}

function checkCommand() {
  for (const name of Object.keys(manifest.bin)) {
    const help = run(join(project, "node_modules/.bin", name), ["--help"]);
    assert.match(help, new RegExp(`\\b${name}\\b`), `${name} --help must name the command`);
  }
  assert.ok(!existsSync(join(project, "state.ledger")), "--help must create nothing");
}

function run(command, args) {
  try {
    return execFileSync(command, args, { cwd: project, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    throw new Error(`${[command, ...args].join(" ")}\n${error.stdout ?? ""}${error.stderr ?? ""}`, { cause: error });
  }
}
