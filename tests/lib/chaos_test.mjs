// Checks the faulty server itself, on bare sockets and pipes: a fault that does not happen proves nothing.
// node chaos_test.mjs CHAOS
import { spawn } from 'node:child_process';
import net from 'node:net';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const chaos = process.argv[2];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'chaos-'));
const ledger = path.join(dir, 'ledger');
let count = 0;
let failed = 0;

function check(name, good, detail) {
  count++;
  failed += good ? 0 : 1;
  console.log(`${good ? 'ok' : 'not ok'} ${count} - chaos: ${name}`);
  if (!good) console.log(`# ${JSON.stringify(detail)}`);
}

function ledgerLines() {
  return fs.existsSync(ledger) ? fs.readFileSync(ledger, 'utf8').split('\n').filter(Boolean) : [];
}

const charges = () => ledgerLines().filter((line) => line.startsWith('charge '));

function startHttp(...args) {
  const child = spawn(chaos, ['--http', '0', '--ledger', ledger, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  return new Promise((resolve) => child.stdout.once('data', (text) => resolve({ child, port: Number(text) })));
}

function post(body, headers = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const lines = Object.entries({ Accept: 'application/json, text/event-stream', ...headers });
  return `POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n${lines
    .map(([k, v]) => `${k}: ${v}\r\n`)
    .join('')}\r\n${text}`;
}

// Sends, reads until the peer ends or is silent for `quiet` milliseconds.
function exchange(port, bytes, quiet = 150) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let text = '';
    let timer = setTimeout(() => done('open'), quiet);
    const done = (end) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text, end });
    };
    socket.on('data', (data) => {
      text += data;
      clearTimeout(timer);
      timer = setTimeout(() => done('open'), quiet);
    });
    socket.on('end', () => done('closed'));
    socket.on('error', (error) => done(error.code === 'ECONNRESET' ? 'reset' : error.code));
    socket.write(bytes);
  });
}

const call = (name, args, id = 7, meta) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args, ...(meta ? { _meta: meta } : {}) },
});

async function session(port) {
  const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } };
  const { text } = await exchange(port, post(hello, { Connection: 'close' }));
  return /Mcp-Session-Id: (\w+)/.exec(text)?.[1];
}

async function testHttpFaults() {
  const { child, port } = await startHttp();
  const id = await session(port);
  check('initialize hands out a session', id?.length === 32, id);
  // fault, how the connection ends, what the answer looks like, executions
  const rows = [
    ['none', 'open', /^HTTP\/1\.1 200 OK.*charge k #1/s, 1],
    ['reset', 'reset', /^$/, 0],
    ['execdrop', 'reset', /^$/, 1],
    ['close', 'closed', /^$/, 0],
    ['exec+close', 'closed', /^$/, 1],
    ['stall', 'open', /^$/, 0],
    ['cut:0', 'reset', /^$/, 1],
    ['cut:9', 'reset', /^HTTP\/1\.1 $/, 1],
    ['cut_close:5', 'closed', /^HTTP\/$/, 1],
    ['stall_after:5', 'open', /^HTTP\/$/, 1],
    ['truncated', 'closed', /\}$/, 1],
    ['chunked:3', 'open', /\r\n3\r\n\{"j\r\n/, 1],
    ['chunk_bad', 'open', /\r\nzz\r\n/, 1],
    ['chunk_cut', 'closed', /chunked\r\n\r\n/, 1],
    ['garbage', 'open', /"cont\x01$/, 1],
    ['html', 'open', /text\/html.*<html>/s, 1],
    ['empty', 'open', /Content-Length: 0\r\n\r\n$/, 1],
    ['wrong_id', 'open', /"id":979,/, 1],
    ['string_id', 'open', /"id":"7",/, 1],
    ['neither', 'open', /"id":7\}$/, 1],
    ['both', 'open', /"result".*"error"/, 1],
    ['array', 'open', /\r\n\r\n\[/, 1],
    ['status:429/2', 'open', /^HTTP\/1\.1 429 .*Retry-After: 2\r\n/s, 0],
    ['429:2', 'open', /^HTTP\/1\.1 429 .*Retry-After: 2\r\n/s, 0],
    ['503:date+5', 'open', /^HTTP\/1\.1 503 .*Retry-After: \w+, \d+ \w+ \d+ .* GMT\r\n/s, 0],
    ['exec+500', 'open', /^HTTP\/1\.1 500 /, 1],
    ['rpc:-32603', 'open', /"error":\{"code":-32603/, 0],
    ['iserror:boom', 'open', /"isError":true.*boom/, 1],
    ['slow:1', 'open', /charge k #\d+/, 1],
    ['delay:50', 'open', /charge k #\d+/, 1],
    ['sse', 'open', /event: message\ndata: \{.*\}\n\n\r\n0\r\n\r\n$/s, 1],
    ['sse:crlf', 'open', /event: message\r\ndata: \{.*\}\r\n\r\n\r\n0\r\n/s, 1],
    ['sse:cr', 'open', /event: message\rdata: \{[^\n]*\}\r\r\r\n0\r\n/s, 1],
    ['sse:multi', 'open', /data: \{"jsonrpc":"2.0",\ndata: "id":7,\n/, 1],
    ['sse:bom', 'open', /\n\uFEFFevent: message\n/, 1],
    ['sse:no_answer', 'open', /notifications\/message.*\r\n0\r\n\r\n$/s, 1],
    ['sse:no_final', 'open', /data: \{.*\}\n\r\n0\r\n\r\n$/s, 1],
    ['sse:reset', 'reset', /notifications\/message/, 1],
    ['sse:open', 'open', /"id":7,"result".*\n\n\r\n$/s, 1],
  ];
  for (const [fault, end, answer, executed] of rows) {
    const before = charges().length;
    const got = await exchange(port, post(call('charge', { key: 'k', _fault: fault }), { 'Mcp-Session-Id': id }));
    const times = charges().length - before;
    // After bytes that were read, a reset may be reported as a mere end.
    const ended = got.end === end || (end === 'reset' && got.text !== '' && got.end === 'closed');
    check(`http ${fault}`, ended && answer.test(got.text) && times === executed, { got, times });
  }
  const lost = call('charge', { key: 'k', _fault: 'session:404' });
  const first = await exchange(port, post(lost, { 'Mcp-Session-Id': id }));
  const second = await exchange(port, post(call('read', {}), { 'Mcp-Session-Id': id }));
  check('http session lost', /^HTTP\/1\.1 404/.test(first.text) && /^HTTP\/1\.1 404/.test(second.text), { first, second });
  child.kill();
}

async function testHttpStages() {
  const script = path.join(dir, 'script');
  fs.writeFileSync(script, '# at the door\naccept close_accept\naccept reset_accept\naccept reset_unread\ninitialize 503:1*2\n');
  const { child, port } = await startHttp('--script', script);
  const hello = post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }, { Connection: 'close' });
  const ends = [];
  for (let i = 0; i < 6; i++) ends.push(await exchange(port, hello));
  const shapes = ends.map((e) => e.text.slice(0, 12) || e.end);
  check('http script', shapes.slice(1).join() === 'reset,reset,HTTP/1.1 503,HTTP/1.1 503,HTTP/1.1 200', shapes);
  const id = /Mcp-Session-Id: (\w+)/.exec(ends[5].text)[1];
  await exchange(port, post(call('charge', { key: 'r', _fault: 'exec+refuse:200' }), { 'Mcp-Session-Id': id }));
  const refused = await exchange(port, hello);
  const again = await new Promise((resolve) => {
    const attempt = async () => {
      const got = await exchange(port, hello);
      got.end === 'ECONNREFUSED' ? setImmediate(attempt) : resolve(got);
    };
    attempt();
  });
  check('http refuse and back', refused.end === 'ECONNREFUSED' && again.text.startsWith('HTTP/1.1 200'), { refused, again });
  check('http refuse executed', ledgerLines().some((line) => line.startsWith('charge r ')), ledgerLines());
  child.kill();
}

async function testWarmConnection() {
  const { child, port } = await startHttp('--no-sessions');
  const bytes = post(call('charge', { key: 'warm' }, 1)) + post(call('charge', { key: 'warm', _fault: 'exec+close' }, 2));
  const { text, end } = await exchange(port, bytes);
  const times = ledgerLines().filter((line) => line.startsWith('charge warm ')).length;
  check('http warm connection executes and closes', end === 'closed' && text.split('HTTP/1.1').length === 2 && times === 2, {
    text,
    end,
    times,
  });
  child.kill();
}

async function testModern() {
  const { child, port } = await startHttp('--era', 'modern');
  const meta = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {} };
  const headers = { 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'slow', Connection: 'close' };
  const slow = call('slow', { steps: 2, ms: 5, key: 'm' }, 'x', { ...meta, progressToken: 't' });
  const good = await exchange(port, post(slow, headers));
  check('modern call with progress', good.text.split('notifications/progress').length === 3 && /"id":"x","result":\{"resultType":"complete"/.test(good.text), good);
  const bad = await exchange(port, post(slow, { ...headers, 'Mcp-Name': 'other' }));
  check('modern header mismatch', /^HTTP\/1\.1 400.*-32020/s.test(bad.text), bad);
  const old = await exchange(port, post({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }));
  check('modern server refuses initialize', /^HTTP\/1\.1 404.*-32601/s.test(old.text), old);
  child.kill();
}

async function testRates() {
  const counts = [];
  for (let run = 0; run < 2; run++) {
    const { child, port } = await startHttp('--no-sessions', '--seed', '42', '--fault', '503=0.2,iserror=0.3');
    let shape = '';
    for (let i = 0; i < 60; i++) {
      const { text } = await exchange(port, post(call('read', {}), { Connection: 'close' }));
      shape += /^HTTP\/1\.1 503/.test(text) ? '5' : /isError/.test(text) ? 'e' : '.';
    }
    counts.push(shape);
    child.kill();
  }
  check('the same seed gives the same faults', counts[0] === counts[1] && /5/.test(counts[0]) && /e/.test(counts[0]), counts);
}

// Feeds lines, collects output and the exit.
function pipe(args, input, keepOpen) {
  const child = spawn(chaos, ['--stdio', '--ledger', ledger, ...args], { stdio: ['pipe', 'pipe', 'ignore'] });
  return new Promise((resolve) => {
    let text = '';
    child.stdout.setEncoding('latin1');
    child.stdout.on('data', (data) => {
      text += data;
      if (keepOpen && text.endsWith(keepOpen)) child.kill();
    });
    child.on('close', (code, signal) => resolve({ text, code, signal }));
    child.stdin.on('error', () => {});
    child.stdin.write(input.map((message) => `${JSON.stringify(message)}\n`).join(''));
    if (!keepOpen) child.stdin.end();
  });
}

async function testPipe() {
  const rows = [
    ['none', /^\{.*"id":7,.*\}\n$/, 0],
    ['noise:banner', /^Starting.*\nReady\.\n\{.*\}\n$/s, 0],
    ['noise:blank', /^\n\n {3}\n\r\n\{.*\}\n\n$/s, 0],
    ['noise:crlf', /\}\r\n$/, 0],
    ['noise:bom', /^\xEF\xBB\xBF\{/, 0],
    ['noise:two', /"data":1\}\}\{"jsonrpc"/, 0],
    ['noise:values', /^\[1,2\]\n"text"\n/, 0],
    ['noise:70000', /^#{70000}\n\{/, 0],
    ['slow:1', /^\{.*"id":7,.*\}\n$/, 0],
    ['cut:10', /^\{"jsonrpc"$/, 1],
    ['exec+death:3', /^$/, 3],
    ['html', /^<html>.*\n$/, 0],
    ['status:503', /"error":\{"code":-32000/, 0],
    ['delay:20', /"id":7/, 0],
  ];
  for (const [fault, output, code] of rows) {
    const got = await pipe([], [call('charge', { key: 'p', _fault: fault })]);
    check(`stdio ${fault}`, output.test(got.text) && got.code === code, got);
  }
  const killed = await pipe([], [call('charge', { _fault: 'kill' })]);
  check('stdio kill', killed.signal === 'SIGKILL', killed);
  const once = await pipe([], [call('read', { key: 'o', _fault: 'rpc:-1*1' }), call('read', { key: 'o', _fault: 'rpc:-1*1' }, 8)]);
  check('a fault with *1 happens once per key', /-1,.*\n.*"id":8,"result"/s.test(once.text), once);
  const exits = await pipe(['--exit', '4'], []);
  check('stdio --exit', exits.code === 4, exits);
  const noisy = await pipe(['--echo-noise'], [call('read', {}), call('read', {}, 8)]);
  check('stdio --echo-noise', noisy.text.split('log: got a line').length === 3, noisy);
  const big = await pipe([], [call('big', { bytes: 3000000 })]);
  check('stdio big', big.text.length > 3000000 && big.code === 0, big.text.length);
}

// Keys, and questions about what ran, as one asks after a lost answer: also of a server that died in between.
async function testMemory() {
  const pay = (token, id, more = {}) => call('pay', { client_token: token, key: 'm', ...more }, id);
  const first = await pipe([], [pay('t1', 1), pay('t1', 2), pay('t2', 3), pay('t1', 4, { text: 'x' }), call('pay', {}, 5)]);
  const dies = path.join(dir, 'dies');
  fs.writeFileSync(dies, 'tools/call exec+death\n');
  await pipe(['--script', dies], [pay('t3', 6)]);
  const again = await pipe([], [pay('t3', 7), pay('t1', 8)]);
  const texts = (first.text + again.text).split('\n').map((line) => /pay m? ?#(\d+)|error.*other arguments/.exec(line)?.[1] ?? line);
  const keys = ledgerLines().filter((line) => line.startsWith('pay ')).map((line) => line.split(' ')[1]);
  check('a key runs a tool once', keys.join() === 't1,t2,-,t3' && texts[0] === texts[1] && texts[0] !== texts[2], { keys, texts });
  check('a key belongs to its arguments', /"id":4,"error".*other arguments/.test(first.text), first);
  check('a key outlives the server', Number(texts[5]) === Number(texts[4]) + 1 && texts[6] === texts[0], texts);

  const { child, port } = await startHttp('--no-sessions');
  const ask = async (name, args) => (await exchange(port, post(call(name, args), { Connection: 'close' }))).text;
  const told = async (args) => /"happened":\w+,"count":\d+/.exec(await ask('charged', args))[0];
  check('nothing is told of what did not run', (await told({ key: 'q', text: 'a' })) === '"happened":false,"count":0');
  await ask('charge', { key: 'q', text: 'a', _fault: 'execdrop' });
  await ask('charge', { key: 'q', text: 'b', _fault: 'drop' });
  const answers = [await told({ text: 'a' }), await told({ key: 'q', text: 'a' }), await told({ key: 'q', text: 'b' })];
  check('what ran is told by its arguments', answers.join(' ') === '"happened":true,"count":1 "happened":true,"count":1 "happened":false,"count":0', answers);
  const late = await exchange(port, post(call('charge', { key: 'late', _fault: 'late:60' })));
  const before = ledgerLines().filter((line) => line.startsWith('charge late ')).length;
  while ((await told({ key: 'late' })) === '"happened":false,"count":0');
  check('a late tool runs after its caller has gone', late.end === 'reset' && before === 0, { late, before });
  child.kill();
}

// The proxies: before a server over HTTP, and over HTTP before a child. What a fault is told about, the server ran or did not.
async function testProxies() {
  const server = await startHttp();
  const proxyLedger = path.join(dir, 'proxy');
  const script = path.join(dir, 'proxied');
  const start = async (faults, ...args) => {
    fs.writeFileSync(script, faults.map((fault) => `tools/call ${fault}\n`).join(''));
    const child = spawn(chaos, ['--http', '0', '--script', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    const port = await new Promise((resolve) => child.stdout.once('data', (text) => resolve(Number(text))));
    return { child, port };
  };
  // fault, how the connection ends, what the answer looks like, executions by the server
  const rows = [
    ['none', /^HTTP\/1\.1 200 OK.*charge k #\d+"/s, 1],
    ['exec+reset', /^$/, 1],
    ['reset', /^$/, 0],
    ['close', /^$/, 0],
    ['cut:9', /^HTTP\/1\.1 $/, 1],
    ['slow:1', /charge k #\d+"/, 1],
    ['delay:30', /charge k #\d+"/, 1],
    ['truncated', /Content-Length.*charge k #/s, 1],
    ['garbage', /"id":7,"result":\{"cont\x01$/, 1],
    ['wrong_id', /"id":979,.*charge k #/s, 1],
    ['exec+429:2', /^HTTP\/1\.1 429 .*Retry-After: 2\r\n/s, 1],
    ['503', /^HTTP\/1\.1 503 /, 0],
    ['exec+rpc:-32603', /"id":7,"error":\{"code":-32603/, 1],
    ['iserror:boom', /"isError":true.*boom/, 1],
    ['sse:multi', /event: message\ndata: \{"jsonrpc":"2.0",\ndata: "id":7,/, 1],
    ['late:40', /^$/, 1],
    ['session', /^HTTP\/1\.1 404 /, 0],
  ];
  const backs = {
    url: ['--url', `http://127.0.0.1:${server.port}/mcp`],
    child: ['--', chaos, '--stdio', '--ledger', ledger],
  };
  for (const [kind, back] of Object.entries(backs)) {
    const used = kind === 'child' ? rows.filter(([fault]) => !fault.startsWith('late')) : rows;
    const { child, port } = await start(used.map(([fault]) => fault), '--ledger', proxyLedger, ...back);
    const id = await session(port);
    check(`proxy ${kind}: a session`, /^[0-9a-f]{32}$/.test(id), id);
    for (const [fault, answer, executed] of used) {
      const before = charges().length;
      const got = await exchange(port, post(call('charge', { key: 'k' }), { 'Mcp-Session-Id': id }));
      while (fault.startsWith('late') && charges().length === before) await new Promise(setImmediate);
      const times = charges().length - before;
      check(`proxy ${kind} ${fault}`, answer.test(got.text) && times === executed, { got, times });
    }
    const lost = await exchange(port, post(call('read', {}), { 'Mcp-Session-Id': id }));
    check(`proxy ${kind}: a lost session stays lost`, /^HTTP\/1\.1 404 /.test(lost.text), lost);
    const again = await session(port);
    const list = await exchange(port, post({ jsonrpc: '2.0', id: 'l', method: 'tools/list' }, { 'Mcp-Session-Id': again }));
    check(`proxy ${kind}: what no fault meets passes`, /"id":"l","result":\{"tools":\[/.test(list.text), list);
    const slow = call('slow', { steps: 2, ms: 5 }, 'x', { progressToken: 't' });
    const progress = await exchange(port, post(slow, { 'Mcp-Session-Id': again }));
    const parts = progress.text.split('notifications/progress').length;
    check(`proxy ${kind}: progress`, parts === 3 && /"id":"x","result"/.test(progress.text), progress);
    const gone = await exchange(port, post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }, { 'Mcp-Session-Id': again }));
    check(`proxy ${kind}: a notification`, /^HTTP\/1\.1 202 /.test(gone.text), gone);
    child.kill();
  }
  const recorded = fs.readFileSync(proxyLedger, 'utf8').split('\n').filter((line) => line.startsWith('charge k ')).length;
  const handed = rows.reduce((sum, [fault, , executed]) => sum + executed * (fault.startsWith('late') ? 0 : 2), 0);
  check('proxies write down what they hand over', recorded === handed, { recorded, handed });

  const drifting = await start([], '--fault', 'drift=1', ...backs.url);
  const id = await session(drifting.port);
  const drift = await exchange(drifting.port, post({ jsonrpc: '2.0', id: 2, method: 'tools/list' }, { 'Mcp-Session-Id': id }));
  check('proxy url: a schema drifts', /"required":\["drift_1"\]/.test(drift.text), drift);
  drifting.child.kill();
  server.child.kill();
  await new Promise((resolve) => server.child.once('exit', resolve));
  const orphan = await start([], ...backs.url);
  const dead = await exchange(orphan.port, post(call('read', {})));
  check('proxy url: a server that is gone', dead.end === 'reset' && dead.text === '', dead);
  orphan.child.kill();
  const dying = await start(['death:7'], ...backs.child);
  const session7 = await session(dying.port);
  const code = new Promise((resolve) => dying.child.once('exit', resolve));
  await exchange(dying.port, post(call('charge', {}), { 'Mcp-Session-Id': session7 }));
  check('proxy child: death', (await code) === 7);
  const ended = spawn(chaos, ['--http', '0', '--', 'sh', '-c', 'exit 5'], { stdio: 'ignore' });
  check('proxy child: ends with its server', (await new Promise((resolve) => ended.once('exit', resolve))) === 5);
}

await testHttpFaults();
await testProxies();
await testMemory();
await testHttpStages();
await testWarmConnection();
await testModern();
await testRates();
await testPipe();
fs.rmSync(dir, { recursive: true });
console.log(`1..${count}`);
process.exitCode = failed ? 1 : 0;
