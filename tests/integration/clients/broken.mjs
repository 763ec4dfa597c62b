// A client whose connection breaks, wherever it breaks, sends its call again: what it is for happens once.
import assert from 'node:assert';
import http from 'node:http';
import net from 'node:net';
import { once } from 'node:events';
import { done, test } from '../../lib/tap.mjs';
import { serve } from '../../lib/gateway.mjs';

// A server whose one tool has effects. It shows progress twice, then answers; `ran` counts by argument.
async function startShop({ defer }) {
  const shop = { ran: {}, hold: null };
  shop.asked = new Promise((resolve) => (shop.isAsked = resolve));
  const answers = {
    initialize: () => ({
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'shop', version: '1' },
    }),
    'tools/list': () => ({ tools: [{ name: 'pay', inputSchema: { type: 'object' } }] }),
    ping: () => ({}),
  };
  const server = http.createServer(async (request, response) => {
    let text = '';
    for await (const part of request) text += part;
    const message = request.method === 'POST' ? JSON.parse(text) : {};
    const { id, method, params } = message;
    if (method === 'tools/call') return void pay(response, id, params);
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end();
    const result = answers[method]?.();
    const body = result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } };
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  });
  async function pay(response, id, { arguments: { n }, _meta }) {
    shop.ran[n] = (shop.ran[n] ?? 0) + 1;
    shop.isAsked();
    const say = (message) => response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    for (let progress = 1; progress <= 2; progress++) {
      if (shop.hold?.at === progress) await shop.hold.until;
      say({ method: 'notifications/progress', params: { progressToken: _meta.progressToken, progress } });
    }
    if (shop.hold?.at === 'answer') await shop.hold.until;
    say({ id, result: { content: [{ type: 'text', text: `paid ${n}` }] } });
    response.end();
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  shop.settings = { url: `http://127.0.0.1:${server.address().port}/mcp`, era: 'legacy' };
  return shop;
}

const modern = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

const eras = {
  modern: { headers: { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/call', 'Mcp-Name': 'shop__pay' }, meta: modern },
  legacy: { headers: { 'MCP-Protocol-Version': '2025-11-25' }, meta: {} },
};

// The bytes of one POST on a connection that is kept.
function post(address, headers, message) {
  const body = JSON.stringify({ jsonrpc: '2.0', ...message });
  const lines = Object.entries({
    Host: address,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  return `POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

async function openSession(address) {
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'broken', version: '1' } };
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const ask = (message, more) =>
    fetch(`http://${address}/mcp`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    });
  const session = (await ask({ id: 0, method: 'initialize', params })).headers.get('mcp-session-id');
  await ask({ method: 'notifications/initialized' }, { 'Mcp-Session-Id': session });
  return { 'Mcp-Session-Id': session };
}

// Sends a call, and resolves with what came once `enough(text)`, or all of it, or `early`; `end(socket)` is how the client
// leaves.
async function call({ address, era, session }, id, n, enough, end, early = new Promise(() => {})) {
  const { headers, meta } = eras[era];
  const socket = net.connect(Number(address.split(':')[1]), '127.0.0.1');
  const params = { name: 'shop__pay', arguments: { n }, _meta: { progressToken: id, ...meta } };
  let text = '';
  socket.setEncoding('latin1');
  socket.on('error', () => {});
  await new Promise((resolve) => {
    const look = () => (enough(text) || whole(text)) && resolve();
    early.then(resolve);
    socket.on('data', (part) => {
      text += part;
      look();
    });
    socket.on('close', resolve);
    socket.write(post(address, { ...headers, ...session }, { id, method: 'tools/call', params }), look);
  });
  end(socket);
  return text;
}

const reset = (socket) => socket.resetAndDestroy();
const whole = (text) => text.endsWith('0\r\n\r\n') || /"result".*\}$/s.test(text);

async function payAgain(place, n) {
  const text = await call(place, `again-${n}`, n, whole, (socket) => socket.end());
  assert.match(text, new RegExp(`paid ${n}"`));
}

async function open(era, context) {
  const shop = await startShop(context);
  const gateway = await serve({ mcpServers: { shop: shop.settings } }, context);
  const place = { address: gateway.address, era, session: era === 'legacy' ? await openSession(gateway.address) : {} };
  return { shop, place };
}

for (const era of Object.keys(eras)) {
  await test(`${era}: a connection that is reset at any byte of the answer`, async (context) => {
    const { shop, place } = await open(era, context);
    const answer = await call(place, 'first', 'first', whole, (socket) => socket.end());
    assert.match(answer, /paid first"/);
    for (let at = 0; at <= answer.length; at++) {
      await call(place, at, at, (text) => text.length >= at, reset);
      await payAgain(place, at);
      assert.equal(shop.ran[at], 1, `reset after ${at} bytes of ${answer.length}`);
    }
  });

  for (const at of [1, 2, 'answer']) {
    await test(`${era}: a connection that is closed before ${at === 'answer' ? 'the answer' : `progress ${at}`}`, async (context) => {
      const { shop, place } = await open(era, context);
      let go;
      shop.hold = { at, until: new Promise((resolve) => (go = resolve)) };
      const seen = (text) => text.includes(`"progress":${at === 2 ? 1 : 2}`);
      await call(place, 'x', 'x', seen, (socket) => socket.destroy(), at === 1 ? shop.asked : undefined);
      const again = payAgain(place, 'x');
      go();
      await again;
      assert.equal(shop.ran.x, 1);
    });
  }
}

await test('modern: two equal calls on purpose, one after the other, are two', async (context) => {
  const { shop, place } = await open('modern', context);
  for (let i = 0; i < 3; i++) await payAgain(place, 'y');
  assert.equal(shop.ran.y, 3);
});

done();
