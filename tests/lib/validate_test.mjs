// `holdfast validate` as it is used: files and pipes in, sentences and JSON out.
// node validate_test.mjs HOLDFAST
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { done, test } from './tap.mjs';

const holdfast = process.argv[2];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'validate-'));
const schema = {
  type: 'object',
  properties: {
    path: { type: 'string' },
    lines: { $ref: '#/$defs/count' },
    order: { enum: ['fast', 'slow'] },
    note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
  },
  required: ['path'],
  additionalProperties: false,
  $defs: { count: { type: 'integer', minimum: 1 } },
};

function file(name, content) {
  const where = path.join(dir, name);
  fs.writeFileSync(where, typeof content === 'string' ? content : JSON.stringify(content));
  return where;
}

function validate(args, input = '') {
  const run = spawnSync(holdfast, ['validate', ...args], { input, encoding: 'utf8', maxBuffer: 1 << 26 });
  return { code: run.status, out: run.stdout, err: run.stderr };
}

const good = file('schema.json', schema);

await test('a valid value', () => {
  const value = file('value.json', { path: 'a', lines: 3 });
  assert.deepEqual(validate([good, value]), { code: 0, out: 'valid\n', err: '' });
  assert.deepEqual(validate([good, '-'], '{"path":"a"}'), { code: 0, out: 'valid\n', err: '' });
  assert.deepEqual(validate(['-', value], JSON.stringify(schema)), { code: 0, out: 'valid\n', err: '' });
});

await test('each reason has its line', () => {
  const value = file('value.json', { lines: 0, order: 'FAST', q: 1, note: 3 });
  assert.deepEqual(validate([good, value]), {
    code: 1,
    out: `/lines must be at least 1; got 0
/order must be one of "fast", "slow"; got "FAST"
the value must not have the member "q"; it may have "path", "lines", "order", "note"
/note must fit at least one of 2 alternatives; got 3
  /note must be a string; got the number 3
  /note must be null; got the number 3
the value must have the member "path"
`,
    err: '',
  });
});

await test("in JSON, reasons are the standard's basic output", () => {
  const { code, out } = validate(['--json', good, '-'], '{"lines":0,"a/b":1,\n"path":""}\n');
  assert.equal(code, 1);
  assert.deepEqual(JSON.parse(out), {
    valid: false,
    value: { lines: 0, 'a/b': 1, path: '' },
    repairs: [],
    errors: [
      {
        valid: false,
        keywordLocation: '/properties/lines/$ref/minimum',
        absoluteKeywordLocation: '#/$defs/count/minimum',
        instanceLocation: '/lines',
        error: 'must be at least 1; got 0',
      },
      {
        valid: false,
        keywordLocation: '/additionalProperties',
        instanceLocation: '/a~1b',
        error: 'must not have the member "a/b"; it may have "path", "lines", "order", "note"',
      },
    ],
  });
});

await test('a repaired value goes to standard output, and what was repaired to standard error', () => {
  assert.deepEqual(validate(['--repair', good, '-'], '{"Path":"a","lines":"3"}\n'), {
    code: 0,
    out: '{"path":"a","lines":3}\n',
    err: 'repaired: renamed: "Path" -> "path"\nrepaired: /lines number_from_text: "3" -> 3\n',
  });
  assert.deepEqual(validate(['--repair', good, '-'], '{ "path": "a" }\n'), { code: 0, out: '{ "path": "a" }\n', err: '' });
  assert.deepEqual(JSON.parse(validate(['--repair', '--json', good, '-'], "{'path': 'a', 'note': None,}").out), {
    valid: true,
    value: { path: 'a', note: null },
    repairs: [{ kind: 'read_leniently', pointer: '', from: "{'path': 'a', 'note': None,}", to: '{"path":"a","note":null}' }],
    errors: [],
  });
  const { code, out, err } = validate(['--repair', good, '-'], '{"path":"a","lines":"many"}');
  assert.deepEqual([code, out, err], [1, '/lines must be an integer; got the string "many"\n', '']);
});

await test('what is no JSON is not valid', () => {
  const { code, out, err } = validate([good, '-'], '{"path":"a"');
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^holdfast: 'standard input' is no JSON: .* at byte 11\n$/);
  assert.equal(validate(['--repair', good, '-'], '{"path":"a').code, 1);
  const answer = JSON.parse(validate(['--json', good, '-'], '{"path":"a","path":"b"}').out);
  assert.deepEqual([answer.valid, answer.value, answer.errors.length], [false, null, 1]);
  assert.match(answer.errors[0].error, /member twice/);
});

await test('what cannot be used is said, with its name', () => {
  const value = file('value.json', {});
  const cases = [
    [[good, path.join(dir, 'nowhere')], /cannot open '.*nowhere': No such file/],
    [[path.join(dir, 'nowhere'), value], /cannot open '.*nowhere': No such file/],
    [[dir, value], /cannot read '.*': Is a directory/],
    [[file('bad.json', { type: 'text' }), value], /'.*bad\.json' cannot be used as a schema: .*type/],
    [[file('ref.json', { $ref: '#/nowhere' }), value], /'.*ref\.json' cannot be used as a schema: /],
    [[file('cut.json', '{"type":'), value], /'.*cut\.json' cannot be used as a schema: /],
    [[file('big.json', ' '.repeat((1 << 19) + 1)), value], /'.*big\.json' has more than 524288 bytes/],
    [[good, file('big.json', ' '.repeat((16 << 20) + 1))], /'.*big\.json' has more than 16777216 bytes/],
    [['-', '-'], /only one of SCHEMA and VALUE/],
    [[good], /an argument is missing/],
    [[file('slow.json', { pattern: '^(a+)+[bc]$' }), file('as.json', JSON.stringify('a'.repeat(100)))], /cannot tell if '.*as\.json' is valid/],
  ];
  for (const [args, reason] of cases) {
    const { code, out, err } = validate(args);
    assert.match(err, reason);
    assert.deepEqual([code, out], [2, ''], err);
  }
});

await test('a value cannot steer a terminal', () => {
  const { out } = validate([good, '-'], '{"path":"a","lines":"\u009b31m"}');
  assert.equal(out, '/lines must be an integer; got the string "?31m"\n');
});

fs.rmSync(dir, { recursive: true });
done();
