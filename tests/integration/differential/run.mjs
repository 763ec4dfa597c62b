// The differential test: a random valid conversation through the gateway is the same conversation, byte for byte, but for
// the marks and for what compare.mjs names (docs/INTEROP.md). Each is held with a server directly, and with its twin through the gateway's
// endpoint for that one server.
//   node run.mjs [COUNT] [--from SEED] [--only PAIR]
// A seed that differs is printed with where the two part; `--from SEED` and COUNT 6 (one a pair) play it alone.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ended, node, serve } from '../../lib/gateway.mjs';
import { done, test } from '../../lib/tap.mjs';
import { conversation } from './conversation.mjs';
import { differences } from './compare.mjs';
import { Server, serveHttp, toolNames } from './server.mjs';
import { HttpTalk, PipeTalk, Pipes } from './talk.mjs';

const SHOWN = 5;
const script = path.join(path.dirname(fileURLToPath(import.meta.url)), 'server.mjs');
const { values, positionals } = parseArgs({ allowPositionals: true, options: { from: { type: 'string' }, only: { type: 'string' } } });
const total = Number(positionals[0] ?? 100);
const from = Number(values.from ?? 1);

// Each call is sent, and once: equal ones are not joined, nothing is repeated, and no breaker opens. So what fails here
// fails because its seed says so.
const tools = Object.fromEntries(toolNames.map((name) => [`twin__${name}`, { coalesce: 0 }]));
const policies = { default: { retry: { attempts: 1 }, breaker: { failures: 0, minCalls: 1000000 } } };

function startChild(era, seed, { defer }) {
  const child = spawn(node, [script, era, String(seed)], { stdio: ['pipe', 'pipe', 'inherit'] });
  defer(async () => {
    child.kill();
    await ended(child);
  });
  return new Pipes(child);
}

async function startHttp(era, seed, { defer }) {
  const { url, close } = await serveHttp(new Server({ era, seed, broken: true }));
  defer(close);
  return url;
}

// Returns how to open a talk with a server directly, and the settings of its twin.
async function twins({ transport, era, asks }, seed, context) {
  const modern = era === 'modern';
  if (transport === 'http') {
    const url = await startHttp(era, seed, context);
    return { open: () => new HttpTalk(modern, url), settings: { url: await startHttp(era, seed, context), era } };
  }
  const own = asks && !modern;
  const shared = own ? undefined : startChild(era, seed, context);
  const open = () => new PipeTalk(modern, shared ?? startChild(era, seed, context), own);
  return { open, settings: { command: node, args: [script, era, String(seed)], era } };
}

async function compareOne(seed, { era, asks }, direct, url) {
  const steps = conversation(seed, era, asks);
  const one = await direct.open().hold(steps);
  assert.equal(one.problem, undefined, `seed ${seed}: directly: ${one.problem}`);
  const other = await new HttpTalk(era === 'modern', url).hold(steps, one);
  return { found: differences(one, other), words: steps.length };
}

async function comparePair(pair, count, context) {
  const { asks } = pair;
  const direct = await twins(pair, from, context);
  const instance = asks ? 'session' : 'shared';
  const config = { mcpServers: { twin: { ...direct.settings, instance } }, policies, tools, correction: { max: 0 }, store: { enabled: false } };
  const gateway = await serve(config, context);
  const failed = [];
  let words = 0;
  for (let seed = from; seed < from + count; seed++) {
    const one = await compareOne(seed, pair, direct, gateway.url('twin'));
    words += one.words;
    if (one.found.length === 0) continue;
    failed.push(seed);
    if (failed.length <= SHOWN) console.log(`# seed ${seed}, ${pair.name}:\n# ${one.found.slice(0, SHOWN).join('\n').replaceAll('\n', '\n# ')}`);
  }
  console.log(`# ${count} conversations, ${words} requests`);
  assert.deepEqual(failed, [], `seeds that differ, of ${count}`);
}

// Where a legacy server may ask, each client has a session of its own there.
const pairs = [
  { name: 'legacy http', era: 'legacy', transport: 'http' },
  { name: 'legacy stdio', era: 'legacy', transport: 'stdio' },
  { name: 'legacy http, which asks', era: 'legacy', transport: 'http', asks: true },
  { name: 'legacy stdio, which asks', era: 'legacy', transport: 'stdio', asks: true },
  { name: 'modern http', era: 'modern', transport: 'http', asks: true },
  { name: 'modern stdio', era: 'modern', transport: 'stdio', asks: true },
];

for (const pair of pairs) {
  if (values.only && values.only !== pair.name) continue;
  const count = Math.ceil(total / pairs.length);
  await test(`${pair.name}: a conversation through the gateway is the same as directly`,
    (context) => comparePair(pair, count, context), { timeoutMs: 30000 + count * 1000 });
}
done();
