// Reads a file with speedscope's own importer: speedscope.mjs MODULES FILE. Prints its profiles.
//
// The package holds a page, not a library. Its script is run without a page: drawing fails, which is of no
// consequence, and the function by which it imports files is called.

import { readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import vm from "node:vm";

const [modules, path] = process.argv.slice(2);
const folder = `${modules}/speedscope/dist/release`;
const script = readdirSync(folder).find((name) => /^speedscope-.*\.js$/.test(name));
const source = readFileSync(`${folder}/${script}`, "utf8");
const [, importer] = /loadFileFromBase64:\(\w+,\w+\)=>\{this\.loadProfile\(\(\)=>(\w+)\(/.exec(source);
const head = `async function ${importer}(`;
const exposed = source.replace(head, `globalThis.importFromBase64=${importer};${head}`);

// Whatever is asked of the page is there and does nothing.
const nothing = () =>
  new Proxy(function () {}, {
    get: (_, key) => (key === Symbol.toPrimitive ? () => "" : nothing()),
    apply: nothing,
    construct: nothing,
    set: () => true,
  });
Object.assign(globalThis, {
  window: globalThis,
  self: globalThis,
  document: nothing(),
  location: { hash: "", protocol: "file:", href: "" },
  requestAnimationFrame: () => 0,
  addEventListener: () => {},
  matchMedia: () => ({ addListener: () => {}, matches: false }),
});
const { log } = console;
console.log = () => {};
try {
  vm.runInThisContext(exposed);
} catch {
  // There is nothing to draw on.
}
const group = await globalThis.importFromBase64(basename(path), readFileSync(path).toString("base64"));
const profiles = group.profiles.map((profile) => {
  const names = new Set();
  profile.forEachFrame((frame) => names.add(frame.name));
  return {
    name: profile.getName(),
    unit: profile.getWeightUnit(),
    total: profile.getTotalWeight(),
    frames: names.size,
  };
});
log(JSON.stringify({ name: group.name, profiles }));
