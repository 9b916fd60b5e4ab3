// Compares the public names and types of each entry point with the reports in this folder; with --write, renews them.
// A difference is a promise made or broken, so the reports are reviewed like code. Entry points come from the
// `exports` of package.json. API Extractor brings its own TypeScript and reads the declarations in dist/.
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const reports = join(root, "test/api");
const write = process.argv.includes("--write");

const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const entries = Object.entries(manifest.exports).filter(([, target]) => typeof target === "object");
const scratch = mkdtempSync(join(tmpdir(), "runledger-api-"));
let failures = 0;
try {
  for (const [name, target] of entries) if (!report(name, join(root, target.types))) failures += 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`api: ${entries.length} entry points, ${failures} differ or fail`);
process.exitCode = failures === 0 ? 0 : 1;

/** Is the report of this entry point up to date (or, with --write, written)? */
function report(name, declarations) {
  const file = name === "." ? "index" : name.slice("./".length);
  if (!existsSync(declarations)) {
    console.error(`${name}: ${declarations} is missing; build first`);
    return false;
  }

  const result = Extractor.invoke(configuration(file, declarations), {
    localBuild: write,
    printApiReportDiff: !write,
    messageCallback: quiet,
  });
  if (result.apiReportChanged) {
    const what = write ? "written" : "differs; if that is meant, run `npm run api:write` and review the diff";
    console.log(`${name}: test/api/${file}.api.md ${what}`);
  }
  return result.succeeded && (write || !result.apiReportChanged);
}

function configuration(file, declarations) {
  const temporary = join(scratch, file);
  mkdirSync(temporary);
  return ExtractorConfig.prepare({
    packageJsonFullPath: join(root, "package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: declarations,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: "es2023",
            lib: ["es2023", "es2024.string"],
            types: ["node"],
            module: "nodenext",
            strict: true,
            exactOptionalPropertyTypes: true,
            skipLibCheck: true,
          },
          files: [declarations],
        },
      },
      apiReport: {
        enabled: true,
        reportFileName: `${file}.api.md`,
        reportFolder: reports,
        reportTempFolder: temporary,
        includeForgottenExports: true,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
      messages: {
        compilerMessageReporting: { default: { logLevel: "error" } },
        // What is untagged or not exported is said in the report, where a reviewer sees it; what is undocumented is
        // marked there in place, so the list of it with line numbers, which move with every edit, is left out.
        extractorMessageReporting: {
          default: { logLevel: "warning", addToApiReportFile: true },
          "ae-undocumented": { logLevel: "none" },
          "ae-unresolved-link": { logLevel: "none" },
        },
        // Doc comments are prose here, not TSDoc markup.
        tsdocMessageReporting: { default: { logLevel: "none" } },
      },
    },
  });
}

/** Keeps off the console what the tool says about itself and its temporary files; the caller says it in our words. */
function quiet(message) {
  const chatter = ["preamble", "compiler-version-notice", "api-report-created", "api-report-copied"];
  const advice = ["api-report-not-copied", "api-report-folder-missing"];
  if ([...chatter, ...advice].some((id) => message.messageId === `console-${id}`)) message.handled = true;
  if (message.logLevel === "info") message.handled = true;
}
