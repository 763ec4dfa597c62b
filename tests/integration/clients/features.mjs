// What the protocol has besides tools, by the official clients of both eras, in front of servers of both: notices,
// subscriptions, completion, log levels, ping. The server is the one of the conformance suite.
import assert from 'node:assert';
import { spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import * as schemas from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { collect, ended, eventually, node, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, textOf } from './lib.mjs';

const fixture = path.join(path.dirname(fileURLToPath(import.meta.url)), '../../conformance/fixture.mjs');
const watched = 'test://watched-resource';

// The first client of the SDK names notifications by their schemas.
const noticeSchemas = {
  'notifications/tools/list_changed': schemas.ToolListChangedNotificationSchema,
  'notifications/resources/updated': schemas.ResourceUpdatedNotificationSchema,
  'notifications/message': schemas.LoggingMessageNotificationSchema,
};

function hear(kind, client, method) {
  const heard = [];
  client.setNotificationHandler(kind === 'sdk 1' ? noticeSchemas[method] : method, ({ params }) => void heard.push(params));
  return heard;
}

async function start(context, era) {
  const child = spawn(node, [fixture], { stdio: ['ignore', 'pipe', 'inherit'] });
  context.defer(async () => {
    child.kill();
    await ended(child);
  });
  const [, port] = await collect(child.stdout).until(/^(\d+)\n/);
  return serve({ mcpServers: { fix: { url: `http://127.0.0.1:${port}/mcp`, era } } }, context);
}

for (const era of ['legacy', 'modern']) {
  for (const [kind, { era: own }] of Object.entries(clients)) {
    const name = (what) => `${kind}, ${era} server: ${what}`;
    const call = (client, tool) => client.callTool({ name: `fix__${tool}`, arguments: {} });

    await test(name('a change of the tools is told, and the list shows it'), async (context) => {
      const gateway = await start(context, era);
      const client = await connectHttp(kind, gateway.url(), context);
      const before = await client.listTools();
      const heard = hear(kind, client, 'notifications/tools/list_changed');
      if (own === 'modern') await client.listen({ toolsListChanged: true });
      await call(client, 'test_trigger_tool_change');
      await eventually(() => heard.length > 0, 'the notice');
      const shown = (list) => list.tools.find((tool) => tool.name === 'fix__test_changing_tool').description;
      assert.notEqual(shown(await client.listTools()), shown(before));
    });

    await test(name('an update of a resource reaches who subscribed'), async (context) => {
      const gateway = await start(context, era);
      const client = await connectHttp(kind, gateway.url(), context);
      const other = await connectHttp(kind, gateway.url(), context);
      const heard = hear(kind, client, 'notifications/resources/updated');
      const overheard = hear(kind, other, 'notifications/resources/updated');
      await client.listResources();
      if (own === 'modern') await client.listen({ resourceSubscriptions: [watched] });
      else await client.subscribeResource({ uri: watched });
      await eventually(async () => {
        await call(client, 'test_trigger_resource_update');
        return heard.length > 0;
      }, 'the update');
      assert.equal(heard[0].uri, watched);
      assert.equal(overheard.length, 0);
    });

    await test(name('a prompt is got and completed by its long name'), async (context) => {
      const gateway = await start(context, era);
      const client = await connectHttp(kind, gateway.url(), context);
      const { prompts } = await client.listPrompts();
      const prompt = 'fix__test_prompt_with_arguments';
      assert.ok(prompts.some((item) => item.name === prompt));
      const got = await client.getPrompt({ name: prompt, arguments: { arg1: 'a', arg2: 'b' } });
      assert.match(got.messages[0].content.text, /arg1='a', arg2='b'/);
      const ref = { type: 'ref/prompt', name: prompt };
      const { completion } = await client.complete({ ref, argument: { name: 'arg1', value: 'par' } });
      assert.deepEqual(completion.values, ['paris', 'park', 'party']);
    });

    if (own === 'legacy') {
      await test(name('log lines come by the level that was set, and ping is answered'), async (context) => {
        const gateway = await start(context, era);
        const client = await connectHttp(kind, gateway.url(), context);
        const heard = hear(kind, client, 'notifications/message');
        await client.ping();
        await client.setLoggingLevel('error');
        assert.match(textOf(await call(client, 'test_tool_with_logging')), /three times/);
        assert.equal(heard.length, 0);
        await client.setLoggingLevel('info');
        await call(client, 'test_tool_with_logging');
        await eventually(() => heard.length === 3, 'three lines');
      });
    }
  }
}
done();
