// What a case can do to the gateway's process, and what it can expect of its log, its endpoints and its end.
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { checkSanitizers, collect, ended, eventually } from '../../lib/gateway.mjs';
import { mismatch } from './template.mjs';

function get(address, path) {
  const [host, port] = address.split(':');
  return new Promise((resolve, reject) => {
    const request = http.get({ host, port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    });
    request.on('error', reject);
  });
}

// Runs the program with the case's configuration, until it ends.
async function run(stage, args) {
  const [, ...config] = stage.command();
  const child = stage.spawn([...args.map((word) => stage.fill(word)), ...config], 'ignore');
  const out = collect(child.stdout);
  const err = collect(child.stderr);
  const exit = await ended(child);
  await Promise.all([out.end, err.end]);
  checkSanitizers(err.text);
  return { exit, out: out.text, text: `${out.text}${err.text}` };
}

export const gatewaySteps = {
  // rewrite TEXT|JSON: the configuration file from now on; JSON is merged into what the case has
  rewrite: (gateway, stage, what) => {
    if (typeof what !== 'string') stage.do_config(what);
    fs.writeFileSync(path.join(stage.dir, 'holdfast.json'), typeof what === 'string' ? what : JSON.stringify(stage.config));
  },
  start: () => {},
  signal: (gateway, stage, signal) => {
    gateway.child.kill(signal);
  },
  exits: async (gateway, stage, code) => {
    const got = await ended(gateway.child);
    if (got !== code) throw new Error(`the gateway ended with ${got}`);
  },
  log: (gateway, stage, pattern) => gateway.log.until(new RegExp(pattern)),
  nolog: (gateway, stage, pattern) => {
    const match = new RegExp(pattern).exec(gateway.log.text);
    if (match) throw new Error(`the log has: ${gateway.log.text.slice(match.index, match.index + 300)}`);
  },
  // loglines MOST PATTERN
  loglines: (gateway, stage, most, pattern) => {
    const lines = gateway.log.text.split('\n').filter((line) => new RegExp(pattern).test(line));
    if (lines.length > most) throw new Error(`${lines.length} such lines`);
  },
  // get PATH STATUS [PATTERN]
  get: async (gateway, stage, path, status, pattern = '') => {
    const { status: got, text } = await get(gateway.address, path);
    if (got !== status || !new RegExp(pattern, 'm').test(text)) throw new Error(`${got}: ${text.slice(0, 1500)}`);
  },
  // file NAME PATTERN: a file in the case's directory comes to be like that
  file: (gateway, stage, name, pattern) => {
    const file = path.join(stage.dir, name);
    return eventually(() => fs.existsSync(file) && new RegExp(pattern).test(fs.readFileSync(file, 'utf8')), `${name} like ${pattern}`);
  },
  // command EXIT PATTERN ARGS…: runs the program with the case's configuration
  command: async (gateway, stage, exit, pattern, ...args) => {
    const got = await run(stage, args);
    if (got.exit !== exit || !new RegExp(pattern, 's').test(got.text))
      throw new Error(`exit ${got.exit}: ${got.text.slice(0, 1500)}`);
  },
  // json TEMPLATE ARGS…: the same, and what it prints is one JSON that comes to match
  json: async (gateway, stage, template, ...args) => {
    let problem;
    await eventually(async () => {
      const { exit, out, text } = await run(stage, args);
      problem = exit === 0 ? mismatch(template, JSON.parse(out), stage.vars) : `exit ${exit}`;
      if (problem) problem = `${problem} in ${text.slice(0, 3000)}`;
      return !problem;
    }, { toString: () => problem });
  },
};
