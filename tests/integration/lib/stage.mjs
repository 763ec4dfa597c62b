// One case on stage: its upstreams, its gateway, its clients, and what each step makes them do.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { binary, chaos, checkSanitizers, collect, ended, eventually, scratch, startChaos, writeConfig } from '../../lib/gateway.mjs';
import { HttpClient, StdioClient } from './client.mjs';
import { HttpUpstream, HttpsUpstream, PipeUpstream, SseUpstream, ledgerCount } from './upstream.mjs';
import { clientSteps } from './client_steps.mjs';
import { upstreamSteps } from './upstream_steps.mjs';
import { gatewaySteps } from './gateway_steps.mjs';
import { fill } from './template.mjs';

const relay = path.join(path.dirname(chaos), 'relay');

// Short pauses, so that a case takes milliseconds; a case may set its own.
const defaults = () => ({
  listen: '127.0.0.1:0',
  log: { format: 'json' },
  mcpServers: {},
  policies: { default: { retry: { base: '5ms', max: '20ms' } } },
});

function merge(into, from) {
  for (const [key, value] of Object.entries(from)) {
    const both = value && into[key] && typeof value === 'object' && !Array.isArray(value);
    into[key] = both ? merge({ ...into[key] }, value) : value;
  }
  return into;
}

export class Stage {
  constructor(defer) {
    this.defer = defer;
    this.dir = scratch(defer);
    this.config = defaults();
    this.front = 'http';
    this.env = {};
    this.actors = new Map();
    this.vars = { dir: this.dir };
    this.marked = Date.now();
  }

  async play(steps) {
    for (const step of steps) {
      try {
        if (step.steps) await this.repeat(step);
        else await this.step(step.parts);
      } catch (error) {
        if (!error.located) error.message = `line ${step.number} (${step.text.slice(0, 120)}): ${error.message}`;
        error.located = true;
        throw error;
      }
    }
  }

  // repeat N [down]: $i counts from 0, or down to it
  async repeat({ parts: [, times, down], steps }) {
    for (let n = 0; n < times; n++) {
      this.vars.i = down ? times - 1 - n : n;
      await this.play(steps);
    }
  }

  async step([subject, verb, ...given]) {
    const args = given.map((word) => this.resolve(word));
    const own = this[`do_${subject}`];
    if (own) return own.call(this, verb, ...args);
    if (!this.gateway && !this.actors.get(subject)?.inbox?.owner?.startsWith('upstream')) await this.startGateway();
    const actor = this.actors.get(subject) ?? this.client(subject);
    const steps = actor instanceof HttpUpstream || actor instanceof PipeUpstream ? upstreamSteps : clientSteps;
    if (!steps[verb]) throw new Error(`${subject} cannot '${verb}'`);
    return steps[verb](actor, this, ...args);
  }

  // Names may carry a counter, as in `as k${i}`, and a bare `$name` is its value. Quoted text is filled where it is used.
  resolve(word) {
    if (typeof word !== 'string') return word;
    if (/^\w*\$\{i\}$/.test(word)) return word.replace('${i}', this.vars.i);
    return /^\$\w+$/.test(word) && word.slice(1) in this.vars ? this.vars[word.slice(1)] : word;
  }

  client(name) {
    if (!/^[a-z]\d?$/.test(name)) throw new Error(`nobody is called ${name}`);
    const client =
      this.front === 'http' ? new HttpClient(name, this.proxy ?? this.gateway.address) : new StdioClient(name, this.gateway.child);
    this.defer(() => client.close());
    this.actors.set(name, client);
    return client;
  }

  fill(template) {
    return fill(template, this.vars);
  }

  // upstream NAME http|https|stdio|chaos|chaos-http|command|url OPTIONS
  async do_upstream(name, kind, options = {}) {
    const given = this.fill(options);
    const made = await this.makeUpstream(name, kind, given);
    this.config.mcpServers[name] = { ...made, ...given.settings };
    this.vars[`url_${name}`] = made.url;
  }

  async makeUpstream(name, kind, options) {
    if (kind === 'chaos') {
      const ledger = path.join(this.dir, `${name}.ledger`);
      this.actors.set(name, { ledger });
      return { command: chaos, args: ['--stdio', '--ledger', ledger, ...(options.args ?? [])] };
    }
    if (kind === 'chaos-http') {
      const server = await startChaos({ defer: this.defer, dir: this.dir, args: options.args });
      this.actors.set(name, server);
      return { url: server.url };
    }
    if (kind === 'command') return { command: options.command, args: options.args ?? [] };
    if (kind === 'url') return { url: options.url };
    const played = { http: HttpUpstream, https: HttpsUpstream, sse: SseUpstream, stdio: PipeUpstream };
    const upstream = new played[kind](name, options, this.dir);
    await upstream.listen();
    this.actors.set(name, upstream);
    this.defer(() => upstream.close());
    const settings = upstream.settings(relay);
    if (options.down) upstream.down();
    return settings;
  }

  do_config(value) {
    this.config = merge(this.config, this.fill(value));
  }

  do_front(kind, server) {
    this.front = kind;
    this.wrapped = server;
  }

  do_env(values) {
    Object.assign(this.env, values);
  }

  // proxy PREFIX [HEADERS]: clients come through one that takes PREFIX off their paths and sends HEADERS along
  async do_proxy(prefix, headers = {}) {
    if (!this.gateway) await this.startGateway();
    const [host, port] = this.gateway.address.split(':');
    const server = http.createServer((request, response) => {
      if (!request.url.startsWith(`${prefix}/`)) return response.writeHead(404).end('not of this proxy');
      const onward = http.request(
        { host, port, method: request.method, path: request.url.slice(prefix.length), headers: { ...request.headers, ...headers }, agent: false },
        (answer) => answer.pipe(response.writeHead(answer.statusCode, answer.headers)),
      );
      onward.on('error', () => response.destroy());
      response.on('close', () => onward.destroy());
      return request.pipe(onward);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.proxy = `127.0.0.1:${server.address().port}`;
    this.defer(() => {
      server.closeAllConnections();
      server.close();
    });
  }

  do_delay(time) {
    return new Promise((resolve) => setTimeout(resolve, Number.parseInt(time, 10)));
  }

  do_mark() {
    this.marked = Date.now();
  }

  // elapsed <300ms, elapsed >100ms: since the last mark
  do_elapsed(bound) {
    const passed = Date.now() - this.marked;
    const limit = Number.parseInt(bound.slice(1), 10);
    if (bound[0] === '<' ? passed >= limit : passed <= limit) throw new Error(`${passed} ms have passed`);
  }

  // ledger NAME TOOL COUNT
  async do_ledger(name, tool, count) {
    const { ledger } = this.actors.get(name);
    await eventually(() => ledgerCount(ledger, tool) >= count, `${count} executions of ${tool}`);
    if (ledgerCount(ledger, tool) !== count) throw new Error(`${tool} ran ${ledgerCount(ledger, tool)} times`);
  }

  // gateway again: ends it; the next step that needs one starts another, with the configuration as it is by then
  async again() {
    await this.stopGateway();
    this.gateway = undefined;
    for (const [name, actor] of this.actors) if (actor instanceof HttpClient || actor instanceof StdioClient) this.actors.delete(name);
  }

  async do_gateway(verb, ...args) {
    if (verb === 'again') return this.again();
    if (!this.gateway && !['check', 'command'].includes(verb)) await this.startGateway();
    if (!gatewaySteps[verb]) throw new Error(`the gateway cannot '${verb}'`);
    return gatewaySteps[verb](this.gateway, this, ...args);
  }

  command() {
    if (this.front === 'http') return ['serve', '--config', writeConfig(this.dir, this.config)];
    if (this.front === 'stdio') return ['stdio', '--config', writeConfig(this.dir, this.config)];
    const { command, args } = this.config.mcpServers[this.wrapped];
    return ['wrap', '--', command, ...args];
  }

  spawn(args, stdin) {
    return spawn(binary, args, {
      stdio: [stdin, 'pipe', 'pipe'],
      env: { ...process.env, XDG_STATE_HOME: this.dir, XDG_RUNTIME_DIR: this.dir, ...this.env },
    });
  }

  async startGateway() {
    const child = this.spawn(this.command(), this.front === 'http' ? 'ignore' : 'pipe');
    const log = collect(child.stderr);
    this.gateway = { child, log };
    this.defer(() => this.stopGateway());
    if (this.front !== 'http') return;
    child.stdout.resume();
    const [, address] = await log.until(/listening.*?address"?[=:]\s*"?([\d.]+:\d+)/);
    this.gateway.address = address;
  }

  // A second signal ends what still drains: no case is about that by chance.
  async stopGateway() {
    if (!this.gateway) return;
    const { child, log } = this.gateway;
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM');
      const timers = [setTimeout(() => child.kill('SIGTERM'), 200), setTimeout(() => child.kill('SIGKILL'), 5000)];
      const got = await ended(child);
      timers.forEach(clearTimeout);
      if (got === 'SIGKILL') throw new Error('the gateway did not end');
    }
    await log.end;
    checkSanitizers(log.text);
  }

  journal() {
    return this.gateway?.log.text.slice(-3000) ?? '';
  }
}
