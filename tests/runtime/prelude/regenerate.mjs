// Fills in what Node makes of each case. Run by hand, with Node 20, after adding cases:
//   node tests/runtime/prelude/regenerate.mjs
// A case with "differs" says why the expected outcome is not Node's; it is left as it is.
import { readFileSync, writeFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(name, import.meta.url), "utf8");
const { prepare, act, report } = (0, eval)(read("cases.js"));

// Node writes a narrow blank before AM and PM, and its own zone.
process.env.TZ = "UTC";
const plain = (outcome) => (typeof outcome === "string" ? outcome.replaceAll("\u202f", " ") : outcome);

for (const name of ["urls.json", "url-setters.json", "search-params.json", "structured-clone.json", "locales.json"]) {
  const items = JSON.parse(read(name)).map((item) =>
    item.differs ? item : { ...item, expected: plain(report(item, act(prepare(item)))) },
  );
  const lines = items.map((item) => JSON.stringify(item));
  writeFileSync(new URL(name, import.meta.url), "[\n" + lines.join(",\n") + "\n]\n");
  console.log(name, items.length);
}
