// Whether `holdfast report` counts what happened. Clients call tools of a server that fails by chance; what they were
// told, call by call, and what the server's ledger says must add up to what the report says.
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import { binary, ledgerCounts, scratch, serve, startChaos } from '../../lib/gateway.mjs';
import { connectHttp, outcomeOf } from './lib.mjs';

const CALLS = 240;
const WORKERS = 6;
const TOOLS = ['charge', 'put', 'read'];

const policy = {
  timeout: { connect: '1s', idle: '300ms', attempt: '300ms', deadline: '2s' },
  retry: { attempts: 3, base: '5ms', max: '20ms' },
  breaker: { failures: 1000, rate: '100%', minCalls: 1000 },
};
const faults = 'exec+drop=0.05,500=0.06,exec+500=0.04,429=0.05,iserror=0.04,stall=0.02,garbage=0.04,rpc:-32602=0.03';

function report(dir, ...args) {
  const env = { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir };
  return execFileSync(binary, ['report', ...args], { env, encoding: 'utf8' });
}

async function callAll(client) {
  const answers = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < CALLS; i = next++) {
      const tool = TOOLS[i % TOOLS.length];
      const key = `k${i}-`;
      const result = await client.callTool({ name: `s__${tool}`, arguments: { key } }).catch((error) => ({ error }));
      const outcome = result.error ? result.error.data['dev.holdfast/outcome'] : outcomeOf(result);
      answers.push({ tool, key, ok: !result.error && !result.isError, ...outcome });
    }
  };
  await Promise.all(Array.from({ length: WORKERS }, work));
  return answers;
}

const count = (list, test) => list.filter(test).length;

// { reason: how often } of the calls that failed.
function reasonsOf(answers) {
  const reasons = {};
  for (const { ok, reason } of answers) if (!ok) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return reasons;
}

function checkBlock(block, answers, what) {
  const good = count(answers, ({ ok }) => ok);
  assert.equal(block.calls, answers.length, `${what}: calls`);
  assert.equal(block.attempts, answers.reduce((sum, { attempts }) => sum + attempts, 0), `${what}: attempts`);
  assert.equal(block.endedWell.first, count(answers, ({ ok, attempts }) => ok && attempts === 1), `${what}: first`);
  assert.equal(block.endedWell.retried, count(answers, ({ ok, attempts }) => ok && attempts > 1), `${what}: retried`);
  assert.equal(block.deadLetters.written, count(answers, ({ deadLetterId }) => deadLetterId), `${what}: letters`);
  const maybe = ({ tool, ok, executed }) => tool === 'charge' && !ok && executed === 'maybe';
  assert.equal(block.maybeExecuted, count(answers, maybe), `${what}: maybe`);
  const ended = Object.fromEntries(Object.entries(block.faults).map(([name, { ended }]) => [name, ended]));
  const told = Object.fromEntries(Object.entries(ended).filter(([, n]) => n > 0));
  assert.deepEqual(told, reasonsOf(answers), `${what}: faults`);
  const recovered = Object.values(block.faults).reduce((sum, fault) => sum + fault.recovered, 0);
  assert.equal(recovered, block.endedWell.retried, `${what}: each call that was tried again got over one first fault`);

  // A call may make up for others before it, that its model was told to correct.
  const helped = block.corrections.feedback?.helped ?? 0;
  assert.equal(block.steps, answers.length - block.correctedTries, `${what}: steps`);
  assert.ok(Math.abs(block.rates.with - good / block.steps) < 1e-6, `${what}: the rate with`);
  const alone = (block.endedWell.first - helped) / block.steps;
  assert.ok(Math.abs(block.rates.without - alone) < 1e-6, `${what}: the rate without`);
}

await test('a report counts what clients were told and servers did', async ({ defer, comment }) => {
  const server = await startChaos({ defer, args: ['--fault', faults, '--seed', '7'] });
  const config = { mcpServers: { s: { url: server.url } }, policies: { default: policy } };
  const gateway = await serve(config, { defer, comment });
  const client = await connectHttp('sdk 2', gateway.url(), { defer });
  const answers = await callAll(client);
  await gateway.stop(); // what was not handed to the store yet is, now

  const told = JSON.parse(report(gateway.dir, '--json', '--price', '10'));
  checkBlock(told, answers, 'all');
  checkBlock(told.servers[0], answers, 'the server');
  assert.deepEqual(told.tools.map(({ tool }) => tool).sort(), TOOLS);
  for (const block of told.tools) checkBlock(block, answers.filter(({ tool }) => tool === block.tool), block.tool);

  // What the server ran: no less than what went well, and no more than was tried.
  const ran = ledgerCounts(server.ledger);
  const executions = [...ran.values()].reduce((sum, n) => sum + n, 0);
  assert.ok(executions <= told.attempts, `${executions} executions, ${told.attempts} attempts`);
  for (const { tool, key, ok } of answers) if (ok) assert.ok(ran.get(`${tool} ${key}`) >= 1, `${tool} ${key} ran`);
  for (const { tool, key } of answers) if (tool === 'charge') assert.ok((ran.get(`${tool} ${key}`) ?? 0) <= 1, key);

  const classes = Object.values(told.classes);
  const failed = count(answers, ({ ok }) => !ok);
  assert.equal(classes.reduce((sum, { reachedAgent }) => sum + reachedAgent, 0), failed - told.correctedTries);
  assert.equal(told.classes.business.happened, reasonsOf(answers).tool_error);
  assert.equal(told.classes.schema.happened, reasonsOf(answers).rejected);
  const [, , , twenty] = told.chains;
  assert.ok(Math.abs(twenty.with - told.rates.with ** 20) < 1e-4);
  assert.ok(twenty.with > twenty.without, 'trying again is worth something');
  const { saved, failed: spent } = told.tokens;
  assert.ok(saved.tokens >= 72 * told.endedWell.retried && spent.tokens >= 12 * failed, 'tokens');
  assert.ok(Math.abs(saved.dollarsPerMonth - (saved.perMonth / 1e6) * 10) < 0.01);
  assert.ok(told.tools.every(({ fix }) => fix?.id), 'each tool has something worth mending');
  for (const seen of ['first', 'retried']) assert.ok(told.endedWell[seen] > 0, `no call ended as ${seen}`);
  assert.ok(told.deadLettersWaiting > 0 && told.maybeExecuted > 0, 'no letters');

  const page = path.join(gateway.dir, 'report.html');
  assert.equal(report(gateway.dir, '--html', page), '');
  const html = fs.readFileSync(page, 'utf8');
  assert.match(html, /^<!doctype html>.*s<wbr>__charge.*<\/html>\n$/s);
  assert.doesNotMatch(html, /<script|https?:|src=|@import/);
  const link = path.join(gateway.dir, 'link.html');
  fs.symlinkSync('target.html', link);
  report(gateway.dir, '--html', link);
  assert.ok(fs.lstatSync(link).isSymbolicLink(), 'a link stays one');
  assert.equal(report(gateway.dir, '--html', '-').length, fs.readFileSync(link, 'utf8').length);
  assert.deepEqual(fs.readdirSync(gateway.dir).filter((name) => name.endsWith('.part')), []);
  assert.throws(() => report(gateway.dir, '--html', path.join(gateway.dir, 'nowhere/report.html')), { status: 1 });
  assert.match(report(gateway.dir), /ENDS WELL.*20 steps in a row.*WENT WRONG.*TOKENS.*s__charge.*MOST WORTH MENDING/s);
}, { timeoutMs: 60000 });

await test('what does not fit, what is made up, and what makes up for it', async ({ defer, comment }) => {
  const server = await startChaos({ defer });
  const gateway = await serve({ mcpServers: { s: { url: server.url } } }, { defer, comment });
  const client = await connectHttp('sdk 2', gateway.url(), { defer });
  const call = (name, args) => client.callTool({ name, arguments: args }).catch((error) => ({ error }));
  await call('s__read', { key: 5 });
  await call('s__read', { key: [6] });
  await call('s__read', { key: 'right' });
  await call('s__put', { key: 7 });
  await call('s__raed', { key: 'x' });
  const soon = Date.now() + 5000; // a running gateway is asked for its counts, and need not be waited for
  while (JSON.parse(report(gateway.dir, '--json')).calls < 5) assert.ok(Date.now() < soon, 'the counts come late');
  await gateway.stop();
  const told = JSON.parse(report(gateway.dir, '--json'));
  assert.equal(told.calls, 5);
  assert.deepEqual(told.misfits, { schema: 3, tool: 1 });
  assert.equal(told.correctedTries, 2);
  assert.equal(told.steps, 3);
  assert.equal(told.classes.schema.happened, 3);
  assert.equal(told.classes.schema.putRight, 2);
  assert.equal(told.classes.hallucinated.reachedAgent, 1);
  assert.equal(told.rates.without, 0);
  assert.ok(Math.abs(told.rates.with - 1 / 3) < 1e-6);
  assert.ok(told.tokens.feedback.tokens > 100 && told.tokens.failed.tokens > told.tokens.feedback.tokens);
  const read = told.tools.find(({ tool }) => tool === 'read');
  assert.deepEqual(read.misfitsAt, { '/key': 2 });
  assert.equal(read.fix.id, 'argument');
  assert.equal(read.fix.at, '/key');
  assert.equal(read.rates.with, 1);
  assert.ok(told.tools.some(({ server, tool }) => server === '_unknown' && tool === '_unknown'));
}, { timeoutMs: 20000 });

await test('what is repaired, what another provider answers, and what stands in', async ({ defer, comment }) => {
  const dir = scratch(defer);
  const inputSchema = { type: 'object', properties: { limit: { type: 'integer' } }, required: ['limit'] };
  const tools = { find: { description: 'Finds.', text: 'found', annotations: { readOnlyHint: true }, inputSchema } };
  const file = path.join(dir, 'chaos.json');
  fs.writeFileSync(file, JSON.stringify({ tools }));
  const server = (...args) => ({ command: binary, args: ['chaos', '--config', file, '--stdio', ...args] });
  const config = {
    mcpServers: { good: server(), bad: server('--fault', 'rpc:-32603=100%') },
    tools: {
      'good__find': { safety: 'read_only', repair: { names: true } },
      'bad__find': { safety: 'read_only', default: { text: 'nothing' } },
    },
    routes: { find: { providers: [{ tool: 'bad__find' }, { tool: 'good__find' }] } },
    policies: { default: { retry: { attempts: 1 } } },
  };
  const gateway = await serve(config, { defer, comment });
  const client = await connectHttp('sdk 2', gateway.url(), { defer });
  const call = (name, limit) => client.callTool({ name, arguments: { limit } });
  await call('good__find', '5');
  await call('good__find', 6);
  await call('find', 7);
  await call('bad__find', 8);
  await call('good__Find', 9);
  await gateway.stop();
  const told = JSON.parse(report(gateway.dir, '--json'));
  assert.deepEqual(told.repairs, { number_from_text: 1 });
  assert.deepEqual(told.endedWell, { first: 1, retried: 0, fellBack: 1, repaired: 2, cached: 0, checked: 0 });
  assert.equal(told.renamedTools, 1);
  assert.deepEqual(told.classes.hallucinated, { happened: 1, putRight: 1, reachedAgent: 0 });
  assert.deepEqual(told.stoodIn, { earlierAnswer: 0, default: 1 });
  assert.deepEqual(told.faults, { rpc_error: { ended: 1, recovered: 1 } });
  assert.deepEqual(told.classes.schema, { happened: 1, putRight: 1, reachedAgent: 0 });
  assert.deepEqual(told.rates, { without: 0.2, with: 0.8, withStandIns: 1 });
  assert.ok(told.tokens.saved.tokens > 3 * 72); // the one that was repaired, the route's, and the one with a stand-in
  assert.equal(told.tokens.failed.tokens, 0);
}, { timeoutMs: 20000 });

await test('a gateway without a call has nothing to report', async ({ defer, comment }) => {
  const gateway = await serve({ mcpServers: {} }, { defer, comment });
  await gateway.stop();
  const told = JSON.parse(report(gateway.dir, '--json'));
  assert.equal(told.calls, 0);
  assert.equal(told.rates.with, null);
  assert.deepEqual(told.tools, []);
  assert.match(report(gateway.dir), /: 0 calls/);
});
done();
