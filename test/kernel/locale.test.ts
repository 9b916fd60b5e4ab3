import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

interface Result {
  readonly witness: { readonly locale: string; readonly sorted: string };
  readonly hex: string;
  readonly id: string;
  readonly digest: string;
}

function under(locale: string): Result {
  const program = fileURLToPath(new URL("../children/canonical.mjs", import.meta.url));
  const env = { ...process.env, LANG: locale, LC_ALL: locale, LANGUAGE: locale };
  return JSON.parse(execFileSync(process.execPath, [program], { env, encoding: "utf8" })) as Result;
}

test("C05 bytes, ids and digests are the same under C, Swedish and Turkish", () => {
  const [c, swedish, turkish] = ["C", "sv_SE.UTF-8", "tr_TR.UTF-8"].map(under) as [Result, Result, Result];

  // The children really ran in different languages: Swedish puts ä behind z.
  expect([c, swedish, turkish].map((each) => each.witness.locale)).toEqual(["en-US", "sv-SE", "tr-TR"]);
  expect([c, swedish].map((each) => each.witness.sorted)).toEqual(["aäBz", "aBzä"]);

  for (const { hex, id, digest } of [swedish, turkish])
    expect({ hex, id, digest }).toEqual({ hex: c.hex, id: c.id, digest: c.digest });
  expect(Buffer.from(c.hex, "hex").toString()).toBe(
    '{"B":4,"I":"i","a":3,"big":1e+21,"i":6,"n":1234567.891,"z":1,"ä":2,"ı":5}',
  );
});
