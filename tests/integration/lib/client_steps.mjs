// What a case can make a client do, and what it can expect of it.
import { eventually } from '../../lib/gateway.mjs';
import { mismatch, fillText } from './template.mjs';

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

function check(template, value, stage) {
  const problem = template === undefined ? null : mismatch(template, value, stage.vars);
  if (problem) throw new Error(`${problem} in ${JSON.stringify(value)?.slice(0, 1500)}`);
}

export const clientSteps = {
  // open [VERSION|modern] [CAPABILITIES]
  open: (client, stage, version, capabilities) => client.open(version, capabilities),
  opened: (client, stage, template) => check(template, client.opened, stage),
  at: (client, stage, server) => {
    client.path = `/mcp/${server}`;
  },
  path: (client, stage, path) => {
    client.path = path;
  },
  headers: (client, stage, headers) => {
    client.headers = stage.fill(headers);
  },
  // call ID TOOL [ARGUMENTS] [_META]
  call: (client, stage, id, name, args = {}, _meta = undefined) =>
    client.request(stage.fill(id), 'tools/call', {
      name,
      arguments: stage.fill(args),
      ...(_meta ? { _meta: stage.fill(_meta) } : {}),
    }),
  send: (client, stage, id, method, params) =>
    client.request(stage.fill(id), method, params === undefined ? undefined : stage.fill(params)),
  message: (client, stage, message) => client.send(stage.fill(message)),
  notify: (client, stage, method, params) =>
    client.notify(method, params === undefined ? undefined : stage.fill(params)),
  cancel: (client, stage, id) => client.notify('notifications/cancelled', { requestId: stage.fill(id), reason: 'test' }),
  // expect ID TEMPLATE: the answer to that id, matched as a whole message
  expect: async (client, stage, id, template) => {
    const wanted = stage.fill(id);
    const { message, text } = await client.inbox.take(
      (item) => item.message && !item.message.method && same(item.message.id, wanted),
      `the answer to ${JSON.stringify(wanted)}`,
    );
    client.lastText = text;
    check(template, message, stage);
  },
  // text "…": the last expected message has these very bytes in it
  text: (client, stage, text) => {
    const wanted = fillText(text, stage.vars);
    if (!client.lastText.includes(wanted)) throw new Error(`'${wanted}' is not in ${client.lastText.slice(0, 1500)}`);
  },
  notext: (client, stage, text) => {
    if (client.lastText.includes(text)) throw new Error(`'${text}' is in ${client.lastText.slice(0, 1500)}`);
  },
  length: (client, stage, least) => {
    if (client.lastText.length < least) throw new Error(`only ${client.lastText.length} bytes`);
  },
  note: async (client, stage, method, template) => {
    const { message, text } = await client.inbox.take((item) => item.message?.method === method, method);
    client.lastText = text;
    check(template, message.params, stage);
  },
  // asked METHOD [PARAMS] [as NAME]: a request of the server
  asked: async (client, stage, method, ...rest) => {
    const name = rest.includes('as') ? rest.at(-1) : 'it';
    const item = await client.inbox.take(
      ({ message }) => message?.method === method && message.id !== undefined,
      `the request ${method}`,
    );
    check(typeof rest[0] === 'object' ? rest[0] : undefined, item.message.params, stage);
    stage.vars[`client_${name}`] = item.message.id;
  },
  reply: (client, stage, name, result) =>
    client.send({ jsonrpc: '2.0', id: stage.vars[`client_${name}`], result: stage.fill(result) }),
  comment: (client) => client.inbox.take(({ comment }) => comment !== undefined, 'a comment'),
  // none ID: nothing has arrived for it
  none: (client, stage, id) => {
    const there = client.inbox.items.find(({ message }) => message && !message.method && same(message.id, id));
    if (there) throw new Error(`there is ${there.text}`);
  },
  nonote: (client, stage, method) => {
    const there = client.inbox.items.find(({ message }) => message?.method === method);
    if (there) throw new Error(`there is ${there.text}`);
  },
  // status CODE [BODY]: of the next answer that has one; BODY matches its JSON, a string its text
  status: async (client, stage, code, body) => {
    const item = await client.inbox.take((each) => each.status !== undefined, 'an HTTP status');
    if (item.status !== code) throw new Error(`HTTP ${item.status} ${item.body}`);
    client.lastHeaders = item.headers;
    client.lastText = item.body;
    if (body === '') check('~^$', item.body, stage);
    else if (body !== undefined) check(body, typeof body === 'string' ? item.body : JSON.parse(item.body), stage);
  },
  header: (client, stage, name, template) => check(template, client.lastHeaders[name.toLowerCase()], stage),
  // statuses: forgets those that came
  forget: (client) => {
    client.inbox.items = [];
  },
  http: (client, stage, verb, headers = {}, body = undefined) => {
    stage.vars.session = client.session;
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(stage.fill(body));
    return client.exchange(verb, stage.fill(headers), text, 'http');
  },
  session: (client, stage, value) => {
    client.session = value === 'none' ? undefined : value;
  },
  // delete: ends its own session
  delete: (client) =>
    client.exchange('DELETE', { 'Mcp-Session-Id': client.session, 'MCP-Protocol-Version': client.version }),
  // sse [PATH] [HEADERS]: opens the stream of an HTTP+SSE session; what is sent from now on is posted where that says
  sse: (client, stage, path = '/sse', headers = {}) => client.openStream(stage.fill(path), stage.fill(headers)),
  endpoint: (client, stage, template) => check(template, client.endpoint, stage),
  // remember NAME: the id of its session
  remember: (client, stage, name) => {
    stage.vars[name] = client.endpoint ? new URL(client.endpoint, client.stream).searchParams.get('sessionId') : client.session;
  },
  // over: until what is posted to that session finds none
  over: (client) =>
    eventually(async () => {
      const body = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: {} });
      const url = new URL(client.endpoint, client.stream);
      const headers = { 'Content-Type': 'application/json' };
      return (await fetch(url, { method: 'POST', headers, body })).status === 404;
    }, 'the end of the session'),
  // replied PATTERN: in the bytes that came back on a raw connection
  replied: (client, stage, pattern) =>
    client.inbox.take(({ reply }) => reply !== undefined && new RegExp(pattern, 's').test(reply), `the bytes ${pattern}`),
  // primed: an event id has come, of an event without data
  primed: (client) => client.inbox.take(({ primed }) => primed !== undefined, 'an event id'),
  resume: (client, stage, id) => client.listen(id === undefined ? client.lastEventId : id),
  listen: (client) => client.listen(),
  ended: (client, stage, how) =>
    client.inbox.take(({ ended }) => ended !== undefined && (how === undefined || ended === how), 'the end of a stream'),
  failed: (client) => client.inbox.take(({ failed }) => failed !== undefined, 'a broken connection'),
  drop: (client, stage, id) => client.drop(id),
  raw: (client, stage, bytes) => client.raw(expand(bytes, stage, client)),
  half: (client, stage, bytes) => client.raw(expand(bytes, stage, client), true),
  // answered CODE [twice]: the bytes that came back on a raw connection begin with that status
  answered: async (client, stage, code, twice) => {
    const pattern = new RegExp(`^HTTP/1\\.[01] ${code} ${twice ? `.*HTTP/1\\.[01] ${code} ` : ''}`, 's');
    await client.inbox.take(({ reply }) => reply !== undefined && pattern.test(reply), `a raw answer ${code}`);
  },
  // refused: a raw request got a 4xx, 501 or 505, or just the end of its connection, and no success
  refused: async (client) => {
    const item = await client.inbox.take(
      ({ reply, closed }) => closed || /^HTTP\/1\.[01] (4\d\d|501|505) .*\r\n\r\n/s.test(reply ?? ''),
      'a refusal',
    );
    if (/^HTTP\/1\.[01] [23]/.test(item.reply ?? '')) throw new Error(`it was served: ${item.reply.slice(0, 300)}`);
  },
  gone: (client) => client.inbox.take(({ closed }) => closed, 'the end of a raw connection'),
  eof: (client) => client.close(),
};

function expand(bytes, stage, client) {
  return fillText(bytes, { ...stage.vars, address: stage.gateway.address, session: client.session });
}
