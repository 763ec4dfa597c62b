// The upstream that the suite's scenarios of tasks ask for: the extension io.modelcontextprotocol/tasks of 2026-07-28,
// on the official server SDK. With --plain it is the same server without tasks, which lets its callers wait, and asks by
// `input_required`. Prints its port; what it executes goes to the ledger, one line each.
//   node tasks.mjs [--plain] [--bare] [--port N] [--ledger FILE] [--poll MS]
// With --bare a task's result has no `resultType` of its own, as in the specification's examples.
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  Server,
  createMcpHandler,
  fromJsonSchema,
  inputRequired,
} from '@modelcontextprotocol/server';
import { localhostHostValidation, localhostOriginValidation, toNodeHandler } from '@modelcontextprotocol/node';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const INVALID_PARAMS = -32602;
const INTERNAL_ERROR = -32603;
const TTL_MS = 600000;

const { values: options } = parseArgs({
  options: {
    plain: { type: 'boolean', default: false },
    bare: { type: 'boolean', default: false },
    port: { type: 'string', default: '0' },
    ledger: { type: 'string' },
    poll: { type: 'string', default: '100' },
  },
});

const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const number = { type: 'number' };
const form = (message, properties) => inputRequired.elicit({ message, requestedSchema: object(properties) });

function executed(tool, key = '-') {
  if (options.ledger) fs.appendFileSync(options.ledger, `${tool} ${key}\n`);
}

// A call that goes on by itself. `work` may `say` how it is, `ask` its client, and should heed `signal`.
class Task {
  #pending = new Map();
  #abort = new AbortController();
  #payload = {};

  constructor(work) {
    this.taskId = crypto.randomUUID();
    this.status = 'working';
    this.createdAt = this.lastUpdatedAt = new Date().toISOString();
    work(this).then(
      (result) => this.#become('completed', { result: options.bare ? result : { resultType: 'complete', ...result } }),
      (error) => this.#become('failed', { error: { code: error.code ?? INTERNAL_ERROR, message: error.message } }),
    );
  }

  get signal() {
    return this.#abort.signal;
  }

  get ended() {
    return ['completed', 'failed', 'cancelled'].includes(this.status);
  }

  #become(status, payload = {}) {
    if (this.ended) return;
    this.status = status;
    this.#payload = payload;
    this.lastUpdatedAt = new Date().toISOString();
  }

  say(message) {
    this.statusMessage = message;
    this.lastUpdatedAt = new Date().toISOString();
  }

  // Resolves with the answer to each request, by key, as soon as all are there.
  async ask(requests) {
    const answers = Object.entries(requests).map(
      ([key, request]) => new Promise((resolve) => this.#pending.set(key, { request, resolve: (answer) => resolve([key, answer]) })),
    );
    this.#become('input_required');
    const all = await Promise.all(answers);
    this.#become('working');
    return Object.fromEntries(all);
  }

  update(responses) {
    for (const [key, answer] of Object.entries(responses)) {
      this.#pending.get(key)?.resolve(answer);
      this.#pending.delete(key);
    }
  }

  cancel() {
    this.#become('cancelled');
    this.#abort.abort();
  }

  seed() {
    const { taskId, status, statusMessage, createdAt, lastUpdatedAt } = this;
    return { taskId, status, ...(statusMessage && { statusMessage }), createdAt, lastUpdatedAt, ttlMs: TTL_MS, pollIntervalMs: Number(options.poll) };
  }

  detail() {
    const requests = [...this.#pending].map(([key, { request }]) => [key, request]);
    return { ...this.seed(), ...this.#payload, ...(this.status === 'input_required' && { inputRequests: Object.fromEntries(requests) }) };
  }
}

const accepted = (answer) => answer?.action === 'accept' && answer.content;

const compute =
  (tool) =>
  async ({ seconds, label }, answers, task, left) => {
    executed(tool, label);
    task?.say(`computing for ${seconds} s`);
    const signal = task?.signal ?? left;
    signal.addEventListener('abort', () => executed(`${tool}.cancelled`, label));
    await sleep(seconds * 1000, null, { signal });
    return text(`computed ${label ?? ''} in ${seconds} s`);
  };

// tool → what it takes, whether it is a task (`may`, `must`, `never`), and what it does with its arguments, the answers and
// the task that it is, or else a signal that its caller has left. What it `asks`, it asks as soon as it is a task, or else
// before it begins.
const tools = {
  greet: {
    schema: object({ name: string }, []),
    task: 'never',
    work: async ({ name }) => text(`Hello, ${name}!`),
  },
  slow_compute: {
    schema: object({ seconds: number, label: string }, ['seconds']),
    task: 'may',
    quick: ({ seconds }) => seconds === 0,
    work: compute('slow_compute'),
  },
  slow_job: {
    schema: object({ seconds: number, label: string }, ['seconds']),
    task: 'must',
    work: compute('slow_job'),
  },
  failing_job: {
    schema: object({ label: string }, []),
    task: 'must',
    work: async ({ label }, answers, task) => {
      executed('failing_job', label);
      await sleep(300, null, { signal: task?.signal });
      return { ...text('the job has failed'), isError: true };
    },
  },
  protocol_error_job: {
    schema: object({ label: string }, []),
    task: 'may',
    work: async ({ label }) => {
      executed('protocol_error_job', label);
      await sleep(100);
      throw new ProtocolError(INTERNAL_ERROR, 'the job broke down');
    },
  },
  confirm_delete: {
    schema: object({ filename: string }),
    task: 'must',
    asks: ({ filename }) => ({ confirm: form(`Delete ${filename}?`, { confirm: { type: 'boolean' } }) }),
    work: async ({ filename }, { confirm }) => {
      if (!accepted(confirm)?.confirm) return text(`kept ${filename}`);
      executed('confirm_delete', filename);
      return text(`deleted ${filename}`);
    },
  },
  multi_input: {
    schema: object({ label: string }, []),
    task: 'must',
    asks: () => ({ first: form('First name?', { name: string }), last: form('Last name?', { name: string }) }),
    work: async ({ label }, { first, last }) => {
      executed('multi_input', label);
      return text(`${accepted(first)?.name} ${accepted(last)?.name}`);
    },
  },
  test_tool_with_task: {
    schema: object({ label: string }, []),
    task: 'must',
    asksFirst: true,
    asks: () => ({ user_name: form('What is your name?', { name: string }) }),
    work: async ({ label }, answers, task) => {
      executed('test_tool_with_task', label);
      task?.say('greeting');
      await sleep(200, null, { signal: task?.signal });
      return text(`Hello, ${accepted(answers.user_name)?.name}!`);
    },
  },
};

const tasks = new Map();

const knowsTasks = (ctx) => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities']?.extensions?.[EXTENSION];

function mustKnowTasks(ctx) {
  if (!knowsTasks(ctx))
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [EXTENSION]: {} } } });
}

// What the tool asks before it begins and is not answered yet.
function openQuestions(tool, args, answers) {
  const asks = tool.asks?.(args) ?? {};
  return Object.keys(asks).every((key) => Object.hasOwn(answers, key)) ? undefined : asks;
}

async function call({ params }, ctx) {
  const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
  if (!tool) throw new ProtocolError(INVALID_PARAMS, `Unknown tool: ${params.name}`);
  const args = params.arguments ?? {};
  const answers = ctx.mcpReq.inputResponses ?? {};
  if (tool.task === 'must' && !options.plain) mustKnowTasks(ctx);
  const isTask = tool.task !== 'never' && !options.plain && !tool.quick?.(args) && knowsTasks(ctx);
  const questions = openQuestions(tool, args, answers);
  if (questions && (!isTask || tool.asksFirst)) return inputRequired({ inputRequests: questions });
  if (!isTask) return tool.work(args, answers, undefined, ctx.mcpReq.signal);
  const task = new Task(async (self) => tool.work(args, questions ? await self.ask(questions) : answers, self));
  tasks.set(task.taskId, task);
  return { resultType: 'task', ...task.seed() };
}

// The SDK takes every answer to tools/call for the tool's result, so one that is a task goes around its check.
class TaskServer extends Server {
  _wrapHandler(method, handler) {
    if (method !== 'tools/call') return super._wrapHandler(method, handler);
    return async (request, ctx) => {
      let task;
      const inner = async (...args) => {
        const result = await handler(...args);
        if (result.resultType !== 'task') return result;
        task = result;
        return { content: [] };
      };
      const result = await super._wrapHandler(method, inner)(request, ctx);
      return task ?? result;
    };
  }
}

function build() {
  const server = new TaskServer(
    { name: 'holdfast-task-fixture', version: '1.0.0' },
    { capabilities: { tools: {}, ...(options.plain ? {} : { extensions: { [EXTENSION]: {} } }) } },
  );
  const list = Object.entries(tools).map(([name, { schema }]) => ({ name, description: `Test tool: ${name}`, inputSchema: schema }));
  server.setRequestHandler('tools/list', async () => ({ tools: list }));
  server.setRequestHandler('tools/call', call);
  if (options.plain) return server;
  const about = (method, act) =>
    server.setRequestHandler(method, { params: fromJsonSchema(object({ taskId: string })) }, async (params, ctx) => {
      mustKnowTasks(ctx);
      const task = tasks.get(params.taskId);
      if (!task) throw new ProtocolError(INVALID_PARAMS, 'Task not found');
      return act(task, ctx);
    });
  about('tasks/get', (task) => (executed('tasks/get', task.taskId), task.detail()));
  about('tasks/update', (task, ctx) => (task.update(ctx.mcpReq.inputResponses ?? {}), {}));
  about('tasks/cancel', (task) => (task.cancel(), {}));
  return server;
}

const serve = toNodeHandler(createMcpHandler(build, { legacy: 'reject' }));
const checkHost = localhostHostValidation();
const checkOrigin = localhostOriginValidation();
const server = http.createServer(async (req, res) => {
  if (checkHost(req, res) && checkOrigin(req, res)) await serve(req, res);
});
server.listen(Number(options.port), '127.0.0.1', () => console.log(server.address().port));
process.on('SIGTERM', () => process.exit(0));
