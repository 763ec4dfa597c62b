// Whether what the gateway says of a call is true. Four clients call tools of servers that fail in every way they know,
// die and come back; each call has a key of its own, and each answer is held against the servers' ledger of what ran.
import assert from 'node:assert';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import { chaos, ended, eventually, ledgerCounts, scratch, serve, startChaos } from '../../lib/gateway.mjs';
import { clients, connectHttp, outcomeOf, textOf } from './lib.mjs';

const SEED = Number(process.env.TRUTH_SEED ?? 1);
const CALLS = Number(process.env.TRUTH_CALLS ?? 1200); // of each transport
const WORKERS = 8; // of each client: calls under way at once

// Faults of both transports; those marked end a child, which then takes the other calls in it along.
const common = [
  'drop!', 'execdrop!', 'close!', 'exec+close!', 'stall', 'exec+stall', 'delay:30', 'slow:1', 'cut!', 'cut:1!',
  'cut:30!', 'cut:120!', 'cut_close:60!', 'stall_after!', 'stall_after:40!', 'truncated!', 'garbage', 'empty', 'wrong_id',
  'string_id', 'neither', 'both', 'array', 'rpc', 'exec+rpc', 'rpc:-32000', 'rpc:-32602', 'iserror', 'death!',
  'exec+death!', 'kill!', 'exec+kill!',
];
const httpOnly = [
  'cut:190', 'chunked', 'chunk_bad', 'chunk_cut', 'html', '429', 'status:429/1', '500', 'exec+500', '502', 'exec+502',
  '503', 'exec+503', 'status:503/1', '504', 'status:408', 'session', 'sse', 'sse:multi',
];
const stdioOnly = ['noise'];

const policy = {
  timeout: { connect: '1s', idle: '400ms', attempt: '400ms', deadline: '2s' },
  retry: { attempts: 4, base: '5ms', max: '50ms' },
  breaker: { failures: 5, rate: '80%', minCalls: 20, open: '50ms', maxOpen: '200ms' },
};

// A sequence that a seed decides (mulberry32).
function sequence(seed) {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

// What `--fault` takes: every second fault, for a server takes no more than 32.
function rates(faults, half, rate, deadlyRate) {
  return faults
    .filter((name, i) => i % 2 === half)
    .map((name) => (name.endsWith('!') ? `${name.slice(0, -1)}=${deadlyRate}` : `${name}=${rate}`))
    .join(',');
}

// Runs a server over HTTP, and again on the same port whenever it died.
async function keepAlive(args, seed, dir, { defer }) {
  const server = { deaths: 0 };
  let stopping = false;
  const run = async (port) => {
    const { child, port: chosen } = await startChaos({
      defer,
      dir,
      port,
      args: [...args, '--seed', String(seed + server.deaths * 100)],
    });
    server.url = `http://127.0.0.1:${chosen}/mcp`;
    ended(child).then(() => {
      if (stopping) return;
      server.deaths++;
      server.restart = run(chosen);
    });
  };
  await run(0);
  defer(async () => {
    stopping = true;
    await server.restart;
  });
  return server;
}

// Servers of both eras, of each an even number: one for each half of the faults.
const servers = (each) =>
  ['legacy', 'modern'].flatMap((era) => Array.from({ length: each }, (none, i) => ({ era, half: i % 2, i })));

async function httpServers(dir, context) {
  const faults = [...common, ...httpOnly];
  const started = [];
  for (const { era, half, i } of servers(4)) {
    const args = ['--era', era, ...(i < 2 ? [] : ['--sse']), '--fault', rates(faults, half, 0.012, 0.012)];
    started.push(await keepAlive(args, SEED + started.length, dir, context));
  }
  const mcpServers = Object.fromEntries(started.map(({ url }, i) => [`s${i}`, { url }]));
  return { mcpServers, deaths: () => started.reduce((sum, { deaths }) => sum + deaths, 0) };
}

function stdioServers(dir) {
  const faults = [...common, ...stdioOnly];
  const mcpServers = {};
  for (const [i, { era, half }] of servers(8).entries()) {
    const args = ['--stdio', '--era', era, '--ledger', path.join(dir, 'ledger'), '--seed', String(SEED + i)];
    mcpServers[`s${i}`] = { command: chaos, args: [...args, '--fault', rates(faults, half, 0.015, 0.0015)] };
  }
  return { mcpServers, deaths: () => undefined };
}

// One call to its end: { tool, key, result } or { tool, key, error }.
async function call(client, tool, server, key) {
  try {
    return { tool, key, result: await client.callTool({ name: `${server}__${tool}`, arguments: { key } }) };
  } catch (error) {
    return { tool, key, error };
  }
}

async function callAll(connected, names) {
  const tools = ['charge', 'charge', 'charge', 'put', 'read'];
  const each = Math.ceil(CALLS / (connected.length * WORKERS));
  const answers = [];
  const work = async (client, name) => {
    const below = sequence(SEED * 1000 + name);
    for (let i = 0; i < each; i++) {
      const server = names[below(names.length)];
      answers.push(await call(client, tools[below(tools.length)], server, `k${name}-${i}-`));
    }
  };
  const workers = connected.flatMap((client, c) =>
    Array.from({ length: WORKERS }, (none, w) => work(client, c * WORKERS + w)),
  );
  await Promise.all(workers);
  return answers;
}

// What the answer claims: { ok, executed, reason, text }, or null if it claims nothing.
function claimOf({ result, error }) {
  const outcome = result ? outcomeOf(result) : error.data?.['dev.holdfast/outcome'];
  if (!outcome?.source) return null;
  const ok = result !== undefined && !result.isError;
  return { ok, executed: outcome.executed, reason: outcome.reason, text: result ? textOf(result) : error.message };
}

// The ways in which a claim is not true of a call that ran `ran` times.
function lies({ tool, key }, claim, ran) {
  const unsafe = tool === 'charge';
  const found = [];
  if (unsafe && ran > 1) found.push('unsafeTwice');
  if (!claim) return [...found, 'unmarked'];
  if (!claim.ok && !['no', 'maybe', 'yes'].includes(claim.executed)) found.push('unmarked');
  if (!claim.ok && claim.executed === 'no' && ran > 0) found.push('noButRan');
  if (!claim.ok && claim.executed === 'yes' && ran === 0) found.push('yesButDidNot');
  if (claim.ok && (unsafe ? ran !== 1 : ran < 1)) found.push('successNotOnce');
  if (claim.ok && !claim.text.includes(`${tool} ${key} `)) found.push('wrongCaller');
  return found;
}

// Figures of a case, and its lies.
function judge(answers, counts) {
  const figures = {
    calls: answers.length, success: 0, no: 0, maybeRan: 0, maybeDidNot: 0, yes: 0,
    unsafeTwice: 0, noButRan: 0, yesButDidNot: 0, successNotOnce: 0, wrongCaller: 0, unmarked: 0,
  };
  const reasons = {};
  const bad = [];
  for (const answer of answers) {
    const ran = counts.get(`${answer.tool} ${answer.key}`) ?? 0;
    const claim = claimOf(answer);
    if (claim?.ok) figures.success++;
    else if (claim?.executed === 'maybe') figures[ran ? 'maybeRan' : 'maybeDidNot']++;
    else if (claim) figures[claim.executed]++;
    if (claim?.reason) reasons[claim.reason] = (reasons[claim.reason] ?? 0) + 1;
    const found = lies(answer, claim, ran);
    for (const lie of found) figures[lie]++;
    const { tool, key, error } = answer;
    if (found.length > 0) bad.push(`${found}: ${tool} ${key} ran ${ran}: ${JSON.stringify(claim)} ${error ?? ''}`);
  }
  return { figures, reasons, bad };
}

for (const [name, start] of [
  ['HTTP', httpServers],
  ['stdio', stdioServers],
]) {
  await test(`what is said of a call is true: ${name}`, async (context) => {
    const dir = scratch(context.defer);
    const { mcpServers, deaths } = await start(dir, context);
    const gateway = await serve({ mcpServers, policies: { default: policy } }, context);
    const connected = await Promise.all(Object.keys(clients).map((kind) => connectHttp(kind, gateway.url(), context)));
    const names = Object.keys(mcpServers);
    const listed = async () => new Set((await connected[0].listTools()).tools.map((tool) => tool.name.split('__')[0]));
    await eventually(async () => (await listed()).size === names.length, 'the tools of all servers');
    const answers = await callAll(connected, names);
    await gateway.stop(); // nothing runs after this, so the ledger is whole
    const { figures, reasons, bad } = judge(answers, ledgerCounts(path.join(dir, 'ledger')));
    console.log(`# ${name}: ${JSON.stringify({ ...figures, deaths: deaths() })}`);
    console.log(`# reasons: ${JSON.stringify(reasons)}`);
    assert.equal(bad.length, 0, `${bad.length} answers are not true, seed ${SEED}:\n${bad.slice(0, 10).join('\n')}`);
    for (const seen of ['success', 'no', 'maybeRan', 'maybeDidNot', 'yes'])
      assert.ok(figures[seen] > 0, `no call came out as ${seen}: the faults did not happen`);
    assert.notEqual(deaths(), 0, 'no server died');
  }, { timeoutMs: 60000 });
}
done();
