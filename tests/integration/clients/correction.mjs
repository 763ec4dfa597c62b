// What a model gets wrong itself, by the official clients of both eras: it is told what it tried, another way when it
// repeats itself, in the end to stop; and a result that is not as expected comes with the reason.
import assert from 'node:assert';
import { done, test } from '../../lib/tap.mjs';
import { serve, startChaos } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, outcomeOf, textOf } from './lib.mjs';

// Three tries that don't fit, then one that does.
async function correct(client, server, key) {
  const put = (args) => client.callTool({ name: 'c__put', arguments: args });
  const first = await put({ key, steps: 'many' });
  assert.equal(first.isError, true);
  assert.match(textOf(first), /^"c__put" was not called[^]*"\/steps" must be an integer[^]*Correct the arguments/);
  assert.deepEqual([outcomeOf(first).executed, outcomeOf(first).reason], ['no', 'schema']);

  const second = await put({ steps: 'many', key });
  assert.match(textOf(second), /^You sent these very arguments before\.[^]*This was try 2 of 3\.[^]*Take another way/);

  const third = await put({ key, steps: 'more' });
  assert.match(textOf(third), /^Stop: 3 calls of "c__put"[^]*ask how to go on[^]*\(2 times\)[^]*\[dead letter d-/);
  assert.ok(outcomeOf(third).deadLetterId);

  assert.equal(server.calls('put', key), 0);
  const good = await put({ key, steps: 3 });
  assert.ok(!good.isError);
  assert.equal(server.calls('put', key), 1);
  assert.doesNotMatch(textOf(await put({ key, steps: 'many' })), /before/);
}

for (const kind of Object.keys(clients)) {
  await test(`${kind}: a model that does not learn is stopped, and one that learns goes on`, async (context) => {
    const server = await startChaos(context);
    const config = { mcpServers: { c: { url: server.url } } };
    const gateway = await serve(config, context);
    await correct(await connectHttp(kind, gateway.url(), context), server, 'http');
    await correct(await connectStdio(kind, null, { ...context, config }), server, 'stdio');
  });

  await test(`${kind}: a result that is not as expected, and an error that is known`, async (context) => {
    const server = await startChaos(context);
    const gateway = await serve({
      mcpServers: { c: { url: server.url } },
      tools: {
        c__charged: { expect: { pointer: '/structuredContent/count', atLeast: 1 } },
        c__read: { hints: { 'quota*exceeded': 'Ask the user to wait until tomorrow.' } },
      },
    }, context);
    const client = await connectHttp(kind, gateway.url(), context);
    const none = await client.callTool({ name: 'c__charged', arguments: { key: 'k' } });
    assert.equal(none.isError, true);
    assert.match(none.content[0].text, /^Note of the gateway, not of the tool: "c__charged" was executed and answered, but not/);
    assert.match(none.content[1].text, /charge ran 0 times/);
    assert.equal(none.structuredContent.count, 0);
    assert.deepEqual([outcomeOf(none).executed, outcomeOf(none).reason], ['yes', 'unexpected_result']);
    await client.callTool({ name: 'c__charge', arguments: { key: 'k' } });
    const some = await client.callTool({ name: 'c__charged', arguments: { key: 'k' } });
    assert.ok(!some.isError);
    assert.equal(some.structuredContent.count, 1);
    const full = await client.callTool({ name: 'c__read', arguments: { key: 'k', _fault: 'iserror:the quota is exceeded' } });
    assert.equal(full.isError, true);
    assert.equal(full.content[0].text, 'the quota is exceeded');
    assert.match(full.content[1].text, /^Note of the gateway, not of the tool: .*Ask the user to wait until tomorrow\.$/);
  });
}
done();
