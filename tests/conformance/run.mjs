// Runs the official conformance suite through the gateway and compares with the recorded baseline.
//   node run.mjs [--direct] [--record] [--verbose]
// --direct leaves the gateway out (the ceiling of fixture and client), --record writes the baseline.
// Prints one TAP line per required scenario, then `passed/required` for each revision and leg. What the product does not
// do yet is not run, and counted apart.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { collect, ended, modules, node, scratch, serve } from '../lib/gateway.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const suite = path.join(modules, '@modelcontextprotocol/conformance/dist/index.js');
const baselineFile = path.join(here, 'baseline.json');
const direct = process.argv.includes('--direct');
const record = process.argv.includes('--record');
const verbose = process.argv.includes('--verbose');
const revisions = ['2025-11-25', '2026-07-28'];

// Authorization as a client is not there yet.
const later = /^auth\//;

const cleanups = [];
const defer = (action) => cleanups.push(action);

function required(leg, revision) {
  const file = path.join(modules, '@modelcontextprotocol/conformance/requirements', `${revision}.yaml`);
  const names = [];
  let section = '';
  for (const line of fs.readFileSync(file, 'utf8').split('\n')) {
    const heading = /^(\w+):/.exec(line);
    const item = /^ {2}- ([\w/-]+)$/.exec(line);
    if (heading) section = heading[1];
    else if (item && section === leg) names.push(item[1]);
  }
  return names;
}

async function run(args, env = {}) {
  const child = spawn(node, [suite, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  await ended(child);
  if (verbose) console.log(`${out.text}\n${err.text}`.replace(/^/gm, '# '));
  return out.text;
}

// Which scenarios passed, from the checks that the suite saved: no failure among them, and at least one success.
function verdicts(dir) {
  const passed = new Map();
  for (const entry of fs.readdirSync(dir, { recursive: true })) {
    if (path.basename(entry) !== 'checks.json') continue;
    const checks = JSON.parse(fs.readFileSync(path.join(dir, entry), 'utf8'));
    const name = path.dirname(entry).replace(/^(server|client)-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    const failures = checks.filter((check) => check.status === 'FAILURE');
    const good = failures.length === 0 && checks.some((check) => check.status === 'SUCCESS');
    passed.set(name, { good, failures });
  }
  return passed;
}

async function startFixture() {
  const child = spawn(node, [path.join(here, 'fixture.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] });
  defer(async () => {
    child.kill();
    await ended(child);
  });
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  return `http://127.0.0.1:${port}/mcp`;
}

async function serverUrls() {
  const fixture = await startFixture();
  if (direct) return Object.fromEntries(revisions.map((revision) => [revision, fixture]));
  const gateway = await serve(
    {
      mcpServers: {
        legacy: { url: fixture, era: 'legacy', instance: 'session' },
        modern: { url: fixture, era: 'modern' },
      },
    },
    { defer },
  );
  return { '2025-11-25': gateway.url('legacy').href, '2026-07-28': gateway.url('modern').href };
}

async function runLeg(leg, revision, urls) {
  const dir = scratch(defer);
  if (leg === 'server') {
    await run(['server', '--url', urls[revision], '--requirements', revision, '-o', dir]);
    return verdicts(dir);
  }
  const command = `${node} ${path.join(here, 'client.mjs')}`;
  const all = new Map();
  for (const scenario of required(leg, revision)) {
    if (later.test(scenario)) continue;
    const own = path.join(dir, scenario);
    await run(
      ['client', '--command', command, '--scenario', scenario, '--spec-version', revision, '-o', own],
      direct ? { HOLDFAST_DIRECT: '1' } : {},
    );
    for (const [, verdict] of fs.existsSync(own) ? verdicts(own) : []) all.set(scenario, verdict);
  }
  return all;
}

let count = 0;
let fallen = 0;

function reportScenario(leg, revision, name, verdict, baseline) {
  const isLater = later.test(name);
  const good = verdict?.good ?? false;
  const expected = baseline?.includes(name) ?? !isLater;
  const directive = !good && !expected ? ` # SKIP ${isLater ? 'later' : 'not in the baseline'}` : '';
  count++;
  console.log(`${good || directive ? 'ok' : 'not ok'} ${count} - conformance ${leg} ${revision} ${name}${directive}`);
  if (!good && !directive) {
    fallen++;
    for (const failure of verdict?.failures ?? []) console.log(`#   ${failure.id}: ${failure.errorMessage ?? ''}`);
  }
  return good;
}

const baselines = fs.existsSync(baselineFile) ? JSON.parse(fs.readFileSync(baselineFile, 'utf8')) : {};
const recorded = {};
const summary = [];
try {
  const urls = await serverUrls();
  for (const leg of ['server', 'client']) {
    for (const revision of revisions) {
      const key = `${leg} ${revision}`;
      const results = await runLeg(leg, revision, urls);
      const names = required(leg, revision);
      recorded[key] = names.filter((name) =>
        reportScenario(leg, revision, name, results.get(name), direct || record ? undefined : baselines[key]),
      );
      const apart = names.filter((name) => later.test(name)).length;
      const note = apart > 0 ? ` (and ${apart} with authorization: later)` : '';
      summary.push(`# ${key}: ${recorded[key].length}/${names.length - apart}${note}`);
    }
  }
} finally {
  for (const action of cleanups.reverse()) await action();
}
console.log(summary.join('\n'));
console.log(`1..${count}`);
if (record) fs.writeFileSync(baselineFile, `${JSON.stringify(recorded, null, 2)}\n`);
process.exitCode = fallen > 0 && !record ? 1 : 0;
