// O09: a secret is shown nowhere, at any level, whatever goes wrong: not in the log (not even when a child says it), not
// in answers, status, metrics, and not by `check`.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { done, test } from '../../lib/tap.mjs';
import { binary, chaos, collect, ended, serve, startChaos } from '../../lib/gateway.mjs';
import { connectHttp } from './lib.mjs';

const CANARY = 'canary-3f9a1c';

// What the program prints, either way, with the gateway's own configuration.
async function run({ dir, file }, words) {
  const child = spawn(binary, [...words, '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir },
  });
  const texts = [collect(child.stdout), collect(child.stderr)];
  await ended(child);
  return texts.map(({ text }) => text).join('');
}

for (const format of ['human', 'json']) {
  await test(`no secret reaches the log (${format})`, async ({ defer, comment }) => {
    const good = await startChaos({ defer });
    const mcpServers = {
      headers: { url: good.url, headers: { Authorization: `Bearer ${CANARY}-header` } },
      query: { url: `${good.url}?key=${CANARY}-query` },
      refused: { url: `http://user:${CANARY}-userinfo@127.0.0.1:1/mcp?key=${CANARY}-refused` },
      env: { command: chaos, args: ['--stdio', '--banner', 'hello'], env: { TOKEN: `${CANARY}-env` } },
      dies: { command: chaos, args: ['--exit', '1'], env: { TOKEN: `${CANARY}-dies` } },
      tells: {
        command: '/bin/sh',
        args: ['-c', 'echo "my token is $TOKEN" >&2; echo "hello $TOKEN"; exit 1', `${CANARY}-args`],
        env: { TOKEN: `${CANARY}-tells` },
      },
      proxied: { url: 'http://127.0.0.1:1/mcp', proxy: `http://user:${CANARY}-proxy@127.0.0.1:1` },
    };
    const auth = { tokens: { alice: `sha256:${createHash('sha256').update(`${CANARY}-bearer`).digest('hex')}` } };
    const policies = { default: { retry: { attempts: 1 }, breaker: { failures: 0 } } };
    const gateway = await serve({ mcpServers, auth, policies, log: { level: 'debug', format } }, { defer, comment });
    const headers = { Authorization: `Bearer ${CANARY}-bearer` };
    const client = await connectHttp('sdk 2', gateway.url(), { defer, headers });
    let shown = '';
    const calls = Object.keys(mcpServers).flatMap((server) =>
      ['none', 'iserror', 'exec+close', 'html', 'status:500'].map((fault) =>
        client.callTool({ name: `${server}__charge`, arguments: { key: `${CANARY}-argument`, _fault: fault } }).then(
          (result) => (shown += result.isError ? JSON.stringify(result) : ''),
          (error) => (shown += error.message),
        ),
      ),
    );
    await Promise.all(calls);
    for (const path of ['/metrics', '/readyz', '/healthz'])
      shown += await (await fetch(new URL(path, gateway.url()), { headers })).text();
    for (const words of [['status'], ['status', '--json'], ['check'], ['check', '--probe']]) shown += await run(gateway, words);
    await gateway.stop();
    assert.match(gateway.log.text, /my token is \*\*\*/);
    assert.match(shown, /tells/);
    assert.ok(!shown.includes(CANARY), shown.slice(shown.indexOf(CANARY) - 300).slice(0, 400));
    assert.ok(gateway.log.text.length > 500);
    assert.ok(!gateway.log.text.includes(CANARY), gateway.log.text.slice(gateway.log.text.indexOf(CANARY) - 300).slice(0, 400));
  });
}
done();
