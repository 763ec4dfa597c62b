// O09: what must not be logged is not logged, at any level, whatever goes wrong.
import assert from 'node:assert';
import { done, test } from '../../lib/tap.mjs';
import { chaos, serve, startChaos } from '../../lib/gateway.mjs';
import { connectHttp } from './lib.mjs';

const CANARY = 'canary-3f9a1c';

for (const format of ['human', 'json']) {
  await test(`no secret reaches the log (${format})`, async ({ defer, comment }) => {
    const good = await startChaos({ defer });
    const mcpServers = {
      headers: { url: good.url, headers: { Authorization: `Bearer ${CANARY}-header` } },
      query: { url: `${good.url}?key=${CANARY}-query` },
      refused: { url: `http://user:${CANARY}-userinfo@127.0.0.1:1/mcp?key=${CANARY}-refused` },
      env: { command: chaos, args: ['--stdio', '--banner', 'hello'], env: { TOKEN: `${CANARY}-env` } },
      dies: { command: chaos, args: ['--exit', '1'], env: { TOKEN: `${CANARY}-dies` } },
    };
    const gateway = await serve({ mcpServers, log: { level: 'debug', format } }, { defer, comment });
    const client = await connectHttp('sdk 2', gateway.url(), { defer });
    for (const server of Object.keys(mcpServers)) {
      for (const fault of ['none', 'iserror', 'exec+close', 'html', 'status:500']) {
        await client
          .callTool({ name: `${server}__charge`, arguments: { key: `${CANARY}-argument`, _fault: fault } })
          .catch(() => {});
      }
    }
    await gateway.stop();
    assert.ok(gateway.log.text.length > 500);
    assert.ok(!gateway.log.text.includes(CANARY), gateway.log.text.slice(gateway.log.text.indexOf(CANARY) - 300).slice(0, 400));
  });
}
done();
