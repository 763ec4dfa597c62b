// What works between whom: every official client, over each transport, with every kind of server behind the gateway, one
// feature after the other. The table in docs/INTEROP.md is what came of it, and this test fails where it says anything else;
//   node interop.mjs --write
// writes it anew.
import assert from 'node:assert';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as schemas from '@modelcontextprotocol/sdk/types.js';
import { done, report, test } from '../../lib/tap.mjs';
import { binary, collect, ended, eventually, modules, node, scratch, serve, writeConfig } from '../../lib/gateway.mjs';
import { clients, textOf } from './lib.mjs';
import { verbsOf } from './takers.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const document = path.join(here, '../../../docs/INTEROP.md');
const version = (name) => JSON.parse(fs.readFileSync(path.join(modules, '@modelcontextprotocol', name, 'package.json'))).version;
const CELL_MS = 20000;
const AT_ONCE = 4; // rows; most of one is waiting

// Starts a server that says its port: `child` prints it, or is told it.
async function listening(context, args, env, pattern) {
  const child = spawn(node, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  context.defer(async () => {
    child.kill('SIGKILL');
    await ended(child);
  });
  const found = await Promise.race([collect(child.stdout).until(pattern), collect(child.stderr).until(pattern)]);
  return found[1] ?? env.PORT;
}

const everything = path.join(modules, '@modelcontextprotocol/server-everything/dist/index.js');
const fixture = path.join(here, '../../conformance/fixture.mjs');
const taskServers = { legacy: path.join(here, '../lib/task_server.mjs'), modern: path.join(here, '../../conformance/tasks.mjs') };
let nextPort = 20000 + (process.pid % 12000); // below those that the system gives away

async function everythingOn(context, mode, end) {
  const port = String(nextPort++);
  await listening(context, [everything, mode], { PORT: port }, /listening|running on port|port \d+/i);
  return { url: `http://127.0.0.1:${port}/${end}` };
}

async function programOf(context, program, era) {
  return { url: `http://127.0.0.1:${await listening(context, [program], {}, /^(\d+)\n/)}/mcp`, era };
}

const ofEverything = {
  holds: true,
  call: { name: 'echo', arguments: { message: 'hello' } },
  said: /hello/,
  long: { name: 'trigger-long-running-operation', arguments: { duration: 0.3, steps: 3 } },
  prompt: { name: 'args-prompt', arguments: { city: 'Oslo' } },
  completed: { ref: { type: 'ref/prompt', name: 'completable-prompt' }, argument: { name: 'department', value: 'E' } },
  sampling: { name: 'trigger-sampling-request', arguments: { prompt: 'x', maxTokens: 10 } },
  elicitation: { name: 'trigger-elicitation-request', arguments: {} },
  task: { name: 'simulate-research-query', arguments: { topic: 'oslo' } },
  onlyTask: { name: 'simulate-research-query', arguments: { topic: 'bergen' } },
  found: /# Research Report: (oslo|bergen)/,
};
const ofFixture = {
  holds: true,
  call: { name: 'test_simple_text', arguments: {} },
  said: /simple text/,
  long: { name: 'test_tool_with_progress', arguments: {} },
  prompt: { name: 'test_prompt_with_arguments', arguments: { arg1: 'a', arg2: 'b' } },
  completed: { ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' }, argument: { name: 'arg1', value: 'par' } },
  logs: { name: 'test_tool_with_logging', arguments: {} },
  changes: { name: 'test_trigger_tool_change', arguments: {} },
  watched: 'test://watched-resource',
  updates: { name: 'test_trigger_resource_update', arguments: {} },
  task: { name: 'test_simple_text', arguments: {} },
  found: /simple text/,
};
const ofTaskServer = {
  call: { name: 'greet', arguments: { name: 'ann' } },
  said: /Hello, ann!/,
  elicitation: { name: 'multi_input', arguments: {} },
  task: { name: 'failing_job', arguments: {} },
  onlyTask: { name: 'failing_job', arguments: { label: 'one call' } },
  found: /the job has failed/,
};
const legacyQuestions = {
  sampling: { name: 'test_sampling', arguments: { prompt: 'x' } },
  elicitation: { name: 'test_elicitation', arguments: { message: 'who?' } },
};
const modernQuestions = {
  sampling: { name: 'test_input_required_result_sampling', arguments: {} },
  elicitation: { name: 'test_input_required_result_elicitation', arguments: {} },
};

// Each server: how it is reached, and what shows a feature of it. What it lacks is no cell.
const servers = [
  { name: `server-everything ${version('server-everything')}`, over: 'stdio', era: 'legacy', ...ofEverything,
    start: async () => ({ command: node, args: [everything, 'stdio'] }) },
  { name: `server-everything ${version('server-everything')}`, over: 'HTTP', era: 'legacy', ...ofEverything,
    start: (context) => everythingOn(context, 'streamableHttp', 'mcp') },
  { name: `server-everything ${version('server-everything')}`, over: 'HTTP+SSE', era: '2024-11-05', ...ofEverything,
    start: (context) => everythingOn(context, 'sse', 'sse') },
  { name: `SDK server ${version('server')}`, over: 'HTTP', era: 'legacy', ...ofFixture, ...legacyQuestions,
    start: (context) => programOf(context, fixture, 'legacy') },
  { name: `SDK server ${version('server')}`, over: 'HTTP', era: 'modern', ...ofFixture, ...modernQuestions,
    start: (context) => programOf(context, fixture, 'modern') },
  { name: `SDK server ${version('sdk')} with tasks`, over: 'HTTP', era: 'legacy', ...ofTaskServer,
    start: (context) => programOf(context, taskServers.legacy, 'legacy') },
  { name: `SDK server ${version('server')} with the tasks extension`, over: 'HTTP', era: 'modern', ...ofTaskServer,
    start: (context) => programOf(context, taskServers.modern, 'modern') },
];

const method = (kind, name, schema) => (kind === 'sdk 1' ? schema : name);
const prefixed = (face, request) => ({ ...request, name: face.prefix + request.name });

function hear(face, name, schema) {
  const heard = [];
  face.client.setNotificationHandler(method(face.kind, name, schema), ({ params }) => void heard.push(params));
  return heard;
}

async function asks(face, request, expected) {
  assert.match(textOf(await face.client.callTool(prefixed(face, request))), expected);
}

// feature → how it is shown, or absent where either end has no such thing
const features = {
  tools: async (face, server) => {
    const { tools } = await face.client.listTools();
    assert.ok(tools.some(({ name }) => name === face.prefix + server.call.name));
  },
  call: async (face, server) => asks(face, server.call, server.said),
  progress: async (face, server) => {
    const seen = [];
    const options = { onprogress: ({ progress }) => seen.push(progress) };
    const call = prefixed(face, server.long);
    await (face.kind === 'sdk 1' ? face.client.callTool(call, undefined, options) : face.client.callTool(call, options));
    assert.ok(seen.length >= 2, `${seen.length} times`);
  },
  prompts: async (face, server) => assert.ok((await face.client.getPrompt(prefixed(face, server.prompt))).messages.length > 0),
  resources: async (face) => {
    const { resources } = await face.client.listResources();
    assert.ok((await face.client.readResource({ uri: resources[0].uri })).contents.length > 0);
  },
  completion: async (face, { completed }) => {
    const ref = { ...completed.ref, name: face.prefix + completed.ref.name };
    assert.ok((await face.client.complete({ ref, argument: completed.argument })).completion.values.length > 0);
  },
  logging: async (face, { logs }) => {
    const heard = hear(face, 'notifications/message', schemas.LoggingMessageNotificationSchema);
    await face.client.setLoggingLevel('info');
    await face.client.callTool(prefixed(face, logs));
    await eventually(() => heard.length >= 3, 'three lines');
  },
  changes: async (face, { changes }) => {
    const heard = hear(face, 'notifications/tools/list_changed', schemas.ToolListChangedNotificationSchema);
    await face.client.listTools();
    if (face.modern) await face.client.listen({ toolsListChanged: true });
    await face.client.callTool(prefixed(face, changes));
    await eventually(() => heard.length > 0, 'the notice');
  },
  subscriptions: async (face, { watched, updates }) => {
    const heard = hear(face, 'notifications/resources/updated', schemas.ResourceUpdatedNotificationSchema);
    await face.client.listResources();
    if (face.modern) await face.client.listen({ resourceSubscriptions: [watched] });
    else await face.client.subscribeResource({ uri: watched });
    await eventually(async () => {
      await face.client.callTool(prefixed(face, updates));
      return heard.length > 0;
    }, 'the update');
  },
  sampling: async (face, { sampling }) => asks(face, sampling, /from the client/),
  elicitation: async (face, { elicitation }) => asks(face, elicitation, /ann|accept/i),
  tasks: async (face, { task, found }) => {
    const run = await verbsOf(face.kind, face.modern, face.client).start(face.prefix + task.name, task.arguments);
    assert.ok(run.id, 'it was no task');
    const { result, error } = await run.came;
    assert.match(result ? textOf(result) : error.message, found);
  },
  'one call': async (face, { onlyTask, found }) => asks(face, onlyTask, found),
};

// Those that take long are shown together, when the others have been.
const slow = ['tasks', 'one call'];

// Which member of a server a feature needs.
const needs = { progress: 'long', prompts: 'prompt', resources: 'holds', completion: 'completed', logging: 'logs', changes: 'changes',
  subscriptions: 'watched', sampling: 'sampling', elicitation: 'elicitation', tasks: 'task', 'one call': 'onlyTask' };

const applies = (feature, client, server) =>
  (!needs[feature] || server[needs[feature]]) && !(feature === 'logging' && client.modern) && (!client.only || client.only.includes(feature));

function makeClient(kind) {
  const client = clients[kind].client({ capabilities: { sampling: {}, elicitation: {}, roots: {} } });
  const sampled = { role: 'assistant', model: 'none', content: { type: 'text', text: 'from the client' } };
  const elicited = { action: 'accept', content: { username: 'ann', email: 'a@example.org', name: 'ann' } };
  client.setRequestHandler(method(kind, 'sampling/createMessage', schemas.CreateMessageRequestSchema), async () => sampled);
  client.setRequestHandler(method(kind, 'elicitation/create', schemas.ElicitRequestSchema), async () => elicited);
  client.setRequestHandler(method(kind, 'roots/list', schemas.ListRootsRequestSchema), async () => ({ roots: [] }));
  return client;
}

// The gateway and a client of it: over HTTP on the server's own endpoint, or as the child that the client starts.
async function connect(context, kind, over, settings) {
  const client = makeClient(kind);
  context.defer(() => client.close());
  const config = {
    mcpServers: { s: { ...settings, instance: 'session' } },
    limits: { listWait: '20s' },
    store: { enabled: false },
    tools: { s__test_simple_text: { tasks: 'always' } },
  };
  const modern = clients[kind].era === 'modern';
  if (over !== 'stdio') {
    const url = (await serve({ sse: { enabled: true }, ...config }, context)).url('s');
    await client.connect(over === 'HTTP' ? clients[kind].http(url) : clients[kind].sse(new URL('/sse/s', url)));
    return { client, kind, modern, prefix: '' };
  }
  const dir = scratch(context.defer);
  const env = { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir };
  await client.connect(clients[kind].stdio({ command: binary, args: ['stdio', '--config', writeConfig(dir, config)], env, stderr: 'ignore' }));
  return { client, kind, modern, prefix: 's__' };
}

// Its package counts on lying inside that of the whole inspector.
function layOutInspector(dir) {
  fs.cpSync(path.join(modules, '@modelcontextprotocol/inspector-cli'), path.join(dir, 'cli'), { recursive: true });
  fs.writeFileSync(path.join(dir, 'package.json'), JSON.stringify({ name: 'inspector', version: version('inspector-cli'), type: 'module' }));
  fs.symlinkSync(modules, path.join(dir, 'node_modules'));
  return path.join(dir, 'cli/build/index.js');
}

// The inspector's command line, with as much of a client's face as it has: a process for each request.
async function inspect(context, over, settings) {
  const dir = scratch(context.defer);
  const config = { mcpServers: { s: settings }, limits: { listWait: '20s' }, store: { enabled: false } };
  const env = { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir };
  const url = over === 'stdio' ? undefined : (await serve({ sse: { enabled: true }, ...config }, context)).url('s');
  const target = url
    ? [String(over === 'HTTP' ? url : new URL('/sse/s', url)), '--transport', over === 'HTTP' ? 'http' : 'sse']
    : [binary, 'stdio', '--config', writeConfig(dir, config)];
  const inspector = layOutInspector(dir);
  const run = async (name, ...args) => {
    const all = [inspector, ...target, '--method', name, ...args];
    return JSON.parse((await promisify(execFile)(node, all, { env, timeout: CELL_MS })).stdout);
  };
  const pairs = (flag, values) => Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
  const client = {
    listTools: () => run('tools/list'),
    callTool: ({ name, arguments: args }) => run('tools/call', '--tool-name', name, ...pairs('--tool-arg', args)),
    getPrompt: ({ name, arguments: args }) => run('prompts/get', '--prompt-name', name, ...pairs('--prompt-args', args)),
    listResources: () => run('resources/list'),
    readResource: ({ uri }) => run('resources/read', '--uri', uri),
  };
  return { client, kind: 'inspector', prefix: url ? '' : 's__' };
}

const titles = { 'sdk 1': `SDK ${version('sdk')}`, 'sdk 2': `SDK ${version('client')}`, 'sdk 2 auto': `SDK ${version('client')}, auto`,
  'sdk 2 pinned': `SDK ${version('client')}, pinned` };
const transportsOf = (kind) => (['sdk 1', 'sdk 2'].includes(kind) ? ['HTTP', 'HTTP+SSE', 'stdio'] : ['HTTP', 'stdio']);
const callers = [
  ...Object.entries(titles).flatMap(([kind, title]) => transportsOf(kind).map((over) => (
    { title, over, modern: clients[kind].era === 'modern', open: (context, settings) => connect(context, kind, over, settings) }))),
  ...['HTTP', 'HTTP+SSE', 'stdio'].map((over) => ({
    title: `inspector ${version('inspector-cli')}`, over, only: ['tools', 'call', 'prompts', 'resources', 'one call'],
    open: (context, settings) => inspect(context, over, settings),
  })),
];

function within(promise) {
  let timer;
  const late = new Promise((resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${CELL_MS} ms`)), CELL_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// One row: 'yes', 'no' or '–' for each feature.
async function tryRow(context, caller, server, problems) {
  const row = Object.fromEntries(Object.keys(features).map((feature) => [feature, applies(feature, caller, server) ? 'no' : '–']));
  try {
    const face = await within(caller.open(context, await server.start(context)));
    const show = (feature) =>
      within(features[feature](face, server)).then(
        () => (row[feature] = 'yes'),
        (error) => problems.push(`${feature}: ${String(error.message).split('\n')[0]}`),
      );
    const wanted = Object.keys(features).filter((feature) => row[feature] !== '–');
    for (const feature of wanted) if (!slow.includes(feature)) await show(feature);
    await Promise.all(wanted.filter((feature) => slow.includes(feature)).map(show));
  } catch (error) {
    problems.push(error.message);
  }
  return row;
}

const mark = { yes: '✓', no: '✗', '–': '–' };
const head = ['client', 'over', 'era', ...Object.keys(features)];
const line = (cells) => `| ${cells.join(' | ')} |`;
const rowText = (caller, row) =>
  line([caller.title, caller.over, caller.modern ? 'modern' : 'legacy', ...Object.keys(features).map((feature) => mark[row[feature]])]);
const sectionTitle = (server) => `### ${server.name} over ${server.over} (${server.era})`;

const BEGIN = '<!-- written by tests/integration/clients/interop.mjs -->';
const writing = process.argv.includes('--write');
const old = fs.existsSync(document) ? fs.readFileSync(document, 'utf8') : `# Interoperability\n\n${BEGIN}\n`;
const sections = [];
for (const server of servers) {
  const lines = [sectionTitle(server), '', line(head), line(head.map(() => '---'))];
  const from = old.indexOf(`${sectionTitle(server)}\n`);
  const said = from < 0 ? '' : old.slice(from).split('\n### ')[0];
  const rows = [];
  const fill = (at) => {
    const caller = callers[at];
    const name = `${caller.title} over ${caller.over}, ${server.name} over ${server.over} (${server.era})`;
    return test(name, async (context) => {
      const problems = [];
      const text = rowText(caller, await tryRow(context, caller, server, problems));
      rows[at] = text;
      for (const problem of problems) context.comment(problem);
      if (writing) console.log(`# ${name}: ${problems.join('; ') || 'all'}`);
      else assert.ok(said.split('\n').includes(text), `docs/INTEROP.md does not say\n${text}\n${problems.join('\n')}`);
    }, { timeoutMs: 120000 });
  };
  for (let at = 0; at < callers.length; at += AT_ONCE)
    await Promise.all(callers.slice(at, at + AT_ONCE).map((caller, i) => fill(at + i)));
  sections.push([...lines, ...rows].join('\n'));
}
const written = `${old.slice(0, old.indexOf(BEGIN))}${BEGIN}\n\n${sections.join('\n\n')}\n`;
if (writing) fs.writeFileSync(document, written);
else report('docs/INTEROP.md has no other rows', written === old ? null : new Error('node interop.mjs --write writes it anew'));
done();
