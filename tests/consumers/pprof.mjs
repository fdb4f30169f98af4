// Reads a profile with npm's pprof-format: pprof.mjs MODULES PROFILE. Prints the sum of each sample type.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { gunzipSync } from "node:zlib";

const [modules, path] = process.argv.slice(2);
const { Profile } = createRequire(`${modules}/`)("pprof-format");
const profile = Profile.decode(gunzipSync(readFileSync(path)));
const text = (number) => profile.stringTable.strings[Number(number)];
const sums = {};
profile.sampleType.forEach((type, place) => {
  const values = profile.sample.map((sample) => BigInt(sample.value[place]));
  sums[text(type.type)] = Number(values.reduce((sum, value) => sum + value, 0n));
});
console.log(JSON.stringify(sums));
