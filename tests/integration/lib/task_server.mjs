// A server with the tasks of 2025-11-25, on the official SDK 1.x; its tools are those of ../../conformance/tasks.mjs.
// Over HTTP, with a session for each client and one store of tasks for all, or over its pipes. Prints its port; what it
// executes goes to the ledger, one line each.
//   node task_server.mjs [--plain] [--stdio] [--port N] [--ledger FILE] [--poll MS] [--by-session]
// With --plain it is the same server without tasks, which lets its callers wait, and asks by requests of its own. With
// --by-session a task belongs to the session that made it, as the SDK's own store has it.
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { InMemoryTaskMessageQueue, InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { ElicitResultSchema, isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const { values: options } = parseArgs({
  options: {
    plain: { type: 'boolean', default: false },
    stdio: { type: 'boolean', default: false },
    port: { type: 'string', default: '0' },
    ledger: { type: 'string' },
    poll: { type: 'string', default: '100' },
    'by-session': { type: 'boolean', default: false },
  },
});

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const terminal = (status) => ['completed', 'failed', 'cancelled'].includes(status);

function executed(tool, key = '-') {
  if (options.ledger) fs.appendFileSync(options.ledger, `${tool} ${key}\n`);
}

// The tasks of one caller, who comes with a new session after each reconnect.
class SharedStore extends InMemoryTaskStore {
  lookup(taskId) {
    return super.lookup(taskId);
  }
}

const taskStore = options['by-session'] ? new InMemoryTaskStore() : new SharedStore();

const form = (message, properties) => ({
  message,
  requestedSchema: { type: 'object', properties, required: Object.keys(properties) },
});

// Runs beside the request that made the task. `ask` waits for the answer, which comes over a stream of tasks/result.
async function run(taskId, extra, work) {
  const store = extra.taskStore;
  const say = (message) => store.updateTaskStatus(taskId, 'working', message);
  const ask = async (params) => {
    await store.updateTaskStatus(taskId, 'input_required', params.message);
    const answer = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema, { relatedTask: { taskId } });
    await store.updateTaskStatus(taskId, 'working');
    return answer.action === 'accept' ? answer.content : undefined;
  };
  const live = async () => !terminal((await store.getTask(taskId)).status);
  try {
    const result = await work({ say, ask, live });
    if (result) await store.storeTaskResult(taskId, result.isError ? 'failed' : 'completed', result);
  } catch (error) {
    if (await live()) await store.updateTaskStatus(taskId, 'failed', error.message);
  }
}

const compute =
  (tool) =>
  async ({ seconds, label }, { say, live }) => {
    executed(tool, label);
    await say(`computing for ${seconds} s`);
    for (const end = Date.now() + seconds * 1000; Date.now() < end; await sleep(20))
      if (!(await live())) return executed(`${tool}.cancelled`, label);
    return text(`computed ${label ?? ''} in ${seconds} s`);
  };

// tool → { input, support, work }
const tools = {
  slow_compute: {
    input: { seconds: z.number(), label: z.string().optional() },
    support: 'optional',
    work: compute('slow_compute'),
  },
  slow_job: {
    input: { seconds: z.number(), label: z.string().optional() },
    support: 'required',
    work: compute('slow_job'),
  },
  failing_job: {
    input: { label: z.string().optional() },
    support: 'required',
    async work({ label }) {
      executed('failing_job', label);
      await sleep(100);
      return { ...text('the job has failed'), isError: true };
    },
  },
  protocol_error_job: {
    input: { label: z.string().optional() },
    support: 'required',
    async work({ label }) {
      executed('protocol_error_job', label);
      await sleep(100);
      throw new Error('the job broke down');
    },
  },
  confirm_delete: {
    input: { filename: z.string() },
    support: 'required',
    async work({ filename }, { ask }) {
      const answer = await ask(form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }));
      if (!answer?.confirm) return text(`kept ${filename}`);
      executed('confirm_delete', filename);
      return text(`deleted ${filename}`);
    },
  },
  multi_input: {
    input: { label: z.string().optional() },
    support: 'required',
    async work({ label }, { ask }) {
      executed('multi_input', label);
      const first = await ask(form('First name?', { name: { type: 'string' } }));
      const last = await ask(form('Last name?', { name: { type: 'string' } }));
      return text(`${first?.name} ${last?.name}`);
    },
  },
};

function addTasks(server, name, { input, support, work }) {
  server.experimental.tasks.registerToolTask(
    name,
    { description: `Test tool: ${name}`, inputSchema: input, execution: { taskSupport: support } },
    {
      async createTask(args, extra) {
        const task = await extra.taskStore.createTask({ ttl: extra.taskRequestedTtl ?? 600000, pollInterval: Number(options.poll) });
        run(task.taskId, extra, (talk) => work(args, talk));
        return { task };
      },
      getTask: (args, extra) => extra.taskStore.getTask(extra.taskId),
      getTaskResult: (args, extra) => extra.taskStore.getTaskResult(extra.taskId),
    },
  );
}

function addPlain(server, name, { input, work }) {
  server.registerTool(name, { description: `Test tool: ${name}`, inputSchema: input }, async (args, extra) => {
    const ask = async (params) => {
      const answer = await extra.sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
      return answer.action === 'accept' ? answer.content : undefined;
    };
    const { progressToken } = extra._meta ?? {};
    const say = async (message) => {
      if (progressToken !== undefined)
        await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress: 1, message } });
    };
    return (await work(args, { say, ask, live: async () => !extra.signal.aborted })) ?? text('cancelled');
  });
}

function build() {
  const tasks = options.plain ? {} : { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const server = new McpServer(
    { name: 'holdfast-task-server', version: '1.0.0' },
    {
      capabilities: { tools: {}, ...tasks },
      ...(options.plain ? {} : { taskStore, taskMessageQueue: new InMemoryTaskMessageQueue() }),
      defaultTaskPollInterval: Number(options.poll),
    },
  );
  server.registerTool('greet', { inputSchema: { name: z.string().optional() } }, async ({ name }) => text(`Hello, ${name}!`));
  for (const [name, tool] of Object.entries(tools)) (options.plain ? addPlain : addTasks)(server, name, tool);
  return server;
}

const sessions = new Map();

async function transportFor(req, res, body) {
  const id = req.headers['mcp-session-id'];
  if (sessions.has(id)) return sessions.get(id);
  if (!body || !isInitializeRequest(body)) {
    res.writeHead(id ? 404 : 400, { 'Content-Type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id: body?.id ?? null, error: { code: -32001, message: 'Session not found' } }));
    return undefined;
  }
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => crypto.randomUUID(),
    onsessioninitialized: (sessionId) => sessions.set(sessionId, transport),
  });
  transport.onclose = () => sessions.delete(transport.sessionId);
  await build().connect(transport);
  return transport;
}

async function handle(req, res) {
  const parts = [];
  for await (const part of req) parts.push(part);
  const body = parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : undefined;
  if (body?.method === 'tasks/get') executed(body.method, body.params.taskId);
  await (await transportFor(req, res, body))?.handleRequest(req, res, body);
}

if (options.stdio) {
  await build().connect(new StdioServerTransport());
} else {
  const server = http.createServer(handle);
  server.listen(Number(options.port), '127.0.0.1', () => console.log(server.address().port));
}
process.on('SIGTERM', () => process.exit(0));
