// The official clients, ready to connect, and the real servers they are pointed at.
import { Client as ModernClient, SSEClientTransport as ModernSse, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport as LegacySse } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import http from 'node:http';
import path from 'node:path';
import { binary, modules, node, scratch, writeConfig } from '../../lib/gateway.mjs';

const info = { name: 'integration', version: '1' };
const packageOf = (name, ...rest) => path.join(modules, name, ...rest);

// name → how to make a client and its transports
export const clients = {
  'sdk 1': {
    client: (options) => new LegacyClient(info, options),
    http: (url, headers = {}) => new LegacyHttp(url, { requestInit: { headers } }),
    sse: (url, headers = {}) => new LegacySse(url, { requestInit: { headers } }),
    stdio: (command) => new LegacyStdio(command),
    era: 'legacy',
  },
  'sdk 2': {
    client: (options) => new ModernClient(info, options),
    http: (url, headers = {}) => new ModernHttp(url, { requestInit: { headers } }),
    sse: (url, headers = {}) => new ModernSse(url, { requestInit: { headers } }),
    stdio: (command) => new ModernStdio(command),
    era: 'legacy',
  },
  'sdk 2 auto': {
    client: (options) => new ModernClient(info, { ...options, versionNegotiation: { mode: 'auto' } }),
    http: (url, headers = {}) => new ModernHttp(url, { requestInit: { headers } }),
    sse: (url, headers = {}) => new ModernSse(url, { requestInit: { headers } }),
    stdio: (command) => new ModernStdio(command),
    era: 'modern',
  },
  'sdk 2 pinned': {
    client: (options) => new ModernClient(info, { ...options, versionNegotiation: { mode: { pin: '2026-07-28' } } }),
    http: (url, headers = {}) => new ModernHttp(url, { requestInit: { headers } }),
    stdio: (command) => new ModernStdio(command),
    era: 'modern',
  },
};

// name → { settings, tool, arguments, expect }: how to start it and one call that proves it works
export function servers(dir) {
  const script = (...parts) => ({ command: node, args: [packageOf(...parts)] });
  const everything = packageOf('@modelcontextprotocol/server-everything', 'dist/index.js');
  const git = script('@cyanheads/git-mcp-server', 'dist/index.js');
  return {
    everything: {
      settings: { command: node, args: [everything, 'stdio'] },
      call: { name: 'echo', arguments: { message: 'hello' } },
      expect: /hello/,
    },
    filesystem: {
      settings: { command: node, args: [packageOf('@modelcontextprotocol/server-filesystem', 'dist/index.js'), dir] },
      call: { name: 'list_directory', arguments: { path: dir } },
      expect: /holdfast\.json/,
    },
    memory: {
      settings: {
        ...script('@modelcontextprotocol/server-memory', 'dist/index.js'),
        env: { MEMORY_FILE_PATH: path.join(dir, 'memory.jsonl') },
      },
      call: { name: 'read_graph', arguments: {} },
      expect: /entities/,
    },
    thinking: {
      settings: script('@modelcontextprotocol/server-sequential-thinking', 'dist/index.js'),
      call: {
        name: 'sequentialthinking',
        arguments: { thought: 'one', nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      },
      expect: /thoughtNumber/,
    },
    git: {
      settings: { ...git, env: { MCP_LOG_LEVEL: 'error', LOGS_DIR: path.join(dir, 'logs') } },
      call: { name: 'git_status', arguments: { path: dir } },
      expect: /./,
      mayFail: true, // the folder is no repository, and the server says so
    },
    calc: {
      settings: script('@coo-quack/calc-mcp', 'dist/index.js'),
      call: { name: 'math', arguments: { action: 'eval', expression: '6 * 7' } },
      expect: /42/,
    },
  };
}

// Connects `kind` (a key of `clients`) to a gateway that serves; the client is closed with the case.
export async function connectHttp(kind, url, { defer, headers }, options = {}) {
  const client = clients[kind].client({ capabilities: {}, ...options });
  defer(() => client.close());
  await client.connect(clients[kind].http(url, headers));
  return client;
}

// Connects `kind` to a gateway that it starts itself: `holdfast stdio` with `config`, or `holdfast wrap -- COMMAND`.
export async function connectStdio(kind, command, { defer, config }, options = {}) {
  const dir = scratch(defer);
  const args = config ? ['stdio', '--config', writeConfig(dir, config)] : ['wrap', '--', command.command, ...command.args];
  const env = { ...process.env, ...command?.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir };
  const client = clients[kind].client({ capabilities: {}, ...options });
  const transport = clients[kind].stdio({ command: binary, args, env, stderr: 'pipe' });
  defer(() => client.close());
  await client.connect(transport);
  client.pid = transport.pid;
  return client;
}

// A reverse proxy that takes `prefix` off the paths, and cuts what is silent for `patienceMs`. It counts the event streams
// that it passes on; cut() breaks those that are open.
export async function startProxy(address, { defer }, prefix = '', patienceMs = 0) {
  const [host, port] = address.split(':');
  const proxy = { streams: 0, cuts: 0, open: new Set() };
  const server = http.createServer((request, response) => {
    let timer;
    const wait = () => {
      clearTimeout(timer);
      if (patienceMs) timer = setTimeout(() => (proxy.cuts++, response.destroy()), patienceMs);
    };
    wait();
    const options = { host, port, method: request.method, path: request.url.slice(prefix.length), headers: request.headers, agent: false };
    const onward = http.request(options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      answer.on('data', wait);
      if (!answer.headers['content-type']?.startsWith('text/event-stream')) return;
      proxy.streams += 1;
      proxy.open.add(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => {
      clearTimeout(timer);
      proxy.open.delete(response);
      onward.destroy();
    });
    request.pipe(onward);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  proxy.url = `http://127.0.0.1:${server.address().port}`;
  proxy.cut = () => [...proxy.open].forEach((response) => response.destroy());
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  return proxy;
}

export const textOf = (result) => result.content?.map((part) => part.text ?? '').join('\n') ?? '';
export const outcomeOf = (result) => result._meta?.['dev.holdfast/outcome'] ?? {};
