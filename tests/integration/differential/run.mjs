// The differential test: a random valid conversation through the gateway is the same conversation, byte for byte, but for
// the marks and for what compare.mjs names (docs/INTEROP.md). Each is held with a server directly, and with its twin through the gateway's
// endpoint for that one server.
//   node run.mjs [COUNT] [--from SEED] [--only 'ERA TRANSPORT']
// A seed that differs is printed with where the two part; `--from SEED` and COUNT 4 (one a pair) play it alone.
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
async function twins(transport, era, seed, context) {
  const modern = era === 'modern';
  if (transport === 'http') {
    const url = await startHttp(era, seed, context);
    return { open: () => new HttpTalk(modern, url), settings: { url: await startHttp(era, seed, context), era } };
  }
  const pipes = startChild(era, seed, context);
  return { open: () => new PipeTalk(modern, pipes), settings: { command: node, args: [script, era, String(seed)], era } };
}

async function compareOne(seed, era, direct, url) {
  const steps = conversation(seed, era);
  const one = await direct.open().hold(steps);
  assert.equal(one.problem, undefined, `seed ${seed}: directly: ${one.problem}`);
  const other = await new HttpTalk(era === 'modern', url).hold(steps, one);
  return { found: differences(one, other), words: steps.length };
}

async function comparePair(transport, era, count, context) {
  const direct = await twins(transport, era, from, context);
  const config = { mcpServers: { twin: direct.settings }, policies, tools, correction: { max: 0 }, store: { enabled: false } };
  const gateway = await serve(config, context);
  const failed = [];
  let words = 0;
  for (let seed = from; seed < from + count; seed++) {
    const one = await compareOne(seed, era, direct, gateway.url('twin'));
    words += one.words;
    if (one.found.length === 0) continue;
    failed.push(seed);
    if (failed.length <= SHOWN) console.log(`# seed ${seed}, ${era} ${transport}:\n# ${one.found.slice(0, SHOWN).join('\n').replaceAll('\n', '\n# ')}`);
  }
  console.log(`# ${count} conversations, ${words} requests`);
  assert.deepEqual(failed, [], `seeds that differ, of ${count}`);
}

for (const era of ['legacy', 'modern'])
  for (const transport of ['http', 'stdio']) {
    const name = `${era} ${transport}`;
    if (values.only && values.only !== name) continue;
    const count = Math.ceil(total / 4);
    await test(`${name}: a conversation through the gateway is the same as directly`,
      (context) => comparePair(transport, era, count, context), { timeoutMs: 30000 + count * 1000 });
  }
done();
