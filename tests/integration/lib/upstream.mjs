// A raw MCP server, over HTTP or behind the relay as a child's pipes. What a case doesn't speak of (handshake, lists,
// pings) it answers by itself; the rest lands in the inbox for the case to answer, byte by byte if need be.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import zlib from 'node:zlib';
import { Mailbox } from './mailbox.mjs';
import { chunk, requestReader, response, streamHead } from './http.mjs';

const TOOLS = [
  { name: 'unsafe', inputSchema: { type: 'object' } },
  { name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } },
  { name: 'put', inputSchema: { type: 'object' }, annotations: { idempotentHint: true, destructiveHint: false } },
];

class Upstream {
  constructor(name, options = {}) {
    const { manual = [], tools = TOOLS, capabilities = { tools: { listChanged: true } }, era = 'legacy' } = options;
    this.name = name;
    this.era = era;
    this.lists = { tools, resources: options.resources, resourceTemplates: options.templates, prompts: options.prompts };
    this.lifetime = options.lifetime ?? { ttlMs: 60000, cacheScope: 'private' }; // of what a modern one says
    this.inbox = new Mailbox(`upstream ${name}`);
    this.manual = new Set(manual); // methods that the case answers itself
    this.capabilities = capabilities;
    this.counts = {};
    this.ids = new Set(); // of requests seen, to catch an id that comes twice
    this.connections = new Set();
    this.starts = 0;
    this.failing = {}; // method → HTTP status
  }

  // Sorts a message: answered here, or for the case.
  arrive(item) {
    const { message } = item;
    const method = message?.method ?? (message === undefined ? 'noise' : 'answer');
    this.counts[method] = (this.counts[method] ?? 0) + 1;
    if (message?.method && message.id !== undefined && method !== 'server/discover') {
      item.repeated = this.ids.has(`${item.conn.number} ${JSON.stringify(message.id)}`);
      this.ids.add(`${item.conn.number} ${JSON.stringify(message.id)}`);
    }
    if (this.failing[method]) {
      item.conn.socket.write(response(this.failing[method], { 'Content-Type': 'text/plain' }, 'made to fail'));
      return;
    }
    const automatic = !this.manual.has(method) && this.automatic(method, message);
    if (automatic === undefined || automatic === false) this.inbox.push(item);
    else if (automatic !== null) this.answer(item, automatic);
    else this.acknowledge(item);
  }

  // A request that was sent elsewhere may come again with its id.
  allowAgain({ message, conn }) {
    this.ids.delete(`${conn.number} ${JSON.stringify(message.id)}`);
  }

  get tools() {
    return this.lists.tools;
  }

  set tools(tools) {
    this.lists.tools = tools;
  }

  listed(kind) {
    const items = this.lists[kind];
    if (items === undefined) return undefined;
    const modern = this.era === 'modern' ? { resultType: 'complete', ...this.lifetime } : {};
    return { result: { [kind]: items, ...modern } };
  }

  discovered() {
    if (this.era !== 'modern') return { error: { code: -32601, message: 'Method not found' } };
    const { capabilities, lifetime } = this;
    return { result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities, ...lifetime } };
  }

  // The members of the answer; null for a notification to swallow; undefined if the case has to speak.
  automatic(method, message) {
    switch (method) {
      case 'initialize':
        if (this.era === 'modern') return { error: { code: -32601, message: 'Method not found' } };
        return {
          result: {
            protocolVersion: message.params.protocolVersion,
            capabilities: this.capabilities,
            serverInfo: { name: this.name, version: '1' },
          },
        };
      case 'server/discover':
        return this.discovered();
      case 'tools/list':
        return this.listed('tools');
      case 'resources/list':
        return this.listed('resources');
      case 'resources/templates/list':
        return this.listed('resourceTemplates');
      case 'prompts/list':
        return this.listed('prompts');
      case 'ping':
        return { result: {} };
      case 'notifications/initialized':
        return null;
      default:
        return undefined;
    }
  }
}

export class PipeUpstream extends Upstream {
  constructor(name, options, dir) {
    super(name, options);
    this.path = `${dir}/${name}.sock`;
    this.server = net.createServer({ allowHalfOpen: true }, (socket) => this.connect(socket));
  }

  listen() {
    return new Promise((resolve) => this.server.listen(this.path, resolve));
  }

  settings(relay) {
    return { command: relay, args: [this.path] };
  }

  connect(socket) {
    const conn = { socket, pid: undefined, number: ++this.starts };
    let rest = '';
    this.connections.add(conn);
    this.current = conn;
    socket.setEncoding('utf8');
    socket.on('error', () => {});
    socket.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.readLine(conn, line);
    });
    socket.on('end', () => {
      conn.ended = true;
      this.inbox.push({ gone: true, conn });
      if (!this.deaf) socket.end(); // a well-behaved server ends with its input
    });
    socket.on('close', () => this.connections.delete(conn));
  }

  readLine(conn, line) {
    if (conn.pid === undefined) {
      conn.pid = Number(line);
      this.inbox.push({ started: conn.pid, conn });
      return;
    }
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      message = undefined;
    }
    this.arrive({ message, text: line, conn });
  }

  answer({ message, conn }, members) {
    conn.socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, ...members })}\n`);
  }

  acknowledge() {}

  say(item, message) {
    (item?.conn ?? this.current).socket.write(`${JSON.stringify(message)}\n`);
  }

  raw(item, bytes) {
    (item?.conn ?? this.current).socket.write(Buffer.from(bytes, 'latin1'));
  }

  kill(signal = 'SIGKILL') {
    process.kill(this.current.pid, signal);
  }

  // The child ends by itself: its pipes close, it exits with 1.
  exit() {
    this.current.socket.end();
  }

  close() {
    for (const { socket } of this.connections) socket.destroy();
    this.server.close();
  }
}

const CODERS = {
  gzip: { name: 'gzip', all: zlib.gzipSync, stream: zlib.createGzip },
  deflate: { name: 'deflate', all: zlib.deflateSync, stream: zlib.createDeflate },
  'deflate-raw': { name: 'deflate', all: zlib.deflateRawSync, stream: zlib.createDeflateRaw },
  'x-gzip': { name: 'X-GZIP', all: zlib.gzipSync, stream: zlib.createGzip },
};

export class HttpUpstream extends Upstream {
  constructor(name, options) {
    super(name, options);
    this.port = 0;
    this.sessions = new Set();
    this.sessionless = options.sessionless ?? false;
    this.lost = undefined; // how a request with an unknown session is told so
    this.path = options.path ?? '/mcp';
  }

  makeServer() {
    return net.createServer((socket) => this.connect(socket));
  }

  async listen() {
    this.server = this.makeServer();
    await new Promise((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = this.server.address().port;
  }

  settings() {
    return { url: `http://127.0.0.1:${this.port}${this.path}` };
  }

  connect(socket) {
    const conn = { socket, number: ++this.starts };
    this.connections.add(conn);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.connections.delete(conn);
      this.inbox.push({ gone: true, conn });
    });
    socket.on(
      'data',
      requestReader((request) => this.readRequest(conn, request)),
    );
  }

  readRequest(conn, request) {
    const session = request.headers['mcp-session-id'];
    if (request.verb !== 'POST') {
      this.counts[request.verb] = (this.counts[request.verb] ?? 0) + 1;
      if (this.manual.has(request.verb)) this.inbox.push({ message: { method: request.verb }, request, conn });
      else conn.socket.write(response(request.verb === 'DELETE' ? 200 : 405, {}));
      return;
    }
    let message;
    try {
      message = JSON.parse(request.text);
    } catch {
      message = undefined;
    }
    const item = { message, text: request.text, request, conn };
    const opening = ['initialize', 'server/discover'].includes(message?.method);
    if (!this.sessionless && !opening && !this.sessions.has(session) && this.counts.initialize) {
      this.counts.lost = (this.counts.lost ?? 0) + 1;
      conn.socket.write(this.sayLost(message));
      return;
    }
    this.arrive(item);
  }

  sayLost(message) {
    const how = String(this.lost ?? 404);
    const error = { code: how.length > 3 ? Number(how) : -32001, message: 'Session not found' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: message?.id ?? null, error });
    return response(how.length === 3 ? Number(how) : 200, { 'Content-Type': 'application/json' }, body);
  }

  answer({ message, conn }, members) {
    const headers = { 'Content-Type': 'application/json' };
    if (message.method === 'initialize' && members.result && !this.sessionless) {
      const session = `${this.name}-${this.sessions.size + 1}-${process.pid}`;
      this.sessions.add(session);
      headers['Mcp-Session-Id'] = session;
    }
    conn.socket.write(response(200, headers, JSON.stringify({ jsonrpc: '2.0', id: message.id, ...members })));
  }

  acknowledge({ conn }) {
    conn.socket.write(response(202, {}));
  }

  say({ conn }, message) {
    this.event({ conn }, JSON.stringify(message));
  }

  // With a Content-Encoding in `headers`, all that follows on the stream is compressed.
  stream({ conn }, headers) {
    conn.streaming = true;
    conn.coder = CODERS[headers?.['Content-Encoding']]?.stream();
    conn.coder?.on('data', (bytes) => conn.socket.write(chunk(bytes)));
    conn.coder?.on('end', () => conn.socket.write('0\r\n\r\n'));
    conn.socket.write(streamHead(headers));
  }

  event(item, data) {
    this.streamText(item, `event: message\ndata: ${data}\n\n`);
  }

  streamText({ conn }, text) {
    if (!conn.coder) return conn.socket.write(chunk(text));
    conn.coder.write(text);
    conn.coder.flush(zlib.constants.Z_SYNC_FLUSH);
  }

  streamEnd({ conn }) {
    if (conn.coder) conn.coder.end();
    else conn.socket.write('0\r\n\r\n');
  }

  // Answers with JSON that is compressed as `coding` says; `cut` leaves that many bytes of it out at the end.
  coded({ message, conn }, coding, result, cut = 0) {
    const json = JSON.stringify({ jsonrpc: '2.0', id: message.id, result });
    const bytes = CODERS[coding].all(json);
    const headers = { 'Content-Type': 'application/json', 'Content-Encoding': CODERS[coding].name, 'Content-Length': bytes.length - cut };
    conn.socket.write(response(200, headers));
    conn.socket.write(bytes.subarray(0, bytes.length - cut));
  }

  http({ conn }, status, headers, body) {
    conn.socket.write(response(status, headers, body));
  }

  raw({ conn }, bytes) {
    conn.socket.write(Buffer.from(bytes, 'latin1'));
  }

  forget() {
    this.sessions.clear();
  }

  cut({ conn }) {
    conn.socket.end();
  }

  reset({ conn }) {
    conn.socket.resetAndDestroy();
  }

  down() {
    this.server.close();
    for (const { socket } of this.connections) socket.resetAndDestroy();
  }

  close() {
    for (const { socket } of this.connections) socket.destroy();
    this.server.close();
  }
}

// The same over TLS, with a certificate of its own making that its settings name as the authority.
export class HttpsUpstream extends HttpUpstream {
  constructor(name, options, dir) {
    super(name, options);
    this.key = `${dir}/${name}.key`;
    this.certificate = `${dir}/${name}.crt`;
    const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
    execFileSync('openssl', [...request, ...subject, '-keyout', this.key, '-out', this.certificate], { stdio: 'ignore' });
  }

  makeServer() {
    const options = { key: fs.readFileSync(this.key), cert: fs.readFileSync(this.certificate) };
    const server = tls.createServer(options, (socket) => this.connect(socket));
    server.on('tlsClientError', () => {});
    return server;
  }

  settings() {
    return { url: `https://127.0.0.1:${this.port}${this.path}`, tls: { ca: this.certificate } };
  }
}

// A server of 2024-11-05: one GET stream names in its first event where to post, and carries all answers; a POST is only
// taken (202). `endpoint` is what it says, `messages` where it really listens; `refusal` answers a POST to its own URL.
export class SseUpstream extends HttpUpstream {
  constructor(name, options) {
    super(name, { path: '/sse', ...options });
    this.endpoint = options.endpoint ?? '/messages?session=SESSION';
    this.messages = options.messages ?? '/messages';
    this.refusal = options.refusal ?? 405;
    this.streams = new Map(); // session → connection
  }

  readRequest(conn, request) {
    const [path, query = ''] = request.path.split('?');
    const asked = path === this.path.split('?')[0];
    if (request.verb === 'GET' && asked) this.open(conn, request);
    else if (request.verb === 'POST' && path === this.messages) this.take(conn, request, query.split('=').pop());
    else this.refuse(conn, request, asked ? this.refusal : 404);
  }

  refuse(conn, request, status) {
    const what = request.verb === 'POST' ? 'refused' : request.verb;
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    conn.socket.write(response(status, { 'Content-Type': 'text/plain' }, 'not here'));
  }

  open(conn, request) {
    this.counts.GET = (this.counts.GET ?? 0) + 1;
    if (this.manual.has('GET')) this.inbox.push({ message: { method: 'GET' }, request, conn });
    else this.welcome(conn);
  }

  welcome(conn) {
    conn.session = `s${this.counts.GET}`;
    this.streams.set(conn.session, conn);
    this.latest = conn;
    const endpoint = this.endpoint.replaceAll('SESSION', conn.session);
    conn.socket.write(streamHead() + chunk(`event: endpoint\ndata: ${endpoint}\n\n`));
  }

  take(conn, request, session) {
    const stream = this.streams.get(session);
    if (!stream) {
      this.counts.lost = (this.counts.lost ?? 0) + 1;
      conn.socket.write(response(404, { 'Content-Type': 'text/plain' }, 'Could not find session'));
      return;
    }
    let message;
    try {
      message = JSON.parse(request.text);
    } catch {
      message = undefined;
    }
    this.arrive({ message, text: request.text, request, conn, stream });
  }

  accept(item) {
    if (!item.accepted) item.conn.socket.write(response(202, {}, 'Accepted'));
    item.accepted = true;
  }

  // Early: the answer comes before the word that its request was taken.
  answer(item, members, early = false) {
    if (!early) this.accept(item);
    this.say(item, { jsonrpc: '2.0', id: item.message.id, ...members });
  }

  acknowledge(item) {
    this.accept(item);
  }

  say(item, message) {
    this.event(item, JSON.stringify(message));
  }

  event(item, data) {
    (item?.stream ?? this.latest).socket.write(chunk(`event: message\ndata: ${data}\n\n`));
  }

  streamText(item, text) {
    (item?.stream ?? this.latest).socket.write(chunk(text));
  }

  streamEnd(item) {
    const { socket, session } = item?.stream ?? this.latest;
    this.streams.delete(session);
    socket.end('0\r\n\r\n');
  }

  streamReset(item) {
    const { socket, session } = item?.stream ?? this.latest;
    this.streams.delete(session);
    socket.resetAndDestroy();
  }

  forget() {
    this.streams.clear();
  }
}

// What the ledger of a faulty server says: `TOOL KEY TIME PID` lines.
export function ledgerCount(file, tool) {
  if (!fs.existsSync(file)) return 0;
  return fs
    .readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`${tool} `)).length;
}
