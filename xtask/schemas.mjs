// Takes the JSON Schemas of the specification out of the official conformance package, which carries them
// as object literals, and writes one file per revision. Usage: node schemas.mjs PACKAGE/dist/index.js DIRECTORY
import { readFileSync, writeFileSync } from "node:fs";

const [source, directory] = process.argv.slice(2);
const text = readFileSync(source, "utf8");

// A definition that only one revision has, newest first.
const MARKS = [
  ["2026-07-28", "DiscoverRequest"],
  ["2025-11-25", "Task"],
  ["2025-06-18", "ElicitRequest"],
  ["2025-03-26", "JSONRPCBatchRequest"],
  ["2024-11-05", "Annotated"],
];

/** The end of the object literal that begins at `start`; strings and templates are skipped. */
function literalEnd(start) {
  let depth = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === "`" || character === '"' || character === "'") {
      for (at += 1; text[at] !== character; at += 1) if (text[at] === "\\") at += 1;
    } else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  throw new Error("a schema without an end");
}

const literal = /\{\$schema:[`"'][^`"']*[`"'],(?:definitions|\$defs):\{/g;
for (const found of text.matchAll(literal)) {
  const schema = new Function(`return (${text.slice(found.index, literalEnd(found.index))})`)();
  const names = schema.$defs ?? schema.definitions;
  const revision = MARKS.find(([, mark]) => mark in names)?.[0];
  if (!revision || !("JSONRPCRequest" in names)) continue;
  writeFileSync(`${directory}/${revision}.json`, JSON.stringify(schema));
  console.log(`schema of ${revision}: ${Object.keys(names).length} definitions`);
}
