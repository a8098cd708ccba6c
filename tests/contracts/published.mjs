// Holds messages against the schemas that the authors of the tasks extension publish. Reads `[{revision, schema, value}]`
// from the standard input, and prints what each schema has to say: nothing, or why the value does not fit.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [home] = process.argv.slice(2);
const revisions = {
  v1: await import(pathToFileURL(`${home}/dist/core/v1/index.js`)),
  v2: await import(pathToFileURL(`${home}/dist/core/v2/index.js`)),
};

const found = JSON.parse(readFileSync(0, "utf8")).map(({ revision, schema, value }) => {
  const checked = revisions[revision][schema]["~standard"].validate(value);
  return (checked.issues ?? []).map(({ path, message }) => `${(path ?? []).join(".")}: ${message}`);
});
console.log(JSON.stringify(found));
