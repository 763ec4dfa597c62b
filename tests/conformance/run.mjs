// Runs the official conformance suite through the gateway and compares with the recorded baseline.
//   node run.mjs [--direct] [--record] [--verbose] [--only=LEG]
// --direct leaves the gateway out (the ceiling of fixture and client), --record writes the baseline, --only runs the legs
// whose names begin so.
// Prints one TAP line per required scenario, then `passed/required` for each revision and leg. What the product does not
// do yet, or the suite does not check yet, is counted apart. The scenarios of the tasks extension, which the suite runs for
// information, are required here, twice: with tasks that a server makes, and with those that the gateway makes of a
// server's calls that has none.
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
const only = process.argv.find((arg) => arg.startsWith('--only='))?.slice('--only='.length) ?? '';
const revisions = ['2025-11-25', '2026-07-28'];

// Authorization as a client is not there yet.
const later = /^auth\//;

// Who makes the tasks → what is left out, and what the gateway is told of the server. A client without tasks gets what a
// server makes of a call as if there were none, so a server's refusal to do without is only seen where the gateway must
// not take tasks from it either.
const makers = {
  server: {
    settings: (url) => ({
      mcpServers: { tasks: { url }, untold: { url } },
      tools: { untold__failing_job: { tasks: 'never' } },
    }),
    endpoint: (scenario) => (scenario === 'tasks-required-task-error' ? 'untold' : 'tasks'),
  },
  gateway: {
    plain: true,
    without: /^tasks-required-task-error$/,
    settings: (url) => ({
      mcpServers: { tasks: { url } },
      tools: {
        ...Object.fromEntries(
          ['slow_compute', 'failing_job', 'protocol_error_job', 'confirm_delete', 'multi_input'].map((tool) => [
            `tasks__${tool}`,
            { tasks: 'always' },
          ]),
        ),
        tasks__test_tool_with_task: { tasks: 'auto', taskAfter: '50ms' },
      },
    }),
    endpoint: () => 'tasks',
  },
};

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

// The scenarios of the tasks extension, which the requirements list as not scored.
function taskScenarios(maker) {
  const file = path.join(modules, '@modelcontextprotocol/conformance/requirements/2026-07-28.yaml');
  const names = [...fs.readFileSync(file, 'utf8').matchAll(/scenario: (tasks-[\w-]+)/g)].map(([, name]) => name);
  return names.filter((name) => !makers[maker].without?.test(name));
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

// Which scenarios passed, from the checks that the suite saved: no failure among them, and at least one success. Where all
// are skipped, there is nothing to pass.
function verdicts(dir) {
  const passed = new Map();
  for (const entry of fs.readdirSync(dir, { recursive: true })) {
    if (path.basename(entry) !== 'checks.json') continue;
    const checks = JSON.parse(fs.readFileSync(path.join(dir, entry), 'utf8'));
    const name = path.dirname(entry).replace(/^(server|client)-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
    const failures = checks.filter((check) => check.status === 'FAILURE');
    const good = failures.length === 0 && checks.some((check) => check.status === 'SUCCESS');
    passed.set(name, { good, failures, unchecked: checks.every((check) => check.status === 'SKIPPED') });
  }
  return passed;
}

async function startFixture(file = 'fixture.mjs', ...args) {
  const child = spawn(node, [path.join(here, file), ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
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

async function runTasks(maker) {
  const { plain, settings, endpoint } = makers[maker];
  const fixture = await startFixture('tasks.mjs', ...(plain && !direct ? ['--plain'] : []));
  const gateway = direct ? null : await serve(settings(fixture), { defer });
  const all = new Map();
  for (const scenario of taskScenarios(maker)) {
    const own = path.join(scratch(defer), scenario);
    const url = gateway ? gateway.url(endpoint(scenario)).href : fixture;
    await run(['server', '--url', url, '--scenario', scenario, '--spec-version', '2026-07-28', '--force', '-o', own]);
    for (const [, verdict] of fs.existsSync(own) ? verdicts(own) : []) all.set(scenario, verdict);
  }
  return all;
}

let count = 0;
let fallen = 0;

function reportScenario(key, name, verdict, baseline) {
  const apart = later.test(name) ? 'later' : verdict?.unchecked ? 'the suite does not check it yet' : undefined;
  const good = verdict?.good ?? false;
  const expected = !apart && (baseline?.includes(name) ?? true);
  const directive = !good && !expected ? ` # SKIP ${apart ?? 'not in the baseline'}` : '';
  count++;
  console.log(`${good || directive ? 'ok' : 'not ok'} ${count} - conformance ${key} ${name}${directive}`);
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
  const legs = ['server', 'client'].flatMap((leg) =>
    revisions.map((revision) => ({
      key: `${leg} ${revision}`,
      names: required(leg, revision),
      results: () => runLeg(leg, revision, urls),
    })),
  );
  for (const maker of Object.keys(makers))
    legs.push({ key: `tasks of the ${maker}`, names: taskScenarios(maker), results: () => runTasks(maker) });
  for (const { key, names, results } of legs.filter((leg) => leg.key.startsWith(only))) {
    const verdictOf = await results();
    recorded[key] = names.filter((name) =>
      reportScenario(key, name, verdictOf.get(name), direct || record ? undefined : baselines[key]),
    );
    const unchecked = names.filter((name) => verdictOf.get(name)?.unchecked).length;
    const authorization = names.filter((name) => later.test(name)).length;
    const notes = [
      ...(authorization > 0 ? [`${authorization} with authorization: later`] : []),
      ...(unchecked > 0 ? [`${unchecked} that the suite skips`] : []),
    ];
    const note = notes.length > 0 ? ` (and ${notes.join(', ')})` : '';
    summary.push(`# ${key}: ${recorded[key].length}/${names.length - authorization - unchecked}${note}`);
  }
} finally {
  for (const action of cleanups.reverse()) await action();
}
console.log(summary.join('\n'));
console.log(`1..${count}`);
if (record) fs.writeFileSync(baselineFile, `${JSON.stringify({ ...baselines, ...recorded }, null, 2)}\n`);
process.exitCode = fallen > 0 && !record ? 1 : 0;
