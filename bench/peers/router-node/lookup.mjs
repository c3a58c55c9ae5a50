// lookup.mjs FILE ROUNDS MILLISECONDS: find-my-way on the routes and lookups of FILE, as bench/router_lookup.c does it for uvhttp.
// The package is looked for in the folder that ROUTER_PEERS names, since this file lies elsewhere.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.ROUTER_PEERS, "package.json"));
const router = require("find-my-way")({ caseSensitive: true, ignoreTrailingSlash: false });
const version = require("find-my-way/package.json").version;
const [patterns, questions] = readFileSync(process.argv[2], "latin1").trimEnd().split("\n\n").map((part) => part.split("\n"));
const wanted = Number(process.argv[3]);
const least = Number(process.argv[4]) * 1000; // microseconds

patterns.forEach((pattern, number) => router.on("GET", pattern.replace(/\*.*$/, "*"), () => {}, number + 1));

function lookUp(path) {
  const found = router.find("GET", path);
  let sum = found.store;
  for (const name in found.params) sum += found.params[name].length;
  return sum;
}

const lookups = [];
let known = 0;
for (const line of questions) {
  const [number, count] = line.split(" ", 2);
  const path = line.slice(number.length + count.length + 2);
  const found = router.find("GET", path);
  if (found === null || found.store !== Number(number) + 1 || Object.keys(found.params).length !== Number(count))
    throw new Error(`${path} finds another route`);
  lookups.push(path);
  known += lookUp(path);
}

// CPU time of the process: while somebody else has the core, it stands still.
function run(microseconds) {
  const start = process.cpuUsage();
  let sum = 0, times = 0, elapsed;
  do {
    for (let i = 0; i < lookups.length; i++) sum += lookUp(lookups[i]);
    times++;
    const used = process.cpuUsage(start);
    elapsed = used.user + used.system;
  } while (elapsed < microseconds);
  if (sum !== times * known) throw new Error("a lookup went wrong");
  return (1000 * elapsed) / (times * lookups.length);
}

run(500_000); // for the compiler
const rounds = [];
while (rounds.length < wanted) rounds.push(run(least));
console.log(JSON.stringify([{ name: "find-my-way", version, rounds }]));
