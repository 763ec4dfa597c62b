// The official clients that know tasks, each with the same few verbs: `start` a tool, which gives a run with the id of its
// task, or none where the answer came at once; `resume` one by what was kept of it; and what a run `came` to.
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createTaskSessionFromClient } from '@modelcontextprotocol/ext-tasks/client';
import { connectHttp } from './lib.mjs';

const EXTENSION = 'io.modelcontextprotocol/tasks';
const info = { name: 'integration', version: '1' };
const capabilities = { elicitation: { form: {} } };
const terminal = (status) => ['completed', 'failed', 'cancelled'].includes(status);

// SDK 1.x, 2025-11-25.
function sdkOne(client) {
  const tasks = client.experimental.tasks;
  // Of a task that has failed the stream says no more than that.
  const settle = async (id, status) => {
    if (status === 'cancelled') return { status };
    try {
      return { status, result: await tasks.getTaskResult(id, CallToolResultSchema) };
    } catch (error) {
      return { status, error };
    }
  };
  const follow = async (messages, run) => {
    for await (const message of messages) {
      if (message.type === 'taskStatus') run.said.push(message.task.statusMessage);
      if (message.type === 'result') return { status: 'completed', result: message.result };
      if (message.type !== 'error') continue;
      if (!run.id) return { status: 'failed', error: message.error };
      return settle(run.id, (await tasks.getTask(run.id)).status);
    }
    throw new Error('the stream ended without an end');
  };
  return {
    async start(name, args, { asTask = true } = {}) {
      const messages = tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, asTask ? { task: { ttl: 60000 } } : {});
      const first = await messages.next();
      const run = { said: [] };
      if (first.value.type === 'taskCreated') run.id = run.reference = first.value.task.taskId;
      const all = async function* () {
        if (!run.id) yield first.value;
        else yield* messages;
      };
      run.came = follow(all(), run);
      return run;
    },
    async resume(id) {
      const status = async () => {
        for (;;) {
          const task = await tasks.getTask(id);
          if (terminal(task.status)) return task.status;
          await new Promise((resolve) => setTimeout(resolve, task.pollInterval ?? 100));
        }
      };
      return { id, reference: id, came: status().then((end) => settle(id, end)) };
    },
    cancel: (id) => tasks.cancelTask(id),
    list: async () => (await tasks.listTasks()).tasks.map(({ taskId }) => taskId),
  };
}

// ext-tasks speaks the extension over a transport of SDK 2.x, whose own client has no words for it.
function rawDispatch(transport) {
  const waiting = new Map();
  const inner = transport.onmessage;
  let count = 0;
  transport.onmessage = (message, extra) => {
    const resolve = waiting.get(message.id);
    if (!resolve || message.method) return inner(message, extra);
    waiting.delete(message.id);
    resolve(message.error ? { kind: 'error', error: message.error } : { kind: 'result', result: message.result });
  };
  return (request) =>
    new Promise((resolve, reject) => {
      const id = `raw-${++count}`;
      waiting.set(id, resolve);
      transport.send({ jsonrpc: '2.0', id, ...request }).catch(reject);
    });
}

// ext-tasks on SDK 2.x: 2025-11-25 or the extension, whichever the connection has.
function extTasks(client, modern, answer) {
  const session = createTaskSessionFromClient(client, {
    endpointId: 'test',
    onInputRequest: async (request) => answer(request.params),
    ...(modern && {
      rawDispatch: rawDispatch(client.transport),
      v2RequestFraming: {
        protocolVersion: '2026-07-28',
        clientInfo: info,
        clientCapabilities: { ...capabilities, extensions: { [EXTENSION]: {} } },
      },
    }),
  });
  const runOf = (execution) => {
    const run = { id: execution.handle?.taskId, reference: execution.handle && execution.serializeReference(), said: [] };
    run.came = execution
      .settle({ onEvent: (event) => event.type === 'task' && run.said.push(event.task.statusMessage) })
      .then(({ outcome }) => ({ status: outcome.status, result: outcome.result, error: outcome.error }));
    return run;
  };
  return {
    start: async (name, args, { asTask = true } = {}) =>
      runOf(await session.callTool(name, args, { task: { preference: asTask ? 'prefer' : 'allow' } })),
    resume: async (reference) => runOf(await session.resumeTask(reference)),
    cancel: (id) => session.cancelTask(id),
    list: async () => (await session.listTasks()).tasks.map(({ taskId }) => taskId),
  };
}

const kinds = {
  'sdk 1 tasks': { base: 'sdk 1', era: 'legacy' },
  'ext-tasks': { base: 'sdk 2', era: 'legacy' },
  'ext-tasks pinned': { base: 'sdk 2 pinned', era: 'modern' },
};

export const takers = Object.keys(kinds);
export const eraOf = (kind) => kinds[kind].era;

// What a connected client of lib.mjs knows of tasks.
export const verbsOf = (base, modern, client, answer) => (base === 'sdk 1' ? sdkOne(client) : extTasks(client, modern, answer));

// A client of `kind` that `connect(base, options)` has connected. `answer` is given what it is asked.
export async function takerOver(kind, connect, answer = () => ({ action: 'cancel' })) {
  const { base, era } = kinds[kind];
  const client = await connect(base, { capabilities });
  if (base === 'sdk 1') client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answer(params));
  return { ...verbsOf(base, era === 'modern', client, answer), client, close: () => client.close() };
}

export const connectTaker = (kind, url, context, answer) =>
  takerOver(kind, (base, options) => connectHttp(base, url, context, options), answer);
