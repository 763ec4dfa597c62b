// A server whose every answer follows from its seed and what it was asked: the same conversation gets the same bytes, on
// whichever transport. It speaks one era. What it was sent, without what a gateway may put there, goes back in the answer.
import http from 'node:http';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Chance, Writer, hash, member, parts, without } from './json.mjs';

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
export const uris = ['test://one', 'test://two', 'file:///a%20b', 'urn:x:y'];
export const toolNames = ['any', 'typed', 'fails', 'refuses', 'progress', 'logs', 'change', 'touch', 'wait', 'journal', 'asks'];
// An id as it is spelt when it comes back.
const plain = (id) => JSON.stringify(JSON.parse(id));
const kinds = { tools: 'tools', prompts: 'prompts', resources: 'resources' };

// One per place where notices can go: a session, a child, a listen stream.
class Peer {
  constructor(send) {
    this.send = send;
    this.level = undefined;
    this.uris = new Set();
    this.kinds = new Set(Object.keys(kinds));
    this.tag = undefined;
  }
}

export class Server {
  constructor({ seed, era, broken }) {
    this.seed = seed;
    this.modern = era === 'modern';
    this.broken = broken;
    this.round = 0;
    this.peers = new Set();
    this.held = new Map(); // id → how to end the call
    this.listens = new Map();
    this.cancelled = 0;
    this.waiting = new Set();
    this.questions = new Map(); // id → what is done with the answer
  }

  writer(salt) {
    return new Writer(new Chance(hash(`${this.seed} ${salt}`)), this.broken);
  }

  // Waits until `condition` holds; what may change it calls stir().
  until(condition) {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('the server waited in vain')), 5000);
      const look = () => {
        if (!condition()) return;
        clearTimeout(timer);
        this.waiting.delete(look);
        resolve();
      };
      this.waiting.add(look);
    });
  }

  stir() {
    for (const look of [...this.waiting]) look();
  }

  result(w, members, cacheable) {
    const own = w.chance.in(3) ? w.object({ 'x.example/a': w.value(), ...w.unknown() }) : undefined;
    const modern = this.modern ? { resultType: '"complete"' } : {};
    const cached = this.modern && cacheable ? { ttlMs: '60000', cacheScope: '"private"' } : {};
    return w.object({ ...w.unknown(), ...modern, ...cached, ...(own && { _meta: own }), ...members });
  }

  item(w, members) {
    return w.object({ ...w.unknown(), title: w.chance.in(2) ? w.string() : undefined, description: w.string(), ...members });
  }

  tools() {
    const w = this.writer(`tools ${this.round}`);
    const any = () => w.object({ type: '"object"', ...w.unknown() });
    const typed = w.object({
      type: '"object"',
      properties: w.object({ n: '{"type":"integer"}', s: '{"type":"string"}', l: '{"type":"array","items":{"type":"number"}}' }),
      required: '["n"]',
    });
    const output = '{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}';
    return toolNames.map((name) =>
      this.item(w, {
        name: `"${name}"`,
        inputSchema: name === 'typed' ? typed : any(),
        outputSchema: name === 'typed' ? output : undefined,
        annotations: w.chance.in(2) ? w.object({ readOnlyHint: w.chance.one(['true', 'false']), ...w.unknown() }) : undefined,
      }));
  }

  prompts() {
    const w = this.writer(`prompts ${this.round}`);
    return ['p1', 'p2', 'p.3'].map((name) => this.item(w, { name: `"${name}"`, arguments: '[{"name":"a"}]' }));
  }

  resources() {
    const w = this.writer(`resources ${this.round}`);
    return uris.map((uri) => this.item(w, { uri: `"${uri}"`, name: w.string(), size: w.chance.one(['1', '1e3', undefined]) }));
  }

  templates() {
    const w = this.writer('templates');
    return ['test://t/{x}', 'test://u/{+y}'].map((uriTemplate) => this.item(w, { uriTemplate: `"${uriTemplate}"`, name: w.string() }));
  }

  block(w) {
    const annotations = w.chance.in(4) ? w.object({ priority: '0.5', ...w.unknown() }) : undefined;
    const rest = { annotations, ...w.unknown() };
    switch (w.chance.below(6)) {
      case 0: return w.object({ type: '"image"', data: '"aGk="', mimeType: '"image/png"', ...rest });
      case 1: return w.object({ type: '"resource_link"', uri: `"${w.chance.one(uris)}"`, name: w.string(), ...rest });
      case 2: return w.object({ type: '"resource"', resource: this.contents(w, w.chance.one(uris)), ...rest });
      case 3: return w.object({ type: '"x-example"', [`x-${w.chance.below(3)}`]: w.value(), ...rest });
      default: return w.object({ type: '"text"', text: w.string(), ...rest });
    }
  }

  contents(w, uri) {
    const content = w.chance.in(2) ? { text: w.string() } : { blob: '"AAEC"' };
    return w.object({ uri: JSON.stringify(uri), mimeType: w.chance.in(2) ? '"text/plain"' : undefined, ...content, ...w.unknown() });
  }

  blocks(w, echo) {
    const list = Array.from({ length: w.chance.below(4) }, () => this.block(w));
    if (echo !== undefined) list.push(w.object({ type: '"text"', text: JSON.stringify(echo) }));
    return w.array(list);
  }

  notice(method, params) {
    return `{"jsonrpc":"2.0","method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`;
  }

  tell(peer, method, w, members) {
    const meta = peer.tag === undefined ? {} : { _meta: `{"${SUBSCRIPTION}":${peer.tag}}` };
    peer.send(this.notice(method, w.object({ ...members, ...meta })));
  }

  async change(w) {
    this.round++;
    for (const kind of Object.keys(kinds)) {
      await this.until(() => [...this.peers].some((peer) => peer.kinds.has(kind)));
      for (const peer of this.peers)
        if (peer.kinds.has(kind)) this.tell(peer, `notifications/${kind}/list_changed`, this.writer('note'), {});
    }
    return this.result(w, { content: '[]' });
  }

  async touch(w, args) {
    await this.until(() => [...this.peers].some((peer) => peer.uris.has(args.uri)));
    for (const peer of this.peers)
      if (peer.uris.has(args.uri))
        this.tell(peer, 'notifications/resources/updated', this.writer(`touch ${args.uri}`), { uri: JSON.stringify(args.uri), 'x-a': '1E2' });
    return this.result(w, { content: '[]' });
  }

  // Is heard of once, and answered never.
  wait(request, send) {
    this.progress({ steps: 1 }, request.token, send);
    return new Promise((resolve) => this.held.set(plain(request.id), resolve)).then(() => undefined);
  }

  cancel(id) {
    this.listens.get(id)?.();
    this.listens.delete(id);
    if (!this.held.has(id)) return;
    this.cancelled++;
    this.held.get(id)();
    this.held.delete(id);
    this.stir();
  }

  logs(args, level, send) {
    for (const [i, own] of (args.levels ?? []).entries()) {
      if (level === undefined || levels.indexOf(own) < levels.indexOf(level)) continue;
      const w = this.writer(`log ${i} ${own}`);
      send(this.notice('notifications/message', w.object({ level: `"${own}"`, data: w.value(), 'x-l': '-0' })));
    }
  }

  progress(args, token, send) {
    if (token === undefined) return;
    const own = this.writer('progress');
    for (let i = 1; i <= (args.steps ?? 0); i++)
      send(this.notice('notifications/progress',
        own.object({ progressToken: token, progress: `${i}.0`, total: '1e2', message: own.string(), ...own.unknown() })));
  }

  question(w, method) {
    const said = w.object({ role: '"user"', content: this.block(w), ...w.unknown() });
    const params = {
      'elicitation/create': { message: w.string(), requestedSchema: `{"type":"object","properties":{"a":{"type":"string"}}}`, ...w.unknown() },
      'sampling/createMessage': { messages: w.array([said]), maxTokens: '1e2', ...w.unknown() },
      'roots/list': w.chance.in(2) ? undefined : w.unknown(),
    }[method];
    return { method: `"${method}"`, params: params && w.object(params) };
  }

  // Asks one after the other, by requests; what it was answered is in the result.
  async ask(asks, send) {
    const answers = [];
    for (const [i, method] of asks.entries()) {
      const id = `${1 + this.questions.size}`;
      const answered = new Promise((resolve) => this.questions.set(id, resolve));
      const w = this.writer(`question ${i} ${method}`);
      send(w.object({ jsonrpc: '"2.0"', id, ...this.question(w, method) }));
      const answer = await answered;
      answers.push(member(answer, 'result')?.raw ?? member(answer, 'error').raw);
    }
    return answers;
  }

  // Asks all that is left, some now and the rest in the next round. What it was answered is in the params of the request.
  askByResult(w, asks, state) {
    const from = state === undefined ? 0 : Number(state.slice(0, 1));
    if (from >= asks.length) return undefined;
    const to = Math.min(asks.length, from + 1 + w.chance.below(2));
    const now = asks.slice(from, to).map((method, i) => [`${w.chance.one(['q', 'ä', 'a b'])}-${from + i}`, w.object(this.question(w, method))]);
    const requestState = `"${to}${w.string().slice(1)}`;
    return w.object({ ...w.unknown(), resultType: '"input_required"', inputRequests: w.object(Object.fromEntries(now)), requestState });
  }

  async call(w, request, { peer, send }) {
    const { name, arguments: args = {} } = request.message.params;
    const content = () => this.blocks(w, request.seen);
    if (name === 'wait') return this.wait(request, send);
    if (name === 'change') return this.change(w);
    if (name === 'touch') return this.touch(w, args);
    if (name === 'journal') {
      await this.until(() => this.cancelled >= args.count);
      const cancelled = String(this.cancelled);
      this.cancelled = 0;
      return this.result(w, { content: '[]', 'x-cancelled': cancelled });
    }
    if (name === 'refuses') {
      const data = w.chance.one([undefined, w.object({ ...w.members(), 'x-d': '1' }), w.string(), 'null', '{}']);
      throw Object.assign(new Error(), {
        raw: w.object({ code: w.chance.one(['-32000', '-32603', '7', '-32050']), message: w.string(), data, ...w.unknown() }),
      });
    }
    if (name === 'asks') {
      const asking = this.modern ? this.askByResult(w, args.asks, request.message.params.requestState) : undefined;
      if (asking) return asking;
      const answers = this.modern ? [] : await this.ask(args.asks, send);
      return this.result(w, { content: content(), 'x-answers': w.array(answers) });
    }
    if (name === 'logs') this.logs(args, this.modern ? request.meta['io.modelcontextprotocol/logLevel'] : peer.level, send);
    if (name === 'progress') this.progress(args, request.token, send);
    if (name === 'fails') return this.result(w, { content: content(), isError: 'true' });
    if (name === 'typed')
      return this.result(w, { content: content(), structuredContent: w.object({ n: '1.50', 'x-s': w.value() }) });
    const structured = w.chance.in(3) ? w.object(w.members()) : undefined;
    return this.result(w, { content: content(), structuredContent: structured, isError: w.chance.in(3) ? 'false' : undefined });
  }

  page(w, list, items, cursor) {
    const size = 3;
    const from = cursor === undefined ? 0 : Number(cursor.slice(1));
    const next = from + size < items.length ? `"c${from + size}"` : undefined;
    return this.result(w, { [list]: w.array(items.slice(from, from + size)), nextCursor: next }, true);
  }

  capabilities() {
    return '{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}';
  }

  greet(w) {
    const info = this.writer('info').object({ name: '"fixture"', version: '"1.0"', title: '"A \\u00e4"', 'x-i': '1.0' });
    const about = { capabilities: this.capabilities(), instructions: this.writer('greeting').string() };
    if (!this.modern) return w.object({ protocolVersion: '"2025-11-25"', serverInfo: info, ...about });
    const meta = w.object({ 'io.modelcontextprotocol/serverInfo': info });
    return w.object({
      resultType: '"complete"', supportedVersions: '["2026-07-28"]', ttlMs: '60000', cacheScope: '"private"', _meta: meta, ...about,
    });
  }

  async answer(request, from) {
    const { method, params } = request.message;
    const w = this.writer(`${method} ${request.seen}`);
    switch (method) {
      case 'initialize':
      case 'server/discover': return this.greet(this.writer(method));
      case 'ping': return '{}';
      case 'tools/list': return this.page(w, 'tools', this.tools(), params?.cursor);
      case 'prompts/list': return this.page(w, 'prompts', this.prompts(), params?.cursor);
      case 'resources/list': return this.page(w, 'resources', this.resources(), params?.cursor);
      case 'resources/templates/list': return this.page(w, 'resourceTemplates', this.templates(), params?.cursor);
      case 'tools/call': return this.call(w, request, from);
      case 'prompts/get': {
        const messages = Array.from({ length: w.chance.below(3) }, () => w.object({ role: '"user"', content: this.block(w), ...w.unknown() }));
        return this.result(w, { messages: w.array(messages), description: JSON.stringify(request.seen) });
      }
      case 'resources/read': return this.result(w, { contents: w.array([this.contents(w, params.uri)]), 'x-seen': JSON.stringify(request.seen) }, true);
      case 'completion/complete':
        return this.result(w, { completion: w.object({ values: w.array([w.string()]), total: '1e1', ...w.unknown() }), 'x-seen': JSON.stringify(request.seen) });
      case 'logging/setLevel':
        from.peer.level = params.level;
        return '{}';
      case 'resources/subscribe':
        from.peer.uris.add(params.uri);
        this.stir();
        return '{}';
      case 'resources/unsubscribe':
        from.peer.uris.delete(params.uri);
        return '{}';
      default: throw Object.assign(new Error(), { raw: '{"code":-32601,"message":"Method not found"}' });
    }
  }

  // Reads a request: `seen` is all of its params but what the way there adds to `_meta`.
  read(text) {
    const message = JSON.parse(text);
    const id = member(text, 'id')?.raw;
    let raw = member(text, 'params')?.raw;
    const meta = raw && member(raw, '_meta')?.raw;
    const token = meta && member(meta, 'progressToken')?.raw;
    let seen = raw === undefined ? '' : without(raw, '_meta');
    for (const { key, raw: value } of meta ? parts(meta) : [])
      if (key !== 'progressToken' && !key.startsWith('io.modelcontextprotocol/')) seen += ` ${key}=${value}`;
    seen = seen.replace(/^\{\s*\}/, '');
    return { message, id, token, seen, meta: message.params?._meta ?? {} };
  }

  // Answers one message. `from.send` is the stream of this request; resolves when the answer is out.
  async take(text, from) {
    const request = this.read(text);
    const { method, params } = request.message;
    if (method === 'notifications/cancelled') this.cancel(JSON.stringify(params.requestId));
    if (method === undefined) this.questions.get(request.id)?.(text);
    if (request.id === undefined || method === undefined) return;
    if (method === 'subscriptions/listen') {
      this.listen(request, from);
      return;
    }
    let body;
    try {
      const result = await this.answer(request, from);
      if (result === undefined) return;
      body = { result };
    } catch (error) {
      if (!error.raw) console.error(error);
      body = { error: error.raw ?? `{"code":-32603,"message":${JSON.stringify(error.message)}}` };
    }
    from.send(this.writer(`envelope ${request.seen}`).object({ jsonrpc: '"2.0"', id: request.id, ...body }), true);
  }

  listen(request, from) {
    const wanted = request.message.params.notifications;
    const peer = new Peer(from.send);
    peer.tag = request.id;
    peer.kinds = new Set(Object.keys(kinds).filter((kind) => wanted[`${kind}ListChanged`]));
    peer.uris = new Set(wanted.resourceSubscriptions ?? []);
    this.peers.add(peer);
    const end = () => this.peers.delete(peer);
    from.closed?.(end);
    this.listens.set(plain(request.id), end);
    const agreed = member(member(JSON.stringify(request.message), 'params').raw, 'notifications').raw;
    from.send(this.notice('notifications/subscriptions/acknowledged', `{"notifications":${agreed},"_meta":{"${SUBSCRIPTION}":${request.id}}}`));
    this.stir();
  }

  join(send) {
    const peer = new Peer(send);
    this.peers.add(peer);
    this.stir();
    return peer;
  }
}

// Lines in, lines out.
export function serveLines(server, input, output) {
  const send = (text) => output.write(`${text}\n`);
  const peer = server.modern ? undefined : server.join(send);
  readline.createInterface({ input, crlfDelay: Infinity }).on('line', (line) => {
    if (line) void server.take(line, { send, peer });
  });
}

const event = (text, id) => `${id ? `id: ${id}\n` : ''}event: message\n${text.split('\n').map((line) => `data: ${line}\n`).join('')}\n`;

// The stream of one legacy request, which the server may cut after its first event; who comes back with the id of the last
// event gets the rest.
class Stream {
  constructor(id, response, cuts) {
    this.id = id;
    this.response = response;
    this.cuts = cuts;
    this.events = [];
    this.ended = false;
    response.write(`id: ${id}:0\nretry: 5\ndata:\n\n`);
  }

  send(text, final) {
    this.events.push(text);
    this.ended ||= Boolean(final);
    const cut = this.cuts && this.events.length === 1;
    if (!cut) this.response?.write(event(text, `${this.id}:${this.events.length}`));
    if (cut || final) this.leave();
  }

  leave() {
    this.response?.end();
    this.response = undefined;
  }

  resume(response, from) {
    this.response = response;
    for (let i = from; i < this.events.length; i++) response.write(event(this.events[i], `${this.id}:${i + 1}`));
    if (this.ended) this.leave();
  }
}

class HttpFront {
  constructor(server) {
    this.server = server;
    this.sessions = new Map();
    this.streams = new Map();
  }

  stream(response, cuts) {
    const id = `x${this.streams.size}`;
    this.open(response);
    const stream = new Stream(id, response, cuts);
    this.streams.set(id, stream);
    return stream;
  }

  open(response) {
    if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  }

  session(request, response, method) {
    if (this.server.modern) return undefined;
    if (method !== 'initialize') return this.sessions.get(request.headers['mcp-session-id']);
    const id = `s${this.sessions.size + 1}-${Math.random().toString(36).slice(2)}`;
    const session = { peer: this.server.join((text) => session.stream?.write(event(text))) };
    this.server.peers.delete(session.peer); // until it has a stream
    this.sessions.set(id, session);
    response.setHeader('Mcp-Session-Id', id);
    return session;
  }

  async post(request, response, text) {
    const { method, id } = JSON.parse(text);
    const session = this.session(request, response, method);
    if (!this.server.modern && !session) return void response.writeHead(404).end();
    if (id === undefined || method === undefined) {
      await this.server.take(text, {});
      return void response.writeHead(202).end();
    }
    const raw = this.server.read(text).id;
    const chosen = hash(text.slice(text.indexOf('"method"')));
    const asStream = chosen % 2;
    let stream;
    let last = false;
    response.on('close', () => {
      if (!last && this.server.modern) this.server.cancel(plain(raw));
    });
    const send = (message, final) => {
      last = Boolean(final);
      if (final && !asStream && !response.headersSent) {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(message);
        return;
      }
      if (!this.server.modern) {
        stream ??= this.stream(response, chosen % 9 === 0);
        stream.send(message, final);
        return;
      }
      this.open(response);
      response.write(event(message));
      if (final) response.end();
    };
    const closed = (end) => response.on('close', end);
    await this.server.take(text, { send, peer: session?.peer, closed });
    if (!last && method !== 'subscriptions/listen') stream ? stream.leave() : response.end();
  }

  get(request, response) {
    const session = this.sessions.get(request.headers['mcp-session-id']);
    if (!session) return void response.writeHead(this.server.modern ? 405 : 404).end();
    this.open(response);
    const [id, from] = request.headers['last-event-id']?.split(':') ?? [];
    if (id) return this.streams.get(id).resume(response, Number(from));
    response.write(': open\n\n');
    session.stream = response;
    this.server.peers.add(session.peer);
    this.server.stir();
  }

  remove(request, response) {
    const session = this.sessions.get(request.headers['mcp-session-id']);
    if (!session) return void response.writeHead(404).end();
    session.stream?.end();
    this.server.peers.delete(session.peer);
    this.sessions.delete(request.headers['mcp-session-id']);
    response.writeHead(204).end();
  }

  handle(request, response) {
    if (request.method === 'GET') return this.get(request, response);
    if (request.method === 'DELETE') return this.remove(request, response);
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => void this.post(request, response, Buffer.concat(chunks).toString()));
  }
}

export async function serveHttp(server) {
  const front = new HttpFront(server);
  const listener = http.createServer((request, response) => front.handle(request, response));
  listener.keepAliveTimeout = 60000;
  await new Promise((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${listener.address().port}/mcp`, close: () => listener.closeAllConnections() ?? listener.close() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [era, seed] = process.argv.slice(2);
  serveLines(new Server({ era, seed: Number(seed), broken: false }), process.stdin, process.stdout);
}
