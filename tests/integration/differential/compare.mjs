// What may differ between a conversation held directly and through the gateway, and nothing else.
import { member, parts, replaced, without } from './json.mjs';

const MARK = 'dev.holdfast/outcome';

// Answered by the gateway for itself: only what is named here is the server's.
const own = {
  initialize: (result) => [raw(result, 'serverInfo'), raw(result, 'instructions'), raw(result, 'protocolVersion')],
  'server/discover': (result) => [raw(member(result, '_meta').raw, 'io.modelcontextprotocol/serverInfo'), raw(result, 'instructions')],
  ping: (result) => [result],
  'logging/setLevel': (result) => [result],
  'resources/subscribe': (result) => [result],
  'resources/unsubscribe': (result) => [result],
};
const lists = { 'tools/list': 'tools', 'prompts/list': 'prompts', 'resources/list': 'resources', 'resources/templates/list': 'resourceTemplates' };

const raw = (object, key) => member(object, key)?.raw;
const isEmpty = (text) => parts(text).length === 0;

// An object without the mark below `key`; where nothing is left there, both with and without what held it.
function unmarked(object, key) {
  const holder = member(object, key);
  if (!holder || holder.raw[0] !== '{' || !member(holder.raw, MARK)) return [object];
  const rest = without(holder.raw, MARK);
  const kept = replaced(object, holder, rest);
  return isEmpty(rest) ? [kept, without(object, key)] : [kept];
}

export function candidates(message) {
  for (const [key, holder] of [['result', '_meta'], ['error', 'data']]) {
    const part = member(message, key);
    if (part) return unmarked(part.raw, holder).map((text) => replaced(message, part, text));
  }
  return [message];
}

function items(pages, method) {
  return pages.flatMap((page) => {
    const result = raw(page, 'result');
    return result ? parts(raw(result, lists[method])).map((item) => item.raw) : [page];
  });
}

function compareResponse(one, other, say) {
  if (own[one.method]) {
    const [a, b] = [one, other].map((record) => (raw(record.response, 'result') ? own[one.method](raw(record.response, 'result')) : [record.response]));
    if (JSON.stringify(a) !== JSON.stringify(b)) say(a.join(' | '), b.join(' | '));
  } else if (one.method.startsWith('x-unknown')) {
    const [a, b] = [one, other].map((record) => JSON.parse(record.response).error?.code);
    if (a !== b) say(a, b);
  } else if (!candidates(other.response).includes(one.response)) {
    say(one.response, candidates(other.response)[0]);
  }
}

const AROUND = 100;

// Both from a little before where they part.
function told(a, b) {
  const [one, other] = [String(a), String(b)];
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  const show = (text) => JSON.stringify(text.slice(Math.max(0, at - AROUND), at + AROUND));
  return `\n  directly: ${show(one)}\n  through:  ${show(other)}`;
}

function compareRecord(one, other, where, found) {
  const say = (what) => (a, b) => found.push(`${where} ${one.method} ${one.tool ?? ''}: ${what}${told(a, b)}`);
  if (Array.isArray(one)) {
    if (other && other.length !== one.length) found.push(`${where}: ${one.length} rounds directly, ${other.length} through`);
    one.forEach((each, i) => compareRecord(each, other?.[i], `${where}.${i}`, found));
    return;
  }
  if (!other) return;
  if (one.pages) {
    const [a, b] = [items(one.pages, one.method), items(other.pages, one.method)];
    for (let i = 0; i < Math.max(a.length, b.length); i++) if (a[i] !== b[i]) say(`item ${i}`)(a[i], b[i]);
  }
  for (const what of ['progress', 'logs', 'questions'])
    if (JSON.stringify(one[what]) !== JSON.stringify(other[what])) say(what)(one[what].join('\n    '), other[what].join('\n    '));
  if (one.response) compareResponse(one, other, say('answer'));
}

// A line or more for each difference.
export function differences(one, other) {
  const found = [];
  one.heard.forEach((record, i) => compareRecord(record, other.heard[i], `step ${i}`, found));
  const [a, b] = [one, other].map(({ notices }) => [...notices].sort().join('\n    '));
  if (a !== b) found.push(`notices${told(a, b)}`);
  if (other.problem) found.push(other.problem);
  return found;
}
