// The upstream that the official conformance suite asks for, on the official server SDK, in both eras:
// 2025-11-25 with sessions and a resumable stream, 2026-07-28 stateless. Prints its port.
import http from 'node:http';
import crypto from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  McpServer,
  ResourceTemplate,
  acceptedContent,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  isInitializeRequest,
  isLegacyRequest,
} from '@modelcontextprotocol/server';
import {
  NodeStreamableHTTPServerTransport,
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
  toWebRequest,
} from '@modelcontextprotocol/node';

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
const STEP_MS = 50;

const states = createRequestStateCodec({ key: crypto.randomBytes(32) });
const text = (value) => ({ content: [{ type: 'text', text: value }] });
const object = (properties = {}, required = Object.keys(properties)) => ({ type: 'object', properties, required });
const string = { type: 'string' };
const none = fromJsonSchema({ type: 'object', properties: {} });

const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } },
  },
  properties: {
    name: string,
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: string,
    email: string,
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
};

function addContentTools(server) {
  const image = { type: 'image', data: PNG, mimeType: 'image/png' };
  const answers = {
    test_simple_text: [{ type: 'text', text: 'This is a simple text response for testing.' }],
    test_image_content: [image],
    test_audio_content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
    test_embedded_resource: [
      {
        type: 'resource',
        resource: {
          uri: 'test://embedded-resource',
          mimeType: 'text/plain',
          text: 'This is an embedded resource content.',
        },
      },
    ],
    test_multiple_content_types: [
      { type: 'text', text: 'Multiple content types test:' },
      image,
      {
        type: 'resource',
        resource: {
          uri: 'test://mixed-content-resource',
          mimeType: 'application/json',
          text: '{"test":"data","value":123}',
        },
      },
    ],
  };
  for (const [name, content] of Object.entries(answers)) {
    server.registerTool(name, { description: `Answers fixed content: ${name}`, inputSchema: none }, async () => ({
      content,
    }));
  }
  server.registerTool('test_error_handling', { description: 'Always fails', inputSchema: none }, async () => {
    throw new Error('This tool intentionally returns an error for testing');
  });
  server.registerTool(
    'json_schema_2020_12_tool',
    { description: 'Tool with JSON Schema 2020-12 features', inputSchema: fromJsonSchema(schema2020) },
    async (args) => text(JSON.stringify(args)),
  );
  server.registerTool(
    'test_param_header',
    {
      description: 'Has a parameter that travels as a header too',
      inputSchema: fromJsonSchema(object({ region: { type: 'string', 'x-mcp-header': 'Region' } }, [])),
    },
    async ({ region }) => text(`region: ${region}`),
  );
}

function addTalkingTools(server) {
  const log = (name) =>
    server.registerTool(name, { description: 'Logs while it works', inputSchema: none }, async (args, ctx) => {
      for (const line of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await ctx.mcpReq.log('info', line);
        await sleep(STEP_MS);
      }
      return text('Logged three times.');
    });
  log('test_tool_with_logging');
  log('test_logging_tool');
  server.registerTool(
    'test_tool_with_progress',
    { description: 'Reports progress', inputSchema: none },
    async (args, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (const progress of [0, 50, 100]) {
        if (progressToken !== undefined) {
          const params = { progressToken, progress, total: 100, message: `Completed step ${progress} of 100` };
          await ctx.mcpReq.notify({ method: 'notifications/progress', params });
        }
        await sleep(STEP_MS);
      }
      return text(String(progressToken));
    },
  );
  server.registerTool(
    'test_reconnection',
    { description: 'Closes its event stream in the middle', inputSchema: none },
    async (args, ctx) => {
      ctx.http?.closeSSE?.();
      await sleep(2 * STEP_MS);
      return text('Reconnection test completed.');
    },
  );
}

function addLegacyQuestions(server) {
  const ask = (name, description, inputSchema, params) =>
    server.registerTool(name, { description, inputSchema }, async (args, ctx) => {
      const answer = await ctx.mcpReq.elicitInput(params(args));
      return text(
        `Elicitation completed: action=${answer.action}, content=${JSON.stringify(answer.content ?? {})}`,
      );
    });
  server.registerTool(
    'test_sampling',
    { description: 'Asks the client for a completion', inputSchema: fromJsonSchema(object({ prompt: string })) },
    async ({ prompt }, ctx) => {
      const messages = [{ role: 'user', content: { type: 'text', text: prompt } }];
      const answer = await ctx.mcpReq.requestSampling({ messages, maxTokens: 100 });
      return text(`LLM response: ${answer.content.text ?? JSON.stringify(answer.content)}`);
    },
  );
  ask('test_elicitation', 'Asks the user', fromJsonSchema(object({ message: string })), ({ message }) => ({
    message,
    requestedSchema: object({
      username: { type: 'string', description: "User's response" },
      email: { type: 'string', description: "User's email address" },
    }),
  }));
  ask('test_elicitation_sep1034_defaults', 'Asks with defaults', none, () => ({
    message: 'Please review the defaults',
    requestedSchema: object(
      {
        name: { type: 'string', default: 'John Doe' },
        age: { type: 'integer', default: 30 },
        score: { type: 'number', default: 95.5 },
        status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
        verified: { type: 'boolean', default: true },
      },
      [],
    ),
  }));
  const titled = (word, label) =>
    [1, 2, 3].map((i) => ({ const: `value${i}`, title: `${['First', 'Second', 'Third'][i - 1]} ${label}` }));
  const options = ['option1', 'option2', 'option3'];
  ask('test_elicitation_sep1330_enums', 'Asks for choices', none, () => ({
    message: 'Please choose',
    requestedSchema: object(
      {
        untitledSingle: { type: 'string', enum: options },
        titledSingle: { type: 'string', oneOf: titled('value', 'Option') },
        legacyEnum: {
          type: 'string',
          enum: ['opt1', 'opt2', 'opt3'],
          enumNames: ['Option One', 'Option Two', 'Option Three'],
        },
        untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
        titledMulti: { type: 'array', items: { anyOf: titled('value', 'Choice') } },
      },
      [],
    ),
  }));
}

const askName = (message = 'What is your name?') =>
  inputRequired.elicit({ message, requestedSchema: object({ name: string }) });
const askModel = (prompt, maxTokens) =>
  inputRequired.createMessage({
    messages: [{ role: 'user', content: { type: 'text', text: prompt } }],
    maxTokens,
  });

// Each question of the modern era: what is asked for, and what is said once all answers are there.
function addModernQuestions(server) {
  const ask = (name, inputRequests, answer, options = {}) =>
    server.registerTool(name, { description: 'Needs input from the client', inputSchema: none }, async (args, ctx) => {
      const { inputResponses } = ctx.mcpReq;
      const given = (key) => inputResponse(inputResponses, key).kind !== 'missing';
      if (Object.keys(inputRequests).every(given)) return text(answer(inputResponses, ctx));
      const requestState = options.state ? await states.mint({ name }) : undefined;
      return inputRequired({ inputRequests, ...(requestState ? { requestState } : {}) });
    });
  const nameOf = (responses, key) => acceptedContent(responses, key)?.name;
  ask('test_input_required_result_elicitation', { user_name: askName() }, (r) => `Hello, ${nameOf(r, 'user_name')}!`);
  ask(
    'test_input_required_result_sampling',
    { capital_question: askModel('What is the capital of France?', 100) },
    (r) => r.capital_question.content.text,
  );
  ask('test_input_required_result_list_roots', { client_roots: inputRequired.listRoots() }, (r) =>
    r.client_roots.roots.map((root) => root.uri).join(' '),
  );
  const confirm = inputRequired.elicit({
    message: 'Please confirm',
    requestedSchema: object({ ok: { type: 'boolean' } }),
  });
  const stateful = (r, ctx) => (ctx.mcpReq.requestState() ? 'state-ok' : 'state-missing');
  ask('test_input_required_result_request_state', { confirm }, stateful, { state: true });
  ask('test_input_required_result_tampered_state', { confirm }, stateful, { state: true });
  ask(
    'test_input_required_result_multiple_inputs',
    { user_name: askName(), greeting: askModel('Generate a greeting', 50), client_roots: inputRequired.listRoots() },
    (r) => `${r.greeting.content.text} ${nameOf(r, 'user_name')}, ${r.client_roots.roots.length} roots`,
    { state: true },
  );
  addRounds(server);
  addCapabilityChecks(server);
}

function addRounds(server) {
  const rounds = [
    { step1: askName('Step 1: What is your name?') },
    {
      step2: inputRequired.elicit({
        message: 'Step 2: What is your favorite color?',
        requestedSchema: object({ color: string }),
      }),
    },
  ];
  server.registerTool(
    'test_input_required_result_multi_round',
    { description: 'Needs input twice', inputSchema: none },
    async (args, ctx) => {
      const round = ctx.mcpReq.requestState()?.round ?? 0;
      const key = `step${round}`;
      const next = round > 0 && inputResponse(ctx.mcpReq.inputResponses, key).kind === 'missing' ? round : round + 1;
      if (next > rounds.length) return text('All rounds done.');
      return inputRequired({ inputRequests: rounds[next - 1], requestState: await states.mint({ round: next }) });
    },
  );
}

function addCapabilityChecks(server) {
  const declared = (ctx) => ctx.mcpReq.envelope?.['io.modelcontextprotocol/clientCapabilities'] ?? {};
  server.registerTool(
    'test_input_required_result_capabilities',
    { description: 'Asks only for what the client can do', inputSchema: none },
    async (args, ctx) => {
      const can = declared(ctx);
      const inputRequests = {
        ...(can.elicitation ? { user_name: askName() } : {}),
        ...(can.sampling ? { greeting: askModel('Generate a greeting', 50) } : {}),
        ...(can.roots ? { client_roots: inputRequired.listRoots() } : {}),
      };
      return Object.keys(inputRequests).length > 0 ? inputRequired({ inputRequests }) : text('nothing to ask');
    },
  );
  server.registerTool(
    'test_missing_capability',
    { description: 'Needs sampling', inputSchema: none },
    async () => inputRequired({ inputRequests: { greeting: askModel('Generate a greeting', 50) } }),
  );
  server.registerTool(
    'test_streaming_elicitation',
    { description: 'Streams, then needs input', inputSchema: none },
    async (args, ctx) => {
      await ctx.mcpReq.log('info', 'about to ask');
      return inputRequired({ inputRequests: { user_name: askName() } });
    },
  );
}

function addPrompts(server, era) {
  const user = (content) => ({ role: 'user', content });
  const say = (value) => user({ type: 'text', text: value });
  server.registerPrompt('test_simple_prompt', { description: 'A simple prompt' }, async () => ({
    messages: [say('This is a simple prompt for testing.')],
  }));
  server.registerPrompt(
    'test_prompt_with_arguments',
    {
      description: 'A prompt with arguments',
      argsSchema: fromJsonSchema(
        object({
          arg1: { type: 'string', description: 'First test argument' },
          arg2: { type: 'string', description: 'Second test argument' },
        }),
      ),
    },
    async ({ arg1, arg2 }) => ({ messages: [say(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)] }),
  );
  server.registerPrompt(
    'test_prompt_with_embedded_resource',
    {
      description: 'A prompt with a resource in it',
      argsSchema: fromJsonSchema(object({ resourceUri: { type: 'string', description: 'What to embed' } })),
    },
    async ({ resourceUri }) => ({
      messages: [
        user({
          type: 'resource',
          resource: { uri: resourceUri, mimeType: 'text/plain', text: 'Embedded resource content for testing.' },
        }),
        say('Please process the embedded resource above.'),
      ],
    }),
  );
  server.registerPrompt('test_prompt_with_image', { description: 'A prompt with an image' }, async () => ({
    messages: [user({ type: 'image', data: PNG, mimeType: 'image/png' }), say('Please analyze the image above.')],
  }));
  if (era === 'modern') {
    const question = inputRequired.elicit({
      message: 'What context should the prompt use?',
      requestedSchema: object({ context: string }),
    });
    server.registerPrompt(
      'test_input_required_result_prompt',
      { description: 'A prompt that needs input' },
      async (ctx) => {
        const given = acceptedContent(ctx.mcpReq.inputResponses, 'user_context');
        if (!given) return inputRequired({ inputRequests: { user_context: question } });
        return { messages: [say(`Context: ${given.context}`)] };
      },
    );
  }
}

function addResources(server) {
  const fixed = (uri, name, mimeType, content) =>
    server.registerResource(name, uri, { description: `Fixed: ${name}`, mimeType }, async () => ({
      contents: [{ uri, mimeType, ...content }],
    }));
  fixed('test://static-text', 'static-text', 'text/plain', {
    text: 'This is the content of the static text resource.',
  });
  fixed('test://static-binary', 'static-binary', 'image/png', { blob: PNG });
  fixed('test://watched-resource', 'watched-resource', 'text/plain', { text: 'Watch me.' });
  server.registerResource(
    'template',
    new ResourceTemplate('test://template/{id}/data', { list: undefined }),
    { description: 'A resource with a parameter', mimeType: 'application/json' },
    async (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: 'application/json',
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
        },
      ],
    }),
  );
}

let modern;
let toolChanges = 0;
let promptChanges = 0;

// Really changes the lists: a notice without a change would be swallowed on the way. A modern server tells everybody,
// a legacy one its session.
function addChangers(server, era) {
  const description = (changes) => `Counts changes: ${changes}`;
  const tool = server.registerTool(
    'test_changing_tool',
    { description: description(toolChanges), inputSchema: none },
    async () => text('changing'),
  );
  const prompt = server.registerPrompt(
    'test_changing_prompt',
    { description: description(promptChanges) },
    async () => ({ messages: [{ role: 'user', content: { type: 'text', text: 'changing' } }] }),
  );
  const trigger = (name, act) =>
    server.registerTool(name, { description: 'Something changes', inputSchema: none }, async () => {
      await act();
      return text('changed');
    });
  trigger('test_trigger_tool_change', () => {
    toolChanges++;
    if (era === 'modern') modern.notify.toolsChanged();
    else tool.update({ description: description(toolChanges) });
  });
  trigger('test_trigger_prompt_change', () => {
    promptChanges++;
    if (era === 'modern') modern.notify.promptsChanged();
    else prompt.update({ description: description(promptChanges) });
  });
  trigger('test_trigger_resource_update', () => {
    const uri = 'test://watched-resource';
    if (era === 'modern') modern.notify.resourceUpdated(uri);
    else return server.server.sendResourceUpdated({ uri });
  });
}

function build({ era }) {
  const resources = { subscribe: true, listChanged: true };
  const server = new McpServer(
    { name: 'holdfast-conformance-fixture', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources,
        completions: {},
        logging: {},
      },
      requestState: { verify: states.verify },
    },
  );
  addContentTools(server);
  addTalkingTools(server);
  if (era === 'modern') {
    addModernQuestions(server);
  } else {
    addLegacyQuestions(server);
    server.server.setRequestHandler('resources/subscribe', async () => ({}));
    server.server.setRequestHandler('resources/unsubscribe', async () => ({}));
  }
  addChangers(server, era);
  addPrompts(server, era);
  addResources(server);
  server.server.setRequestHandler('completion/complete', async ({ params }) => {
    const words = ['paris', 'park', 'party', 'test-value'].filter((word) => word.startsWith(params.argument.value));
    return { completion: { values: words, total: words.length, hasMore: false } };
  });
  return server;
}

// Keeps what a closed stream missed, so that a client may resume it.
function eventStore() {
  const events = [];
  return {
    async storeEvent(streamId, message) {
      events.push({ streamId, message });
      return String(events.length);
    },
    async getStreamIdForEventId(eventId) {
      return events[Number(eventId) - 1]?.streamId;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const streamId = events[Number(lastEventId) - 1]?.streamId;
      for (let i = Number(lastEventId); i < events.length; i++) {
        const { streamId: id, message } = events[i];
        if (id === streamId && Object.keys(message).length > 0) await send(String(i + 1), message);
      }
      return streamId;
    },
  };
}

const sessions = new Map();

async function serveLegacy(req, res, body) {
  const id = req.headers['mcp-session-id'];
  let transport = sessions.get(id);
  if (!transport) {
    if (!body || !isInitializeRequest(body)) {
      res.writeHead(id ? 404 : 400, { 'Content-Type': 'application/json' });
      const error = { code: -32001, message: 'Session not found' };
      res.end(JSON.stringify({ jsonrpc: '2.0', id: body?.id ?? null, error }));
      return;
    }
    transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      eventStore: eventStore(),
      retryInterval: 100,
      onsessioninitialized: (sessionId) => sessions.set(sessionId, transport),
    });
    transport.onclose = () => sessions.delete(transport.sessionId);
    await build({ era: 'legacy' }).connect(transport);
  }
  await transport.handleRequest(req, res, body);
}

modern = createMcpHandler(build, { legacy: 'reject' });
const serveModern = toNodeHandler(modern);
const checkHost = localhostHostValidation();
const checkOrigin = localhostOriginValidation();

async function readBody(req) {
  const parts = [];
  for await (const part of req) parts.push(part);
  if (parts.length === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(parts).toString());
  } catch {
    return undefined;
  }
}

const server = http.createServer(async (req, res) => {
  if (!checkHost(req, res) || !checkOrigin(req, res)) return;
  const body = req.method === 'POST' ? await readBody(req) : undefined;
  const legacy = await isLegacyRequest(await toWebRequest(req, body));
  await (legacy ? serveLegacy(req, res, body) : serveModern(req, res, body));
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(server.address().port));
process.on('SIGTERM', () => process.exit(0));
