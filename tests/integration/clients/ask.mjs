// Automatic correction before the real binary: official clients of both eras whose own model is asked, and a model of the
// gateway's own behind a server that speaks both APIs and fails in the ways that such servers fail. The tool is the real
// one of server-everything: what it adds up is what really ran.
import assert from 'node:assert';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { done, test } from '../../lib/tap.mjs';
import { binary, modules, node, serve } from '../../lib/gateway.mjs';
import { clients, connectHttp, connectStdio, outcomeOf, textOf } from './lib.mjs';

const everything = {
  command: node,
  args: [path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js'), 'stdio'],
};
const KEY = 'sk-live-0123456789-do-not-show';
const wrong = { a: 'two', b: 3 };
const call = (client, args = wrong) => client.callTool({ name: 'e__get-sum', arguments: args });

// What a prompt holds: the one line between the markers.
function dataOf(text) {
  const lines = text.split('\n');
  const from = lines.indexOf('<<<DATA');
  assert.equal(lines[from + 2], 'DATA>>>', 'one line of data');
  return JSON.parse(lines[from + 1]);
}

function checkPrompt(params) {
  const [message, ...more] = params.messages;
  assert.deepEqual(more, []);
  const data = dataOf(message.content.text);
  assert.deepEqual(Object.keys(data).filter((key) => key !== 'rejected'), ['tool', 'schema', 'arguments', 'errors']);
  assert.equal(data.tool, 'e__get-sum');
  assert.deepEqual(data.arguments, wrong);
  assert.equal(data.schema.properties.a.type, 'number');
  assert.match(data.errors.join('\n'), /\/a.*number/);
  assert.match(params.systemPrompt, /never follow it/);
  return data;
}

// Has the client's model say these texts, one after the other; returns what it was asked.
function speak(kind, client, ...texts) {
  const asked = [];
  const answer = async ({ params }) => {
    asked.push(checkPrompt(params));
    const text = texts[asked.length - 1];
    if (text instanceof Error) throw text;
    return { role: 'assistant', model: 'm', stopReason: 'endTurn', content: { type: 'text', text } };
  };
  client.setRequestHandler(kind === 'sdk 1' ? CreateMessageRequestSchema : 'sampling/createMessage', answer);
  return asked;
}

function assertCorrected(result, how) {
  assert.match(textOf(result), /The sum of 2 and 3 is 5/);
  assert.ok(!result.isError);
  assert.equal(outcomeOf(result).repairs?.at(-1)?.kind, how);
}

function assertRefused(result) {
  assert.equal(result.isError, true);
  assert.match(textOf(result), /Nothing was executed/);
  assert.equal(outcomeOf(result).executed, 'no');
  assert.equal(outcomeOf(result).attempts, 0);
}

const sampling = { capabilities: { sampling: {} } };
const byClient = { mcpServers: { e: everything }, correction: { auto: 'client' } };

for (const kind of Object.keys(clients)) {
  await test(`${kind}: the caller's own model corrects the call`, async (context) => {
    const gateway = await serve(byClient, context);
    const client = await connectHttp(kind, gateway.url(), context, sampling);
    const asked = speak(kind, client, '{"a": 2, "b": 3}');
    assertCorrected(await call(client), 'asked_client');
    assert.equal(asked.length, 1);
    assert.equal(asked[0].rejected, undefined);
  });

  await test(`${kind}: the same over stdio`, async (context) => {
    const client = await connectStdio(kind, null, { ...context, config: byClient }, sampling);
    const asked = speak(kind, client, '```json\n{"a": 2, "b": 3}\n```');
    assertCorrected(await call(client), 'asked_client');
    assert.equal(asked.length, 1);
  });

  await test(`${kind}: a second try is told what was wrong with the first, and there is no third`, async (context) => {
    const gateway = await serve(byClient, context);
    const client = await connectHttp(kind, gateway.url(), context, sampling);
    let asked = speak(kind, client, '{"a": "2", "b": "three"}', '{"a": 2, "b": 3}');
    assertCorrected(await call(client), 'asked_client');
    assert.equal(asked.length, 2);
    assert.deepEqual(asked[1].rejected.arguments, { a: '2', b: 'three' });
    assert.match(asked[1].rejected.errors.join('\n'), /\/b/);
    asked = speak(kind, client, 'two and three, I think', '{"a": null, "b": 3}', '{"a": 2, "b": 3}');
    assertRefused(await call(client));
    assert.equal(asked.length, 2);
  });

  await test(`${kind}: hostile answers run nothing`, async (context) => {
    const gateway = await serve(byClient, context);
    const client = await connectHttp(kind, gateway.url(), context, sampling);
    const hostile = [
      '{"a": 2, "a": 3, "b": 3}',
      '[{"a": 2, "b": 3}]',
      '{"a": 2, "b": 3} {"a": 9, "b": 9}',
      '{"a": {"$ref": "#"}, "b": 3}',
      `{"a": 2, "b": ${'['.repeat(5000)}`,
      `{"a": 2, "b": 3, "c": "${'x'.repeat(70000)}"}`,
      '',
      '\u0000',
    ];
    for (const text of hostile) {
      speak(kind, client, text, text);
      assertRefused(await call(client));
    }
  });

  await test(`${kind}: a client that cannot sample is told what is wrong`, async (context) => {
    const gateway = await serve(byClient, context);
    const client = await connectHttp(kind, gateway.url(), context);
    assertRefused(await call(client));
  });
}

await test('sdk 1: a user who says no leaves the refusal', async (context) => {
  const gateway = await serve(byClient, context);
  const client = await connectHttp('sdk 1', gateway.url(), context, sampling);
  const asked = speak('sdk 1', client, new Error('the user said no'));
  assertRefused(await call(client));
  assert.equal(asked.length, 1);
});

for (const kind of ['sdk 1', 'sdk 2 auto']) {
  await test(`${kind}: a report tells how often a model was asked, and how often it helped`, async (context) => {
    const gateway = await serve(byClient, context);
    const client = await connectHttp(kind, gateway.url(), context, sampling);
    speak(kind, client, '{"a": 2, "b": 3}', 'null');
    assertCorrected(await call(client), 'asked_client');
    assertRefused(await call(client));
    await client.close();
    await gateway.stop();
    const env = { ...process.env, XDG_STATE_HOME: gateway.dir, XDG_RUNTIME_DIR: gateway.dir };
    const { stdout } = spawnSync(binary, ['report', '--json'], { env, encoding: 'utf8' });
    const { total, corrections } = JSON.parse(stdout);
    assert.partialDeepStrictEqual((corrections ?? total.corrections).client, { asked: 2, helped: 1 });
  });
}

// A server of both APIs. `answers` are what it does with one request after the other, the last one again and again:
// a text that its model says, or a fault.
async function startModel(answers, { defer }) {
  const seen = [];
  const server = http.createServer((request, response) => {
    let text = '';
    request.on('data', (chunk) => (text += chunk));
    request.on('end', () => {
      const answer = answers[Math.min(seen.length, answers.length - 1)];
      seen.push({ url: request.url, headers: request.headers, body: JSON.parse(text), text });
      if (typeof answer === 'function') answer(response);
      else response.end(JSON.stringify(saying(request.url, answer)));
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${server.address().port}` };
}

function saying(url, text) {
  if (url === '/v1/chat/completions') {
    const choice = { index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' };
    return { choices: [choice], usage: { prompt_tokens: 500, completion_tokens: 20, total_tokens: 520 } };
  }
  assert.equal(url, '/v1/messages');
  return { type: 'message', content: [{ type: 'text', text }], usage: { input_tokens: 500, output_tokens: 20 } };
}

const status = (code, headers = {}) => (response) => {
  response.writeHead(code, headers);
  response.end(JSON.stringify({ error: { message: `Incorrect API key provided: ${KEY}` } }));
};
const faults = {
  'too many requests': status(429, { 'Retry-After': '0' }),
  'an error': status(500),
  'an overload': status(529),
  'a page': (response) => response.end('<html>Bad gateway</html>'),
  'half an answer': (response) => response.end('{"choices":[{"message":{"content":"{\\"a\\"'),
  'no answer': () => {},
  'the end of the connection': (response) => response.destroy(),
};

const right = '{"a": 2, "b": 3}';
const apis = {
  openai: {
    base: '/v1',
    check: ({ headers, body }) => {
      assert.equal(headers.authorization, `Bearer ${KEY}`);
      assert.equal(body.messages[0].role, 'system');
      return { systemPrompt: body.messages[0].content, messages: body.messages.slice(1) };
    },
  },
  anthropic: {
    base: '',
    check: ({ headers, body }) => {
      assert.equal(headers['x-api-key'], KEY);
      assert.equal(headers['anthropic-version'], '2023-06-01');
      return { systemPrompt: body.system, messages: body.messages };
    },
  },
};

const byModel = (api, url, more = {}) => ({
  mcpServers: { e: everything },
  tools: { 'e__get-sum': { safety: 'read_only' } },
  correction: {
    auto: 'model',
    model: { url: url + apis[api].base, api, name: 'small', key: '${MODEL_KEY}', timeout: '400ms', maxTokens: 300, ...more },
  },
});

// The key is nowhere that people look.
async function checkSecret(gateway, ...commands) {
  const env = { ...process.env, XDG_STATE_HOME: gateway.dir, XDG_RUNTIME_DIR: gateway.dir, MODEL_KEY: KEY };
  const get = async (page) => (await fetch(new URL(page, gateway.url()))).text();
  const texts = [gateway.log.text, await get('/metrics'), await get('/readyz')];
  for (const args of [['status', '--json'], ['explain'], ...commands]) {
    const { stdout, stderr } = spawnSync(binary, args, { env, encoding: 'utf8' });
    texts.push(stdout + stderr);
  }
  for (const text of texts) assert.ok(!text.includes(KEY), `the key is in ${text.slice(0, 300)}`);
}

const start = (api, url, context, more) => serve(byModel(api, url, more), { ...context, env: { MODEL_KEY: KEY } });

for (const [api, { check }] of Object.entries(apis)) {
  await test(`${api}: the gateway's own model corrects the call, and nobody sees its key`, async (context) => {
    const model = await startModel([right], context);
    const gateway = await start(api, model.url, context);
    const client = await connectHttp('sdk 2 auto', gateway.url(), context);
    assertCorrected(await call(client), 'asked_model');
    const [seen, ...more] = model.seen;
    assert.deepEqual(more, []);
    const { systemPrompt, messages } = check(seen);
    assert.ok(!seen.text.includes(KEY));
    assert.equal(seen.body.model, 'small');
    assert.equal(seen.body.max_tokens, 300);
    checkPrompt({ systemPrompt, messages: [{ content: { text: messages[0].content } }] });
    await checkSecret(gateway, ['check', '--config', gateway.file], ['tools', '--config', gateway.file]);
  });

  for (const [fault, fail] of Object.entries(faults)) {
    await test(`${api}: ${fault} is tried again`, async (context) => {
      const model = await startModel([fail, right], context);
      const gateway = await start(api, model.url, context);
      const client = await connectHttp('sdk 2 auto', gateway.url(), context);
      assertCorrected(await call(client), 'asked_model');
      assert.equal(model.seen.length, 2);
      await checkSecret(gateway);
    });
  }

  await test(`${api}: a key that is not taken leaves the refusal, at once`, async (context) => {
    const model = await startModel([status(401)], context);
    const gateway = await start(api, model.url, context);
    const client = await connectHttp('sdk 2 auto', gateway.url(), context);
    assertRefused(await call(client));
    assert.equal(model.seen.length, 1);
    await gateway.log.until(/did not answer.*unauthorized/);
    await checkSecret(gateway);
  });

  await test(`${api}: hostile and wrong answers run nothing`, async (context) => {
    const answers = ['{"a": 2, "a": 3, "b": 3}', '{"a": "2"}', 'Ignore the schema', '[1]', 'null', '{"a": 2, "b": [3]}'];
    for (const text of answers) {
      const model = await startModel([text], context);
      const gateway = await start(api, model.url, context);
      const client = await connectHttp('sdk 2 auto', gateway.url(), context);
      assertRefused(await call(client));
      assert.equal(model.seen.length, text === 'null' ? 1 : 2, text);
    }
  });
}

await test('a model that is down opens its breaker: calls are refused at once', async (context) => {
  const model = await startModel([status(500)], context);
  const gateway = await start('openai', model.url, context);
  const client = await connectHttp('sdk 2 auto', gateway.url(), context);
  let asked = -1;
  for (let i = 0; i < 12 && asked !== model.seen.length; i++) {
    asked = model.seen.length;
    assertRefused(await call(client));
  }
  assert.equal(asked, model.seen.length);
  const began = Date.now();
  assertRefused(await call(client));
  assert.ok(Date.now() - began < 200);
  assert.equal(asked, model.seen.length);
});

await test('a slow model holds up nobody else', async (context) => {
  const model = await startModel([() => {}], context);
  const gateway = await start('openai', model.url, context, { timeout: '3s' });
  const client = await connectHttp('sdk 2 auto', gateway.url(), context);
  const slow = Array.from({ length: 6 }, () => call(client).catch((error) => error));
  const began = Date.now();
  for (let i = 0; i < 50; i++) assert.match(textOf(await call(client, { a: i, b: 1 })), new RegExp(` is ${i + 1}`));
  assert.ok(Date.now() - began < 2000);
  assert.ok(model.seen.length <= 2);
  await client.close();
  await Promise.all(slow);
});

await test('a reload takes another model', async (context) => {
  const first = await startModel(['null'], context);
  const second = await startModel([right], context);
  const gateway = await start('openai', first.url, context);
  const client = await connectHttp('sdk 2 auto', gateway.url(), context);
  assertRefused(await call(client));
  fs.writeFileSync(gateway.file, JSON.stringify({ listen: '127.0.0.1:0', ...byModel('anthropic', second.url) }));
  gateway.child.kill('SIGHUP');
  await gateway.log.until(/reloaded/);
  assertCorrected(await call(client), 'asked_model');
  assert.deepEqual([first.seen.length, second.seen.length], [1, 1]);
  await checkSecret(gateway);
});

done();
