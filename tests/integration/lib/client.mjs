// A raw MCP client: HTTP (one connection a request) or the gateway's own standard input and output.
import http from 'node:http';
import net from 'node:net';
import { Mailbox } from './mailbox.mjs';
import { eventReader } from './http.mjs';

const MODERN = '2026-07-28';

class Client {
  constructor(name) {
    this.name = name;
    this.inbox = new Mailbox(`client ${name}`);
    this.modern = false;
    this.capabilities = {};
    this.version = '2025-11-25';
  }

  receive(text, origin) {
    let message;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    this.inbox.push({ message, text, origin });
  }

  envelope(method, params) {
    if (!this.modern || method.startsWith('notifications/')) return params;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': MODERN,
      'io.modelcontextprotocol/clientInfo': { name: 'scenario', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': this.capabilities,
    };
    return { ...params, _meta: { ..._meta, ...params?._meta } };
  }

  request(id, method, params) {
    return this.send({ jsonrpc: '2.0', id, method, params: this.envelope(method, params) });
  }

  notify(method, params) {
    return this.send({ jsonrpc: '2.0', method, params });
  }

  // The legacy handshake, or nothing but a resolution in the modern era.
  async open(version, capabilities = {}) {
    if (version === 'modern') {
      this.modern = true;
      this.capabilities = capabilities;
      this.version = MODERN;
      return;
    }
    const params = { protocolVersion: version ?? this.version, capabilities, clientInfo: { name: 'scenario', version: '1' } };
    await this.request('open', 'initialize', params);
    const { message } = await this.inbox.take(({ message }) => message?.id === 'open', 'the answer to initialize');
    if (!message.result) throw new Error(`initialize failed: ${JSON.stringify(message)}`);
    this.version = message.result.protocolVersion;
    this.opened = message.result;
    await this.notify('notifications/initialized');
  }
}

export class HttpClient extends Client {
  constructor(name, address) {
    super(name);
    [this.host, this.port] = address.split(':');
    this.path = '/mcp';
    this.session = undefined;
    this.headers = {};
    this.requests = new Map(); // id → http.ClientRequest
    this.sockets = new Set();
  }

  // The transport of 2024-11-05: a stream, whose first event says where to post.
  async openStream(path, headers) {
    this.stream = `http://${this.host}:${this.port}${path}`;
    this.path = path;
    await this.exchange('GET', { Accept: 'text/event-stream', ...this.headers, ...headers }, undefined, 'stream');
    const { event } = await this.inbox.take(({ event, status }) => event || status >= 300, 'the first event');
    if (event?.event !== 'endpoint') throw new Error(`no endpoint, but ${JSON.stringify(event)}`);
    this.endpoint = event.data;
    const { origin, pathname, search } = new URL(event.data, this.stream);
    if (origin !== new URL(this.stream).origin) throw new Error(`another origin: ${event.data}`);
    this.path = pathname + search;
  }

  send(message, headers = {}) {
    if (this.endpoint) return this.exchange('POST', { 'Content-Type': 'application/json', ...this.headers, ...headers }, JSON.stringify(message));
    const own = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    if (this.session && message.method !== 'initialize') own['Mcp-Session-Id'] = this.session;
    if (message.method !== 'initialize') own['MCP-Protocol-Version'] = this.version;
    if (this.modern && message.method) {
      own['Mcp-Method'] = message.method;
      const target = message.params?.name ?? message.params?.uri ?? message.params?.taskId;
      if (target) own['Mcp-Name'] = target;
    }
    return this.exchange('POST', { ...own, ...this.headers, ...headers }, JSON.stringify(message), message.id);
  }

  // Sends and returns at once, but a notification once it was taken; the answer lands in the inbox.
  exchange(verb, headers, body, id) {
    const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null));
    const { host, port, path } = this;
    const request = http.request({ host, port, path, method: verb, headers: given, agent: false });
    if (id !== undefined) this.requests.set(JSON.stringify(id), request);
    this.sockets.add(request);
    const taken = new Promise((resolve) => {
      request.on('response', (response) => {
        this.session = response.headers['mcp-session-id'] ?? this.session;
        this.readAnswer(response, id, resolve);
      });
      request.on('error', (error) => {
        this.inbox.push({ failed: error.code, origin: id });
        resolve();
      });
    });
    request.end(body);
    return verb === 'POST' && id === undefined ? taken : Promise.resolve();
  }

  readAnswer(response, id, resolve) {
    const { statusCode: status, headers } = response;
    const streams = headers['content-type']?.startsWith('text/event-stream');
    let text = '';
    const read = eventReader((event) => {
      if (event.event && event.event !== 'message') this.inbox.push({ event, origin: id });
      else if (event.comment !== undefined) this.inbox.push({ comment: event.comment, origin: id });
      else if (event.data) this.receive(event.data, id);
      if (event.id !== undefined) this.lastEventId = event.id;
      if (event.id !== undefined && !event.data) this.inbox.push({ primed: event.id, origin: id });
    });
    response.setEncoding('utf8');
    response.on('data', (part) => {
      if (streams) read(part);
      else text += part;
    });
    if (streams) this.inbox.push({ status, headers, body: '', origin: id });
    response.on('close', () => {
      if (!streams) this.inbox.push({ status, headers, body: text, origin: id });
      if (!streams && text) this.receive(text, id);
      this.inbox.push({ ended: response.complete ? 'complete' : 'cut', origin: id });
      resolve();
    });
    if (streams) resolve();
  }

  listen(lastEventId) {
    const headers = { Accept: 'text/event-stream', 'MCP-Protocol-Version': this.version, ...this.headers };
    if (this.session) headers['Mcp-Session-Id'] = this.session;
    if (lastEventId) headers['Last-Event-ID'] = lastEventId;
    return this.exchange('GET', headers, undefined, 'stream');
  }

  // Ends the connection of one request, or of all.
  drop(id) {
    const chosen = id === undefined ? [...this.sockets] : [this.requests.get(JSON.stringify(id))];
    for (const request of chosen) request.destroy();
  }

  // Bytes on a connection of their own; everything that comes back is one text.
  raw(bytes, half = false) {
    const socket = net.connect(Number(this.port), this.host);
    let text = '';
    this.sockets.add(socket);
    socket.setEncoding('latin1');
    socket.on('data', (part) => {
      text += part;
      this.inbox.push({ reply: text });
    });
    socket.on('error', () => {});
    socket.on('close', () => this.inbox.push({ closed: true, reply: text }));
    socket.write(Buffer.from(bytes, 'latin1'));
    if (half) socket.end();
    return Promise.resolve();
  }

  close() {
    this.drop();
  }
}

export class StdioClient extends Client {
  constructor(name, child) {
    super(name);
    this.child = child;
    let rest = '';
    child.stdout.setEncoding('utf8');
    child.stdout.on('data', (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop();
      for (const line of lines) this.receive(line);
    });
    child.stdin.on('error', () => {});
  }

  send(message) {
    return this.raw(`${JSON.stringify(message)}\n`);
  }

  raw(bytes) {
    this.child.stdin.write(Buffer.from(bytes, 'latin1'));
    return Promise.resolve();
  }

  close() {
    this.child.stdin.end();
  }
}
