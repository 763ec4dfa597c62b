// What a case can make an upstream do, and what it can expect to have been sent to it.
import { mismatch, fillText } from './template.mjs';
import { eventually } from '../../lib/gateway.mjs';

function itemOf(stage, name = 'it') {
  const item = stage.vars[`upstream_${name}`];
  if (!item) throw new Error(`nothing was received as ${name}`);
  return item;
}

function check(template, value, stage) {
  const problem = template === undefined ? null : mismatch(template, value, stage.vars);
  if (problem) throw new Error(`${problem} in ${JSON.stringify(value)?.slice(0, 1500)}`);
}

// `${id}` is the id of the request spoken of.
function bytesOf(text, stage, name) {
  const item = stage.vars[`upstream_${name}`];
  return fillText(text, { ...stage.vars, id: JSON.stringify(item?.message?.id ?? null) });
}

export const upstreamSteps = {
  // got METHOD [PARAMS] [as NAME]: the first such message whose params match
  got: async (upstream, stage, method, ...rest) => {
    const name = rest.includes('as') ? rest.at(-1) : 'it';
    const template = typeof rest[0] === 'object' ? rest[0] : undefined;
    const fits = ({ message }) =>
      message?.method === method && (!template || mismatch(template, message.params, { ...stage.vars }) === null);
    const item = await upstream.inbox.take(fits, `${method} ${template ? JSON.stringify(template) : ''}`);
    check(template, item.message.params, stage);
    if (item.repeated) throw new Error(`the id ${JSON.stringify(item.message.id)} was used before`);
    stage.vars[`upstream_${name}`] = item;
    stage.vars[name] = item.message.id;
    upstream.lastText = item.text;
  },
  text: (upstream, stage, text) => {
    const wanted = fillText(text, stage.vars);
    if (!upstream.lastText.includes(wanted)) throw new Error(`'${wanted}' is not in ${upstream.lastText.slice(0, 1500)}`);
  },
  // replied TEMPLATE [as NAME]: an answer to what the upstream asked, or whatever else it was sent that is no request
  replied: async (upstream, stage, template, as, name = 'it') => {
    const item = await upstream.inbox.take(({ message }) => message && !message.method, 'an answer');
    check(template, item.message, stage);
    stage.vars[`upstream_${name}`] = item;
    if (item.request) upstream.acknowledge(item);
  },
  // posted TEMPLATE [as NAME]: the same, to be answered with `http`
  posted: async (upstream, stage, template, as, name = 'it') => {
    const item = await upstream.inbox.take(({ message, request }) => message && request && !message.method, 'a POST');
    check(template, item.message, stage);
    stage.vars[`upstream_${name}`] = item;
  },
  result: (upstream, stage, name, result) => upstream.answer(itemOf(stage, name), { result: stage.fill(result) }),
  error: (upstream, stage, name, error) => upstream.answer(itemOf(stage, name), { error: stage.fill(error) }),
  // say NAME MESSAGE: any message, on the stream or pipe that NAME came by
  say: (upstream, stage, name, message) => upstream.say(stage.vars[`upstream_${name}`], stage.fill(message)),
  note: (upstream, stage, name, method, params) =>
    upstream.say(stage.vars[`upstream_${name}`], { jsonrpc: '2.0', method, params: stage.fill(params ?? {}) }),
  http: (upstream, stage, name, status, headers = {}, body = '') => {
    const text = typeof body === 'string' ? bytesOf(body, stage, name) : JSON.stringify(stage.fill(body));
    upstream.http(itemOf(stage, name), status, stage.fill(headers), text);
    if (status === 307 || status === 308) upstream.allowAgain(itemOf(stage, name));
  },
  // coded NAME gzip|x-gzip|deflate|deflate-raw RESULT [CUT]: the answer, compressed, without the last CUT bytes
  coded: (upstream, stage, name, coding, result, cut) => upstream.coded(itemOf(stage, name), coding, stage.fill(result), cut),
  raw: (upstream, stage, name, bytes) => upstream.raw(stage.vars[`upstream_${name}`], bytesOf(bytes, stage, name)),
  // slowly NAME BYTES: one at a time, each in a read of its own
  slowly: async (upstream, stage, name, bytes) => {
    for (const byte of Buffer.from(bytesOf(bytes, stage, name))) {
      upstream.raw(stage.vars[`upstream_${name}`], String.fromCharCode(byte));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  },
  utf8: (upstream, stage, name, text) =>
    upstream.raw(stage.vars[`upstream_${name}`], Buffer.from(bytesOf(text, stage, name)).toString('latin1')),
  stream: (upstream, stage, name, headers) => upstream.stream(itemOf(stage, name), headers),
  streamed: (upstream, stage, name, text) => upstream.streamText(stage.vars[`upstream_${name}`], bytesOf(text, stage, name)),
  streamend: (upstream, stage, name) => upstream.streamEnd(stage.vars[`upstream_${name}`]),
  // of a server of 2024: accept NAME, early NAME RESULT (before it says that it took the request), streamreset NAME, welcome NAME
  accept: (upstream, stage, name) => upstream.accept(itemOf(stage, name)),
  early: (upstream, stage, name, result) => upstream.answer(itemOf(stage, name), { result: stage.fill(result) }, true),
  streamreset: (upstream, stage, name) => upstream.streamReset(stage.vars[`upstream_${name}`]),
  welcome: (upstream, stage, name) => upstream.welcome(itemOf(stage, name).conn),
  // sresult NAME RESULT: the answer as the last event of its stream
  sresult: (upstream, stage, name, result) => {
    const item = itemOf(stage, name);
    upstream.event(item, JSON.stringify({ jsonrpc: '2.0', id: item.message.id, result: stage.fill(result) }));
    upstream.streamEnd(item);
  },
  // eresult NAME RESULT: the same, but the stream stays open
  eresult: (upstream, stage, name, result) => {
    const item = itemOf(stage, name);
    upstream.event(item, JSON.stringify({ jsonrpc: '2.0', id: item.message.id, result: stage.fill(result) }));
  },
  header: (upstream, stage, name, header, template) =>
    check(template === 'absent' ? { $hole: template } : template, itemOf(stage, name).request.headers[header.toLowerCase()], stage),
  cut: (upstream, stage, name) => upstream.cut(itemOf(stage, name)),
  reset: (upstream, stage, name) => upstream.reset(itemOf(stage, name)),
  gone: (upstream) => upstream.inbox.take(({ gone }) => gone, 'the end of a connection'),
  started: (upstream) => upstream.inbox.take(({ started }) => started, 'the start of a child'),
  kill: (upstream, stage, signal) => upstream.kill(signal),
  exit: (upstream) => upstream.exit(),
  down: (upstream) => upstream.down(),
  up: (upstream) => upstream.listen(),
  forget: (upstream) => upstream.forget(),
  lost: (upstream, stage, how) => {
    upstream.lost = how;
  },
  manual: (upstream, stage, ...methods) => {
    upstream.manual = new Set(methods);
  },
  tools: (upstream, stage, tools) => {
    upstream.tools = stage.fill(tools);
  },
  // resources LIST, templates LIST, prompts LIST: what it lists from now on
  resources: (upstream, stage, list) => {
    upstream.lists.resources = stage.fill(list);
  },
  templates: (upstream, stage, list) => {
    upstream.lists.resourceTemplates = stage.fill(list);
  },
  prompts: (upstream, stage, list) => {
    upstream.lists.prompts = stage.fill(list);
  },
  capabilities: (upstream, stage, capabilities) => {
    upstream.capabilities = stage.fill(capabilities);
  },
  lifetime: (upstream, stage, members) => {
    upstream.lifetime = members;
  },
  // acknowledge NAME [FILTER]: opens the stream of a subscriptions/listen and agrees to all, or to this
  acknowledge: (upstream, stage, name, filter) => {
    const item = itemOf(stage, name);
    const { id, params } = item.message;
    const notifications = filter ?? params.notifications;
    item.listens = id;
    if (item.request) upstream.stream(item);
    upstream.say(item, {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
    });
  },
  // tell NAME METHOD [PARAMS]: a notification on that stream
  tell: (upstream, stage, name, method, params = {}) => {
    const item = itemOf(stage, name);
    const _meta = { 'io.modelcontextprotocol/subscriptionId': item.message.id };
    upstream.say(item, { jsonrpc: '2.0', method, params: { ...stage.fill(params), _meta } });
  },
  // many COUNT PREFIX LENGTH: that many tools, their names of one length with a number at the end
  many: (upstream, stage, count, prefix, length = 0) => {
    upstream.tools = Array.from({ length: count }, (none, i) => ({
      name: `${prefix.padEnd(Math.max(length - 4, prefix.length), 'x')}${String(i).padStart(4, '0')}`,
      inputSchema: { type: 'object' },
    }));
  },
  // fail METHOD STATUS: answers it so from now on, until STATUS is 0
  fail: (upstream, stage, method, status) => {
    upstream.failing[method] = status;
  },
  // count METHOD N, also `lost`, `noise`, DELETE, GET; `most` and `least` bound it
  count: (upstream, stage, method, count) => {
    const seen = upstream.counts[method] ?? 0;
    if (seen !== count) throw new Error(`${method} came ${seen} times, not ${count}`);
  },
  most: (upstream, stage, method, count) => {
    const seen = upstream.counts[method] ?? 0;
    if (seen > count) throw new Error(`${method} came ${seen} times`);
  },
  least: (upstream, stage, method, count) =>
    eventually(() => (upstream.counts[method] ?? 0) >= count, `${count} times ${method}`),
  starts: (upstream, stage, count) => {
    if (upstream.starts !== count) throw new Error(`${upstream.starts} starts, not ${count}`);
  },
};
