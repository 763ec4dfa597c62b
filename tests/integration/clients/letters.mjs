// Dead letters on the command line: what `holdfast dlq`, `explain` and `status` show and do, with and without a gateway.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { done, test } from '../../lib/tap.mjs';
import {
  binary,
  chaos,
  checkSanitizers,
  collect,
  ended,
  eventually,
  executions,
  scratch,
  serve,
  writeConfig,
} from '../../lib/gateway.mjs';

const HOUR = 3600 * 1000;
const columns = ['ID', 'WHEN', 'TOOL', 'PROVIDER', 'CLASS', 'EXECUTED', 'COUNT', 'STATUS'];

function start(dir, words, { env = {}, input, stdin = input === undefined ? 'ignore' : 'pipe' } = {}) {
  const child = spawn(binary, words, {
    stdio: [stdin, 'pipe', 'pipe'],
    env: { ...process.env, TZ: 'UTC', COLUMNS: '', XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir, HOME: dir, ...env },
    cwd: dir,
  });
  if (input !== undefined) child.stdin.end(input);
  return { child, out: collect(child.stdout), err: collect(child.stderr) };
}

// Runs it to its end, which must be with `code` (null: any).
async function run(dir, words, { code = 0, ...options } = {}) {
  const { child, out, err } = start(dir, words, options);
  const got = await ended(child);
  await Promise.all([out.end, err.end]);
  checkSanitizers(err.text);
  if (code !== null) assert.strictEqual(got, code, `${words.join(' ')}: ${out.text}${err.text}`);
  return { out: out.text, err: err.text, json: () => JSON.parse(out.text), lines: () => out.text.trim().split('\n').filter(Boolean) };
}

let number = 0;

function letter(members = {}) {
  number++;
  const now = Date.now();
  return {
    id: `d-test${number}`,
    call: `c-${number.toString(16)}`,
    principal: 'alice',
    tool: 'shop__charge',
    providers: 'shop',
    class: 'connection_lost',
    end: 'unsafe',
    executed: 'maybe',
    status: 'dead',
    priority: 3,
    firstMs: now - 1000,
    lastMs: now - 1000,
    count: 1,
    replays: 0,
    fingerprint: number.toString(16).padStart(64, '0'),
    arguments: { amount: 5 },
    attempts: [{ at: 12, what: 'failed', why: "attempt 1 at 'shop' failed: connection_lost" }],
    history: [],
    ...members,
  };
}

const lines = (letters) => letters.map((one) => JSON.stringify(one)).join('\n') + '\n';

async function importInto(dir, letters) {
  await run(dir, ['dlq', 'import'], { input: lines(letters) });
}

const list = async (dir, ...words) => (await run(dir, ['dlq', 'list', '--json', ...words])).json().map(({ id }) => id);

await test('a list is a table, the newest first, and says what it does not show', async ({ defer }) => {
  const dir = scratch(defer);
  const now = Date.now();
  await importInto(dir, [
    letter({ id: 'd-old', lastMs: now - 5 * HOUR, tool: 'shop__refund', count: 3 }),
    letter({ id: 'd-new', lastMs: now - HOUR, executed: 'no', class: 'timed_out' }),
    letter({ id: 'd-gone', status: 'discarded' }),
    letter({ id: 'd-odd', status: 'quarantined', tool: 'evil\u001b[2J' }),
  ]);
  const { out } = await run(dir, ['dlq', 'list']);
  const [head, ...rows] = out.split('\n');
  assert.deepStrictEqual(head.trim().split(/\s+/), columns);
  assert.match(rows[0], /^d-new\s+\d\d-\d\d \d\d:\d\d\s+shop__charge\s+shop\s+timed_out\s+no\s+1\s+dead$/);
  assert.match(rows[1], /^d-old .* shop__refund .* 3  dead$/);
  assert.match(out, /Not shown: 1 discarded, 1 quarantined \(--status any shows them\)/);
  const { out: all } = await run(dir, ['dlq', 'list', '--status', 'any']);
  assert.match(all, /evil\?\[2J/); // a tool's name must not steer a terminal
  const { out: narrow } = await run(dir, ['dlq', 'list', '--status', 'any'], { env: { COLUMNS: '76' } });
  for (const line of narrow.trim().split('\n')) assert.ok([...line].length <= 76, line);
  assert.match(narrow, /…/);
  const { out: few } = await run(dir, ['dlq', 'list', '--limit', '1']);
  assert.match(few, /1 of 2 letters; --limit shows more/);
  assert.ok(!few.includes('d-old'));
});

await test('every filter leaves out what it should', async ({ defer }) => {
  const dir = scratch(defer);
  const now = Date.now();
  await importInto(dir, [
    letter({ id: 'd-1', lastMs: now - 1 * HOUR }),
    letter({ id: 'd-2', lastMs: now - 2 * HOUR, tool: 'files__write' }),
    letter({ id: 'd-3', lastMs: now - 3 * HOUR, providers: 'shop, backup' }),
    letter({ id: 'd-4', lastMs: now - 4 * HOUR, class: 'timed_out' }),
    letter({ id: 'd-5', lastMs: now - 5 * HOUR, priority: 1 }),
    letter({ id: 'd-6', lastMs: now - 30 * HOUR, fingerprint: 'ab'.repeat(32) }),
    letter({ id: 'd-7', lastMs: now - 6 * HOUR, status: 'discarded' }),
  ]);
  assert.deepStrictEqual(await list(dir), ['d-1', 'd-2', 'd-3', 'd-4', 'd-5', 'd-6']);
  assert.deepStrictEqual(await list(dir, '--tool', 'files__*'), ['d-2']);
  assert.deepStrictEqual(await list(dir, '--provider', 'backup'), ['d-3']);
  assert.deepStrictEqual(await list(dir, '--class', 'timed_out'), ['d-4']);
  assert.deepStrictEqual(await list(dir, '--priority', '1'), ['d-5']);
  assert.deepStrictEqual(await list(dir, '--fingerprint', 'ABab'), ['d-6']);
  assert.deepStrictEqual(await list(dir, '--since', '150m'), ['d-1', 'd-2']);
  assert.deepStrictEqual(await list(dir, '--until', '24h'), ['d-6']);
  assert.deepStrictEqual(await list(dir, '--until', new Date(now - 10 * HOUR).toISOString().slice(0, 16) + 'Z'), ['d-6']);
  assert.deepStrictEqual(await list(dir, '--status', 'discarded'), ['d-7']);
  assert.deepStrictEqual(await list(dir, '--status', 'any', '--limit', '2'), ['d-1', 'd-2']);
});

await test('what cannot be is told, with what was probably meant', async ({ defer }) => {
  const dir = scratch(defer);
  await importInto(dir, [letter()]);
  const cases = [
    [['dlq'], /dlq list/, 'out'],
    [['dlq', 'lst'], /did you mean 'dlq list'\?/],
    [['dlq', 'list', '--clas', 'x'], /did you mean '--class'\?/],
    [['dlq', 'list', '--class', 'timedout'], /did you mean 'timed_out'\?/],
    [['dlq', 'list', '--status', 'alive'], /none of dead, replaying/],
    [['dlq', 'list', '--since', 'yesterday'], /neither a time ago/],
    [['dlq', 'list', '--since', '1h', '--until', '2h'], /--until is before --since/],
    [['dlq', 'list', '--priority', '9'], /no number from 1 to 5/],
    [['dlq', 'list', '--limit', '0'], /no number from 1 to 10000/],
    [['dlq', 'list', '--fingerprint', 'xyz'], /hexadecimal/],
    [['dlq', 'show'], /argument is missing/],
    [['dlq', 'discard'], /say which letters/],
    [['dlq', 'discard', 'd-1', '--tool', 'x'], /leave out the ids or the filter/],
    [['dlq', 'discard', '--all', '--reason', 'x'.repeat(1001)], /reason is longer/],
    [['dlq', 'replay'], /say which letters/],
    [['dlq', 'replay', '--limit', '3'], /say which letters/],
    [['dlq', 'replay', '--all', '--rate', '5'], /--rate: '5' is none/],
    [['dlq', 'replay', '--all', '--concurrency', '65'], /no number from 1 to 64/],
    [['dlq', 'replay', '--all', '--ramp-up', '5'], /no time such as 30s/],
    [['dlq', 'replay', '--all', '--stop-on', 'often'], /neither a share such as 50%/],
    [['dlq', 'replay', '--all', '--patch', '[1]'], /is a JSON object/],
    [['dlq', 'replay', '--all', '--patch', '{'], /no JSON/],
    [['dlq', 'replay', '--all', '--force-executed', 'yes'], /only `no` can be said/],
    [['dlq', 'replay', '--all', '--reconcile', '--force-executed=no'], /one of the two/],
    [['dlq', 'replay', ...Array.from({ length: 1001 }, (_, i) => `d-${i}`)], /at most 1000 letters are named at once/],
    [['dlq', 'replay', 'd-' + 'x'.repeat(30)], /is no id of a letter/],
    [['explain', 'nonsense'], /no id of a call/],
    [['explain', 't-1a2b'], /is a task; its call is in the log/],
    [['status', '--watch=0.01'], /no number of seconds/],
  ];
  for (const [words, pattern, where = 'err'] of cases) assert.match((await run(dir, words, { code: 2 }))[where], pattern);
});

await test('without a database or a gateway it says so, and what to do', async ({ defer }) => {
  const dir = scratch(defer);
  assert.match((await run(dir, ['dlq', 'list'], { code: 3 })).err, /there is no '.*holdfast\.db'.*--state/);
  assert.match((await run(dir, ['dlq', 'list', '--state', path.join(dir, 'x')], { code: 3 })).err, /x\/holdfast\.db/);
  await importInto(dir, [letter({ id: 'd-1' })]);
  const { err } = await run(dir, ['dlq', 'replay', 'd-1'], { code: 3 });
  assert.match(err, /no gateway answers.*\n.*a running gateway makes them/);
  assert.match((await run(dir, ['explain', 'c-ffffff'], { code: 1 })).err, /nothing is known.*no gateway is running/);
});

await test('a letter is shown whole, in sentences, without its secrets', async ({ defer }) => {
  const dir = scratch(defer);
  const config = writeConfig(dir, { mcpServers: {}, store: { secrets: ['/card/number', 'pin'] } });
  await importInto(dir, [
    letter({
      id: 'd-1',
      key: 'k-77',
      route: 'buy',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      count: 2,
      replays: 1,
      arguments: { amount: 5, api_key: 'canary', card: { number: 'canary', pin: 'canary' } },
      result: { token: 'canary', fine: 1 },
      history: [
        { atMs: 1700000000000, what: 'replay', by: 'bob', call: 'c-9', patch: { card: { number: 'canary' } } },
        { atMs: 1700000001000, what: 'replay_failed', by: 'bob', call: 'c-9', why: 'timed_out' },
      ],
    }),
  ]);
  const { out } = await run(dir, ['dlq', 'show', 'd-1', '--config', config]);
  for (const pattern of [
    /^Letter d-1: dead$/m, /tool\s+shop__charge/, /route\s+buy/, /providers\s+shop/, /connection_lost; the tool may have run/,
    /called by\s+alice, as call c-\w+, priority 3/, /seen\s+2 times, first .*, last /, /replays\s+1/, /key\s+k-77/,
    /trace\s+4bf92f35/, /fingerprint\s+0+/, /"amount":5,"api_key":"\[redacted\]","card":\{"number":"\[redacted\]","pin":"\[redacted\]"\}/,
    /secrets are hidden; --show-secrets/, /\+0\.012 s {2}attempt 1 at 'shop' failed/,
    /2023-11-14 22:13:20 {2}a replay began, by bob, as call c-9\n\s+with the patch \{"card":\{"number":"\[redacted\]"\}\}/,
    /the replay failed, by bob, as call c-9: timed_out/, /What to do\n.*answer was lost/, /--force-executed=no/,
  ]) assert.match(out, pattern);
  assert.ok(!out.includes('canary'), out);
  const { out: whole } = await run(dir, ['dlq', 'show', 'd-1', '--config', config, '--show-secrets']);
  assert.strictEqual(whole.match(/canary/g).length, 5);
  const { out: json } = await run(dir, ['dlq', 'show', 'd-1', '--config', config, '--json']);
  assert.ok(!json.includes('canary'), json);
  assert.strictEqual(JSON.parse(json).arguments.amount, 5);
  assert.strictEqual(JSON.parse(json).redacted, true);
  assert.match((await run(dir, ['dlq', 'show', 'd-1', 'd-2'], { code: 1 })).err, /there is no letter 'd-2'/);
});

await test('letters are discarded and made dead again, with a reason in their history', async ({ defer }) => {
  const dir = scratch(defer);
  await importInto(dir, [letter({ id: 'd-1' }), letter({ id: 'd-2', tool: 'x__y' }), letter({ id: 'd-3', status: 'quarantined' })]);
  assert.match((await run(dir, ['dlq', 'discard', 'd-1', 'd-9', '--reason', 'told Bob'], { code: 1 })).err, /no letter 'd-9'/);
  let shown = (await run(dir, ['dlq', 'show', 'd-1', '--json'])).json();
  assert.strictEqual(shown.status, 'discarded');
  assert.strictEqual(shown.history[0].what, 'discarded');
  assert.strictEqual(shown.history[0].why, 'told Bob');
  assert.ok(shown.history[0].by && Math.abs(shown.history[0].atMs - Date.now()) < 60000);
  assert.deepStrictEqual(await list(dir), ['d-2']);
  assert.deepStrictEqual((await run(dir, ['dlq', 'discard', '--tool', 'x__*', '--json'])).json(), { discarded: 1, failed: 0 });
  assert.match((await run(dir, ['dlq', 'requeue', '--all'])).out, /1 of 1 letter requeued/); // the one that is set aside
  assert.match((await run(dir, ['dlq', 'requeue', 'd-1', '--reason', 'Bob changed his mind'])).out, /1 of 1 letter/);
  assert.deepStrictEqual((await list(dir)).sort(), ['d-1', 'd-3']);
  shown = (await run(dir, ['dlq', 'show', 'd-1', '--json'])).json();
  assert.deepStrictEqual(shown.history.map(({ what }) => what), ['discarded', 'requeued']);
  assert.match((await run(dir, ['dlq', 'discard', '--class', 'conflict'])).out, /No letter matches/);
});

await test('what is exported whole comes back the same; without its secrets it says so', async ({ defer }) => {
  const [dir, other, third] = [scratch(defer), scratch(defer), scratch(defer)];
  const secret = { id: 'd-1', arguments: { n: '1.50', token: 'canary' }, key: 'k', history: [{ atMs: 1, what: 'discarded' }], status: 'discarded' };
  await importInto(dir, [letter(secret), letter({ id: 'd-2', status: 'replaying', executed: 'no', lastMs: Date.now() - HOUR })]);
  const whole = await run(dir, ['dlq', 'export', '--show-secrets']);
  assert.strictEqual(whole.lines().length, 2);
  assert.strictEqual(whole.err, '');
  assert.match((await run(other, ['dlq', 'import'], { input: whole.out })).out, /2 letters imported; 0 were there/);
  assert.strictEqual((await run(other, ['dlq', 'export', '--show-secrets'])).out, whole.out);
  assert.deepStrictEqual((await run(other, ['dlq', 'import', '--json'], { input: whole.out })).json(), { imported: 0, known: 2 });
  const [exported] = whole.lines().map((line) => JSON.parse(line)).filter(({ id }) => id === 'd-2');
  assert.deepStrictEqual([exported.status, exported.executed], ['dead', 'maybe']); // nobody replays it here

  const hidden = await run(dir, ['dlq', 'export', '--status', 'discarded']);
  assert.match(hidden.err, /1 of 1 letters without their secrets.*--patch; --show-secrets exports them whole/);
  assert.ok(!hidden.out.includes('canary'));
  const file = path.join(dir, 'letters');
  fs.writeFileSync(file, hidden.out);
  await run(third, ['dlq', 'import', file]);
  assert.strictEqual((await run(third, ['dlq', 'show', 'd-1', '--json'])).json().redacted, true);
});

await test('an import is whole or not at all, and says which line is wrong', async ({ defer }) => {
  const dir = scratch(defer);
  const bad = [
    [{ id: 'x-1' }, /'id' is none/], [{ status: 'alive' }, /'status'/], [{ executed: 'perhaps' }, /'executed'/],
    [{ fingerprint: 'ab' }, /64 hexadecimal/], [{ count: 0 }, /'count'/], [{ priority: 6 }, /'priority'/],
    [{ tool: undefined }, /'tool' is missing/], [{ attempts: {} }, /'attempts' is no array/], [{ lastMs: 'now' }, /'lastMs'/],
    [{ arguments: [] }, /'arguments' is no object/], [{ principal: 5 }, /'principal' is no string/], [{ redacted: 1 }, /'redacted'/],
    [{ id: "d-';x" }, /'id' is none/], [{ class: 'a\u001b[2J' }, /'class' is none/], [{ call: 'c-1 2' }, /'call'/], [{ traceId: '\n' }, /'traceId'/],
  ];
  for (const [members, pattern] of bad) {
    const { err } = await run(dir, ['dlq', 'import'], { input: lines([letter({ id: 'd-1' }), letter(members)]), code: 1 });
    assert.match(err, /line 2: /);
    assert.match(err, pattern);
  }
  await run(dir, ['dlq', 'import'], { input: '{"id":', code: 1 });
  assert.deepStrictEqual(await list(dir), []);
  await run(dir, ['dlq', 'import', path.join(dir, 'nowhere')], { code: 2 });
});

await test('more letters than are found at once are read all the same, each once', async ({ defer }) => {
  const [dir, other] = [scratch(defer), scratch(defer)];
  const now = Date.now();
  const many = Array.from({ length: 10050 }, (_, i) => letter({ id: `d-${i}`, lastMs: now - Math.floor(i / 100), attempts: [] }));
  await importInto(dir, many);
  const { out } = await run(dir, ['dlq', 'export', '--show-secrets']);
  assert.match((await run(other, ['dlq', 'import'], { input: out })).out, /^10050 letters imported; 0 were/);
  assert.strictEqual((await list(dir)).length, 10050);
  assert.match((await run(dir, ['dlq', 'list'])).out, /50 of at least 10000 letters/);
  assert.strictEqual((await run(dir, ['dlq', 'analyze', '--json'])).json().groups[0].letters, 10050);
  assert.match((await run(dir, ['explain', many[10049].call])).out, /^Letter d-10049/);
  assert.match((await run(dir, ['dlq', 'discard', '--all'])).out, /10050 of 10050 letters discarded/);
}, { timeoutMs: 60000 });

await test('an analysis groups letters, tells where it gets worse, and what to do', async ({ defer }) => {
  const dir = scratch(defer);
  const now = Date.now();
  const at = (ms) => ({ firstMs: now - ms, lastMs: now - ms });
  await importInto(dir, [
    ...Array.from({ length: 11 }, () => letter({ ...at(HOUR) })),
    letter({ ...at(30 * HOUR), class: 'timed_out', executed: 'no' }),
    letter({ ...at(31 * HOUR), class: 'timed_out', status: 'discarded' }),
    letter({ ...at(HOUR), class: 'timed_out' }),
    letter({ ...at(60 * HOUR), class: 'rejected', tool: 'x__y', providers: 'x' }),
    letter({ ...at(HOUR), class: 'rate_limited', count: 10 }),
    letter({ ...at(50 * HOUR), class: 'conflict', tool: 'long'.repeat(100000) }),
  ]);
  const { groups } = (await run(dir, ['dlq', 'analyze', '--json'])).json();
  const of = (name) => groups.find((group) => group.class === name);
  assert.deepStrictEqual([of('connection_lost').lastDay, of('connection_lost').trend, of('connection_lost').systemic], [11, 'new', true]);
  assert.deepStrictEqual([of('timed_out').letters, of('timed_out').waiting, of('timed_out').mayHaveRun], [3, 2, 1]);
  assert.deepStrictEqual([of('timed_out').lastDay, of('timed_out').dayBefore, of('timed_out').trend], [1, 2, 'falling']);
  assert.deepStrictEqual([of('rejected').lastDay, of('rejected').trend, of('rejected').systemic], [0, 'quiet', false]);
  assert.deepStrictEqual([of('rate_limited').lastDay, of('rate_limited').systemic], [10, false]); // not more than 10
  assert.match(of('rate_limited').advice, /--rate/);
  const { out } = await run(dir, ['dlq', 'analyze']);
  assert.match(out, /^TOOL +CLASS +PROVIDER +LETTERS +WAITING +MAY HAVE RUN +LAST 24H +BEFORE +TREND\n/);
  assert.match(out, /Systemic: more than 10 alike in 24 hours\n {2}connection_lost: 11 times shop__charge at shop/);
  assert.match(out, /What to do\n {2}connection_lost: The answer was lost/);
  assert.deepStrictEqual((await run(dir, ['dlq', 'analyze', '--json', '--tool', 'x__*'])).json().groups.map((g) => g.class), ['rejected']);
});

// A gateway before the faulty server, and what can be done with it.
async function shop({ defer, comment }, { tools = {}, ...config } = {}) {
  const ledger = path.join(scratch(defer), 'ledger');
  const gateway = await serve(
    {
      mcpServers: { shop: { command: chaos, args: ['--stdio', '--ledger', ledger] } },
      policies: { default: { retry: { attempts: 1 }, breaker: { failures: 0, rate: '100%', minCalls: 10000 } } },
      tools: { 'shop__*': { deadLetter: 'all', coalesce: '0s' }, ...tools },
      ...config,
    },
    { defer, comment },
  );
  const { dir } = gateway;
  return {
    gateway,
    dir,
    ledger,
    ran: (key) => executions(ledger, 'charge', key),
    dlq: (words, options) => run(dir, ['dlq', ...words], options),
    shown: async (id) => (await run(dir, ['dlq', 'show', id, '--json', '--show-secrets'])).json(),
    async call(tool, args, code = 1) {
      const { json } = await run(dir, ['call', tool, JSON.stringify(args), '--json'], { code });
      return json()._meta['dev.holdfast/outcome'];
    },
  };
}

// Letters of calls that have not run: what a gateway writes when nobody could be asked.
const unsent = (count, args, members = {}) =>
  Array.from({ length: count }, (_, i) =>
    letter({ id: `d-u${i}`, principal: '', executed: 'no', class: 'breaker_open', arguments: { key: `u${i}`, ...args }, ...members }),
  );

async function took(action) {
  const began = Date.now();
  const result = await action();
  return [Date.now() - began, result];
}

await test('a watch tells of letters that come and come back, until it is interrupted', async (t) => {
  const { dir, call } = await shop(t);
  const watch = (...words) => {
    const started = start(dir, ['dlq', 'watch', ...words]);
    t.defer(() => started.child.kill('SIGKILL'));
    return started;
  };
  await call('shop__charge', { key: 'before', _fault: 'exec+close' });
  const [text, json] = [watch(), watch('--json', '--tool', '*charge')];
  await Promise.all([text.err.until(/Watching for letters/), json.err.until(/Watching for letters/)]);
  await call('shop__read', { key: 'r', _fault: 'close' });
  await call('shop__charge', { key: 'a', _fault: 'exec+close' });
  const [, id] = await text.out.until(/(d-\w+) {2}shop__charge at shop: connection_lost, executed: maybe\n/);
  await call('shop__charge', { key: 'a', _fault: 'exec+close' });
  await text.out.until(new RegExp(`${id} .*for the 2\\. time`));
  await json.out.until(/\n.*\n/);
  assert.match(text.out.text, /shop__read at shop/);
  assert.ok(!text.out.text.includes('before'));
  const told = json.out.text.trim().split('\n').map((line) => JSON.parse(line));
  assert.deepStrictEqual(told.map((one) => [one.id, one.count]), [[id, 1], [id, 2]]);
  text.child.kill('SIGINT');
  json.child.kill('SIGTERM');
  assert.deepStrictEqual([await ended(text.child), await ended(json.child)], [0, 0]);
});

await test('what has not run is replayed through the gateway, and what came of it is kept', async (t) => {
  const { dir, dlq, ran, shown } = await shop(t);
  await importInto(dir, [...unsent(3), letter({ id: 'd-other', tool: 'shop__put', executed: 'no', principal: '' })]);
  const dry = await dlq(['replay', '--tool', 'shop__charge', '--dry-run']);
  assert.match(dry.out, /d-u0 {2}shop__charge {2}would be replayed/);
  assert.match(dry.out, /\n3 letters: 3 would be replayed, 0 not\. Nothing has been done\.\n$/);
  assert.deepStrictEqual([ran(), (await shown('d-u0')).status], [0, 'dead']);

  const real = await dlq(['replay', '--tool', 'shop__charge']);
  assert.match(real.out, /d-u\d {2}shop__charge {2}replayed \(call c-\w+\) {2}\[1 of 3\]\n/);
  assert.match(real.out, /\n3 letters: 3 replayed, 0 had run, 0 failed, 0 refused, 0 left\.\n$/);
  for (const i of [0, 1, 2]) assert.strictEqual(ran(`u${i}`), 1);
  const one = await shown('d-u1');
  assert.deepStrictEqual([one.status, one.replays], ['replayed', 1]);
  assert.ok(one.result);
  assert.deepStrictEqual([...new Set(one.history.map(({ by }) => by))], [os.userInfo().username]);
  assert.strictEqual((await shown('d-other')).status, 'dead');
  assert.match((await dlq(['replay', '--tool', 'shop__charge'])).out, /No letter matches/);
});

await test('what may have run is refused, until somebody knows better', async (t) => {
  const { call, dlq, ran, shown } = await shop(t);
  const { deadLetterId: id } = await call('shop__charge', { key: 'a', _fault: 'exec+close' });
  assert.match((await dlq(['replay', id], { code: 1 })).out, /not replayed: it may have run/);
  const json = (await dlq(['replay', '--all', '--json'], { code: 1 })).lines().map((line) => JSON.parse(line));
  assert.deepStrictEqual([json[0].letter, json[0].what], [id, 'refused']);
  assert.deepStrictEqual(json[1], { total: 1, replayed: 0, ran: 0, failed: 0, refused: 1, left: 0 });
  assert.deepStrictEqual([ran('a'), (await shown(id)).status], [1, 'dead']);

  const patched = await dlq(['replay', id, '--force-executed=no', '--patch', '{"_fault":null,"key":"b"}']);
  assert.match(patched.out, /1 letter: 1 replayed/);
  assert.deepStrictEqual([ran('a'), ran('b')], [1, 1]);
  const after = await shown(id);
  assert.deepStrictEqual(after.history[0].patch, { _fault: null, key: 'b' });
  assert.match((await dlq(['show', id])).out, /with the patch \{"_fault":null,"key":"b"\}/);
  const both = await dlq(['replay', id, 'd-nowhere'], { code: 1 });
  assert.match(both.out, /d-nowhere {2}\? {2}not replayed: there is no such letter/);
  assert.match(both.out, /2 letters: 0 replayed, 0 had run, 0 failed, 2 refused, 0 left/);
});

await test('what may have run is replayed where its tool may be repeated, and only there', async (t) => {
  const keyed = { safety: 'keyed', idempotencyKey: { argument: 'client_token', ttl: '1h' } };
  const { dir, dlq, ledger, shown } = await shop(t, {
    tools: { shop__pay: { deadLetter: 'all', coalesce: '0s', ...keyed }, shop__put: { deadLetter: 'all', safety: 'idempotent' } },
  });
  await run(dir, ['call', 'shop__pay', JSON.stringify({ key: 'a', _fault: 'exec+rpc:-32603*1' })], { code: 1 });
  const [id] = await list(dir);
  const hours = (n) => ({ tool: 'shop__pay', firstMs: Date.now() - n * HOUR, key: 'k', arguments: { key: 'b' }, principal: '' });
  const put = { tool: 'shop__put', principal: '', arguments: { key: 'x', value: '1' } };
  await importInto(dir, [
    letter({ id: 'd-old', ...hours(2) }),
    letter({ id: 'd-soon', ...hours(-1) }), // of a clock that is not ours
    letter({ id: 'd-put', ...put }),
    letter({ id: 'd-ran', ...put, executed: 'yes' }),
  ]);
  const dry = await dlq(['replay', '--all', '--dry-run'], { code: 1 });
  assert.match(dry.out, new RegExp(`${id} {2}shop__pay {2}would be replayed: it may be repeated: keyed`));
  assert.match(dry.out, /5 letters: 2 would be replayed, 3 not/);
  const { out } = await dlq(['replay', '--all'], { code: 1 });
  assert.match(out, /d-old {2}shop__pay {2}not replayed: it may have run/);
  assert.match(out, /d-soon {2}shop__pay {2}not replayed: it may have run/);
  assert.match(out, /d-put {2}shop__put {2}replayed: it may be repeated: idempotent \(call/);
  assert.match(out, /d-ran {2}shop__put {2}not replayed: it has run/);
  assert.match(out, /5 letters: 2 replayed, 0 had run, 0 failed, 3 refused, 0 left/);
  const paid = await shown(id);
  assert.deepStrictEqual([paid.status, paid.executed], ['replayed', 'yes']);
  assert.deepStrictEqual([executions(ledger, 'pay', paid.key), executions(ledger, 'pay', 'k')], [1, 0]); // it knew the key
  assert.match((await dlq(['show', id])).out, /a replay began, by .*: it may be repeated: keyed/);
});

await test('a person\'s word holds for a replay that did not run', async (t) => {
  const { gateway, dir, dlq, shown } = await shop(t);
  await importInto(dir, ['d-1', 'd-2'].map((id) => letter({ id, principal: '', arguments: { key: id, _fault: 'rpc:-32602*9' } })));
  const { out } = await dlq(['replay', 'd-1', '--force-executed=no'], { code: 1 });
  assert.match(out, /d-1 {2}shop__charge {2}failed: /);
  const one = await shown('d-1');
  assert.deepStrictEqual([one.status, one.executed, one.history[0].executedBefore], ['dead', 'no', 'maybe']);
  assert.strictEqual((await shown('d-2')).executed, 'maybe');
  await gateway.stop();
});

await test('with --reconcile the status check decides', async (t) => {
  const reconcile = {
    tool: 'shop__charged',
    arguments: { key: '{{key}}' },
    executed: { pointer: '/structuredContent/count', atLeast: 1 },
    notExecuted: { pointer: '/structuredContent/count', equals: 0 },
    settle: '1ms',
  };
  const { dir, dlq, ran, shown, call } = await shop(t, { tools: { shop__charge: { deadLetter: 'all', reconcile } } });
  await call('shop__charge', { key: 'ran' }, 0);
  await importInto(dir, [
    letter({ id: 'd-ran', principal: '', arguments: { key: 'ran' } }),
    letter({ id: 'd-not', principal: '', arguments: { key: 'not' } }),
  ]);
  assert.match((await dlq(['replay', '--all', '--dry-run'], { code: 1 })).out, /2 letters: 0 would be replayed, 2 not/);
  const { out } = await dlq(['replay', '--all', '--reconcile']);
  assert.match(out, /d-ran {2}shop__charge {2}not called: it had run/);
  assert.match(out, /d-not {2}shop__charge {2}replayed/);
  assert.match(out, /2 letters: 1 replayed, 1 had run, 0 failed, 0 refused, 0 left/);
  assert.deepStrictEqual([ran('ran'), ran('not')], [1, 1]);
  assert.strictEqual((await shown('d-ran')).executed, 'yes');
});

await test('rate and concurrency set the pace, a ramp begins below it', async (t) => {
  const { dir, dlq } = await shop(t);
  const replay = async (...words) => {
    await importInto(dir, unsent(4, { _fault: 'delay:300' }).map((one) => ({ ...one, id: `d-v${one.call}` })));
    const [ms, { out }] = await took(() => dlq(['replay', '--all', ...words]));
    assert.match(out, /4 letters: 4 replayed/);
    return ms;
  };
  const alone = await replay();
  const together = await replay('--concurrency', '4');
  assert.ok(alone >= 1200, `${alone} ms`);
  assert.ok(together < alone - 300, `${together} ms of ${alone}`);
  const slowly = await replay('--concurrency', '4', '--rate', '2/s');
  assert.ok(slowly >= 1500, `${slowly} ms`);
  const ramped = await replay('--concurrency', '4', '--rate', '20/s', '--ramp-up', '10s');
  assert.ok(ramped >= 800, `${ramped} ms`);

  // So it is for those that are named, which come in the order of their names on the command line.
  const named = unsent(4, { _fault: 'delay:300' }).map((one, i) => ({ ...one, id: `d-w${i}` }));
  await importInto(dir, named);
  const [ms, { out }] = await took(() => dlq(['replay', 'd-w2', 'd-w0', 'd-w3', 'd-w1', '--concurrency', '4', '--rate', '2/s']));
  assert.ok(ms >= 1500, `${ms} ms`);
  assert.deepStrictEqual([...out.matchAll(/^(d-w\d) .* replayed/gm)].map(([, id]) => id), ['d-w2', 'd-w0', 'd-w3', 'd-w1']);
});

await test('a replay stops when too many fail, or goes on if it is told to', async (t) => {
  const { dir, dlq } = await shop(t);
  await importInto(dir, unsent(14, { _fault: 'rpc:-32602*9' }));
  const stopped = await dlq(['replay', '--all'], { code: 1 });
  assert.match(stopped.err, /stopped: too many of the last letters failed/);
  assert.match(stopped.out, /14 letters: 0 replayed, 0 had run, 10 failed, 0 refused, 4 left/);
  assert.match(stopped.out, /d-u\d+ {2}shop__charge {2}failed: .*rejected/);
  await dlq(['requeue', '--status', 'quarantined']).catch(() => {});
  const ids = Array.from({ length: 14 }, (_, i) => `d-u${i}`);
  const named = await dlq(['replay', ...ids, '--stop-on', '90%'], { code: 1 });
  assert.match(named.out, /14 letters: 0 replayed, 0 had run, 10 failed, 0 refused, 4 left/);
  await dlq(['requeue', '--status', 'quarantined']).catch(() => {});
  const never = await dlq(['replay', '--all', '--stop-on', 'never'], { code: 1 });
  assert.match(never.out, /14 letters: 0 replayed, 0 had run, 14 failed, 0 refused, 0 left/);
  assert.match((await dlq(['replay', '--all', '--stop-on', '90%'], { code: 1 })).err, /stopped: too many/);
});

await test('what a gateway replays just now is left alone', async (t) => {
  const { dir, dlq, shown } = await shop(t);
  await importInto(dir, unsent(1, { _fault: 'delay:2000' }));
  const replay = start(dir, ['dlq', 'replay', 'd-u0']);
  await eventually(async () => (await shown('d-u0')).status === 'replaying', 'the replay');
  for (const command of ['discard', 'requeue'])
    assert.match((await dlq([command, 'd-u0'], { code: 1 })).err, /d-u0 is being replayed by a gateway/);
  assert.match((await dlq(['list'])).out, /Not shown: 1 replaying/);
  assert.strictEqual(await ended(replay.child), 0);
  assert.strictEqual((await shown('d-u0')).status, 'replayed');
});

await test('what a killed gateway left open is listed at once, without another gateway', async (t) => {
  const { gateway, dir, dlq, shown } = await shop(t);
  const lost = start(dir, ['call', 'shop__charge', JSON.stringify({ key: 'a', _fault: 'exec+stall' })]);
  t.defer(() => lost.child.kill('SIGKILL'));
  await eventually(() => executions(path.join(JSON.parse(fs.readFileSync(gateway.file)).mcpServers.shop.args[2]), 'charge', 'a'), 'the call');
  await gateway.stop('SIGKILL');
  const [one] = (await dlq(['list', '--json'])).json();
  assert.deepStrictEqual([one.class, one.executed, one.tool], ['gateway_died', 'maybe', 'shop__charge']);
  const { out } = await dlq(['show', one.id]);
  assert.match(out, /it was being sent to 'shop' when the gateway ended: the tool may have run/);
  assert.match(out, /The gateway ended in the middle/);
  assert.strictEqual((await shown(one.id)).arguments.key, 'a');
});

await test('a call is explained by the gateway, later by its letter', async (t) => {
  const { gateway, dir, call, dlq } = await shop(t);
  const good = await call('shop__charge', { key: 'good' }, 0);
  const bad = await call('shop__charge', { key: 'bad', _fault: 'exec+close' });
  const { out } = await run(dir, ['explain', good.call]);
  assert.match(out, new RegExp(`^Call ${good.call} of 'shop__charge', \\d{4}-`));
  assert.match(out, /\+0\.\d{3} s {2}attempt 1 went to 'shop'/);
  assert.match(out, /It was answered after 1 attempt in \d/);
  const failed = await run(dir, ['explain', bad.call]);
  assert.match(failed.out, /It failed after 1 attempt in .* \(connection_lost\): the tool may have run\./);
  assert.match(failed.out, new RegExp(`holdfast dlq show ${bad.deadLetterId}`));
  const json = (await run(dir, ['explain', bad.call, '--json'])).json();
  assert.deepStrictEqual([json.call, json.fault, json.deadLetterId], [bad.call, 'connection_lost', bad.deadLetterId]);
  assert.match((await run(dir, ['explain', 'c-ffff'], { code: 1 })).err, /limits\.traces/);
  const replayed = await dlq(['replay', bad.deadLetterId, '--force-executed=no', '--patch', '{"_fault":null}']);
  const [, again] = /call (c-\w+)/.exec(replayed.out);
  await gateway.stop();
  assert.match((await run(dir, ['explain', bad.call])).out, new RegExp(`^Letter ${bad.deadLetterId}: replayed`));
  assert.match((await run(dir, ['explain', again])).out, new RegExp(`^Letter ${bad.deadLetterId}`));
  assert.strictEqual((await run(dir, ['explain', bad.call, '--json'])).json().id, bad.deadLetterId);
  assert.match((await run(dir, ['explain', good.call], { code: 1 })).err, /no gateway is running/);
});

await test('a status shows breakers, outages, limits, repeats and letters', async (t) => {
  const policies = { default: { retry: { attempts: 1 }, breaker: { failures: 2, open: '60s' } } };
  const { dir, call } = await shop(t, { policies });
  for (const key of ['a', 'b', 'c']) await call('shop__charge', { key, _fault: 'exec+close' });
  await eventually(async () => (await run(dir, ['status', '--json'])).json().letters.dead === 3, 'the count of letters');
  const { out } = await run(dir, ['status'], { code: null }); // 1 while its child is down
  assert.match(out, /^holdfast \S+: clients \d+, calls in flight 0\n/);
  assert.match(out, /SERVER +STATE +BREAKER +CALLS +QUEUED +REFUSED +REPEATS +TOOLS\n {2}shop +\w+ +closed +0 of 64 +0 +0 +\d+ left +8\n/);
  assert.match(out, /tools that are not called just now\n.*\n {2}charge +shop +open, looks in \d+ s\n/);
  assert.match(out, /recent outages\n.*\n {2}shop +charge +\d+ s ago +\d+ s so far +0\n/);
  assert.match(out, /dead letters: 3 wait, the oldest for \d+ s; 0 being replayed, 0 quarantined/);
  assert.match(out, /cache: 0 answers/);
});

await test('a status fails when a server that should work does not, and says why', async (t) => {
  const mcpServers = { gone: { command: '/nonexistent/server' }, off: { command: '/nonexistent/server', disabled: true } };
  const { dir } = await shop(t, { mcpServers });
  await run(dir, ['call', 'gone__x', '{}'], { code: 1 });
  const { out } = await run(dir, ['status'], { code: 1 });
  assert.match(out, /gone +(down|parked) /);
  assert.match(out, /\n {2}gone: \S/);
  assert.match(out, /off +left out /);
});

await test('a gateway that is stopped is not waited for for ever', async ({ defer }) => {
  const gateway = await serve({ mcpServers: {} }, { defer });
  gateway.child.kill('SIGSTOP');
  const { err } = await run(gateway.dir, ['status'], { code: 3 });
  gateway.child.kill('SIGCONT');
  assert.match(err, /no gateway answers at/);
});

await test('a status is drawn anew on a terminal, and only there, until it is interrupted', async (t) => {
  const { dir } = await shop(t);
  const once = await run(dir, ['status', '--watch', '0.1']);
  assert.strictEqual(once.out.match(/^holdfast /gm).length, 1);
  assert.ok(!once.out.includes('\u001b'));
  const lines = start(dir, ['status', '--watch=0.1', '--json']);
  await lines.out.until(/\n.*\n/);
  lines.child.kill('SIGINT');
  assert.strictEqual(await ended(lines.child), 0);
  for (const line of lines.out.text.trim().split('\n')) assert.ok(JSON.parse(line).servers);

  // `script` lends it a terminal; what is typed there is Ctrl-C.
  const child = spawn('script', ['-qec', `exec '${binary}' status --watch 0.2`, '/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir },
  });
  t.defer(() => child.kill('SIGKILL'));
  const out = collect(child.stdout);
  await out.until(/\u001b\[H\u001b\[2Jholdfast [^]*\u001b\[H\u001b\[2Jholdfast /);
  child.stdin.write('\u0003');
  assert.strictEqual(await ended(child), 0);
});

// Help, completion and manual come from three places; what one knows the others know.
await test('completion and manual know every command and option', async ({ defer }) => {
  const dir = scratch(defer);
  const root = path.resolve(import.meta.dirname, '../../..');
  const manual = ['holdfast.1', 'holdfast-dlq.1'].map((page) => fs.readFileSync(path.join(root, 'man', page), 'utf8')).join('');
  const zsh = fs.readFileSync(path.join(root, 'completion/_holdfast'), 'utf8');
  const complete = (...words) => {
    const script = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast; printf "%s\\n" "${COMPREPLY[@]}"';
    const child = spawn('bash', ['-c', script, path.join(root, 'completion/holdfast.bash'), 'holdfast', ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
    const out = collect(child.stdout);
    return out.end.then(() => out.text.split('\n').filter((word) => word && word !== '--').sort());
  };
  const commands = (text) => [...text.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name).sort();
  const top = commands((await run(dir, ['help'])).out).filter((name) => name !== 'holdfast');
  assert.deepStrictEqual(await complete(''), top);
  const dlq = [...(await run(dir, ['dlq', '--help'])).out.matchAll(/^ {2}holdfast dlq (\w+)/gm)].map(([, name]) => name).sort();
  assert.deepStrictEqual((await complete('dlq', '')).filter((word) => word !== '--help'), dlq);
  for (const command of [...dlq.map((name) => ['dlq', name]), ['status'], ['explain'], ['serve'], ['stdio'], ['wrap']]) {
    const { out } = await run(dir, [...command, '--help']);
    const options = [...out.matchAll(/^ {2}(?:-\w,| {3}) (--[a-z-]+)/gm)].map(([, option]) => option);
    assert.deepStrictEqual(await complete(...command, '--'), [...options].sort(), command.join(' '));
    for (const option of options) {
      assert.match(manual, new RegExp(`(Fl|[a-z] ,) -${option.slice(2)}\\b`), `the manual has no ${option}`);
      assert.ok(zsh.includes(option), `completion of zsh has no ${option}`);
    }
  }
  for (const name of [...top.filter((name) => !['help', 'version'].includes(name)), ...dlq]) {
    assert.match(manual, new RegExp(`(Cm|dlq) (.*[ |])?${name}\\b`), name);
    assert.match(zsh, new RegExp(`'${name}:`), name);
  }
});

await test('an alert reaches a webhook, signed, and a command', async (t) => {
  const got = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (text) => (body += text)).on('end', () => {
      got.push({ headers: request.headers, body });
      response.statusCode = got.length === 1 ? 503 : 204;
      response.end();
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.defer(() => server.close());
  const file = path.join(scratch(t.defer), 'alert');
  const { call } = await shop(t, {
    tools: { shop__charge: { deadLetter: 'all', priority: 1, coalesce: '0s' } },
    alerts: {
      webhook: `http://127.0.0.1:${server.address().port}/hook`,
      secret: 'shared',
      command: ['/bin/sh', '-c', 'cat > "$0.new" && mv "$0.new" "$0"', file],
      depth: 1,
      age: '1s',
    },
  });
  const { deadLetterId, call: id } = await call('shop__charge', { key: 'a', token: 'canary', _fault: 'exec+close' });
  await eventually(() => got.length >= 2, 'the second try');
  const { headers, body } = got[1];
  assert.strictEqual(body, got[0].body);
  const signature = createHmac('sha256', 'shared').update(`${headers['x-holdfast-timestamp']}.${body}`).digest('hex');
  assert.strictEqual(headers['x-holdfast-signature'], `sha256=${signature}`);
  const alert = JSON.parse(body);
  assert.deepStrictEqual([alert.alert, alert.letter.id, alert.letter.call], ['priority', deadLetterId, id]);
  assert.ok(!body.includes('canary'));
  await eventually(() => fs.existsSync(file), 'the command');
  const kinds = () => new Set(got.map(({ body }) => JSON.parse(body).alert));
  await eventually(() => kinds().has('depth') && kinds().has('age'), 'depth and age', 30000);
}, { timeoutMs: 45000 });

await test('whoever notices first that a gateway died, an equal call is told of it at every other', async (t) => {
  const { defer } = t;
  const [state, ledger] = [scratch(defer), path.join(scratch(defer), 'ledger')];
  const config = { mcpServers: { shop: { command: chaos, args: ['--stdio', '--ledger', ledger] } } };
  const start = () => serve(config, { defer, args: ['--state', state] });
  const charge = async ({ address }, key) =>
    (await run(state, ['call', 'shop__charge', JSON.stringify({ key, _fault: 'delay:60000' }), '--control', address], { code: null })).out;
  const told = /This call was not sent: an equal one was in flight when an earlier gateway died/;
  const other = await start();
  for (const [key, notice] of [
    ['nobody', () => {}],
    ['command-line', () => run(state, ['dlq', 'list', '--state', state])],
    ['restarted', async () => (await start()).stop()],
  ]) {
    const dying = await start();
    const unheard = charge({ address: path.join(dying.dir, 'holdfast/control.sock') }, key);
    await eventually(() => executions(ledger, 'charge', key) === 1, 'the call');
    await dying.stop('SIGKILL');
    await unheard;
    await notice();
    for (const gateway of [other, await start()])
      assert.match(await charge({ address: path.join(gateway.dir, 'holdfast/control.sock') }, key), told, key);
    assert.strictEqual(executions(ledger, 'charge', key), 1);
  }
}, { timeoutMs: 60000 });

await test('an analysis of more kinds than it tells apart counts the oldest together', async ({ defer }) => {
  const dir = scratch(defer);
  const now = Date.now();
  const many = Array.from({ length: 10012 }, (_, i) =>
    letter({ tool: `shop__t${i}`, executed: i < 10 ? 'no' : 'maybe', status: i === 11 ? 'discarded' : 'dead', firstMs: now - 9e7 + i, lastMs: now - 9e7 + i }));
  await importInto(dir, many);
  const { groups, others } = (await run(dir, ['dlq', 'analyze', '--json'])).json();
  assert.deepStrictEqual([groups.length, others.letters, others.waiting, others.mayHaveRun], [10000, 12, 11, 1]);
  assert.ok(groups.every(({ tool }) => Number(tool.slice(7)) >= 12)); // the newest are told apart
  const { out } = await run(dir, ['dlq', 'analyze']);
  assert.match(out, /\nNot told apart: 12 letters \(11 wait, 1 of them may have run\), older than those of the 10000 kinds above\.\n/);
  const few = (await run(dir, ['dlq', 'analyze', '--tool', 'shop__t1*', '--json'])).json();
  assert.deepStrictEqual([few.groups.length, few.others], [1123, undefined]);
}, { timeoutMs: 60000 });

await test('dlq finds the database of the running gateway by itself, and a replay minds a --state that is another', async (t) => {
  const { defer } = t;
  const state = scratch(defer);
  const gateway = await serve({ mcpServers: { shop: { command: chaos, args: ['--stdio'] } } }, { defer, args: ['--state', state] });
  await importInto(gateway.dir, [letter({ id: 'd-here', executed: 'no' })]);
  const found = await run(gateway.dir, ['dlq', 'list']);
  assert.match(found.out, /^d-here/m);
  assert.ok(found.err.includes(`using '${state}/holdfast.db', where the gateway at '${gateway.dir}/holdfast/control.sock' keeps its letters`), found.err);
  const named = await run(gateway.dir, ['dlq', 'list', '--config', gateway.file, '--json']);
  assert.deepStrictEqual(named.json().map(({ id }) => id), ['d-here']);
  const own = await run(gateway.dir, ['dlq', 'list', '--state', state]);
  assert.deepStrictEqual([own.err, /^d-here/m.test(own.out)], ['', true]);
  assert.match((await run(gateway.dir, ['explain', letter().call], { code: 1 })).err, /using '|nothing is known of call/);

  const other = scratch(defer);
  const { err } = await run(gateway.dir, ['dlq', 'replay', 'd-here', '--state', other], { code: 2 });
  assert.ok(err.includes(`it keeps its letters in '${state}/holdfast.db', not in '${other}/holdfast.db'`), err);
  assert.match((await run(gateway.dir, ['dlq', 'replay', 'd-here', '--state', `${state}/.`])).out, /1 letter: 1 replayed/);
  await gateway.stop();
  assert.match((await run(gateway.dir, ['dlq', 'list'], { code: 3 })).err, /Where yours keeps them, --state says/);
});

await test('a store whose directory cannot be made at the start is opened when it can', async (t) => {
  const { defer } = t;
  const dir = scratch(defer);
  const place = path.join(dir, 'place');
  fs.writeFileSync(place, 'in the way');
  const config = { mcpServers: { shop: { command: chaos, args: ['--stdio'] } } };
  const gateway = await serve(config, { defer, args: ['--state', path.join(place, 'state')] });
  const ready = async () => (await fetch(`http://${gateway.address}/readyz`)).json();
  const status = async (...words) => run(gateway.dir, ['status', ...words]);
  assert.match(gateway.log.text, /no store: dead letters and intents will not be kept until it can be opened/);
  assert.deepStrictEqual([(await ready()).ready, (await ready()).store], [true, 'not open']);
  const { store } = (await status('--json')).json();
  assert.deepStrictEqual([store.database, store.open], [path.join(place, 'state/holdfast.db'), false]);
  assert.match(store.trouble, /place/);
  assert.match((await status()).out, /NONE ARE KEPT, until '.*place\/state\/holdfast\.db' can be opened \(it is tried again\): /);
  fs.unlinkSync(place);
  await gateway.log.until(/the store is open: dead letters and intents are kept from now on/);
  assert.strictEqual((await ready()).store, 'open');
  assert.strictEqual((await status('--json')).json().store.open, true);
  await run(gateway.dir, ['call', 'shop__charge', '{"_fault":"status:500"}'], { code: 1 });
  assert.strictEqual((await list(gateway.dir)).length, 1);
});

await test('where files may hardly grow, calls are answered all the same', async ({ defer }) => {
  const dir = scratch(defer);
  const ask = (id, method, params) => `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
  const input =
    ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } }) +
    ask(2, 'tools/call', { name: 'charge', arguments: {} });
  const child = spawn('sh', ['-c', 'ulimit -f 64 && exec "$0" wrap -- "$1" --stdio', binary, chaos], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir },
  });
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  child.stdin.end(input);
  assert.strictEqual(await ended(child), 0, err.text);
  assert.match(out.text, /charge {2}#1/);
  assert.match(err.text, /no store: dead letters and intents will not be kept/);
});

done();
