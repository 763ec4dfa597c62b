// Holds a conversation over HTTP or over the pipes of a child, and notes all that was said in return: for each request its
// progress, its log lines and its answer, and beside them the notices that belong to none.
import http from 'node:http';
import readline from 'node:readline';
import { MODERN } from './conversation.mjs';
import { Chance, Writer, hash, member, parts } from './json.mjs';

const PATIENCE_MS = 8000;

// Resolves when `condition` holds, looked at whenever something was heard.
class Ear {
  constructor() {
    this.looks = new Set();
  }

  stir() {
    for (const look of [...this.looks]) look();
  }

  until(condition, what) {
    if (condition()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = (settle) => {
        clearTimeout(timer);
        this.looks.delete(look);
        settle();
      };
      const look = () => condition() && end(resolve);
      const timer = setTimeout(() => end(() => reject(new Error(`never came: ${what()}`))), PATIENCE_MS);
      this.looks.add(look);
    });
  }
}

// What a question is answered with follows from the question.
function answerTo(method, params, broken) {
  const w = new Writer(new Chance(hash(`${method} ${params}`)), broken);
  if (method === 'roots/list') return w.object({ roots: w.array([w.object({ uri: '"file:///here"', name: w.string(), ...w.unknown() })]), ...w.unknown() });
  if (method === 'elicitation/create') {
    const content = w.chance.in(2) ? { action: '"accept"', content: w.object({ a: w.string() }) } : { action: w.chance.one(['"decline"', '"cancel"']) };
    return w.object({ ...content, ...w.unknown() });
  }
  const said = w.object({ type: '"text"', text: w.string(), ...w.unknown() });
  return w.object({ role: '"assistant"', model: w.string(), content: said, stopReason: '"endTurn"', ...w.unknown() });
}

class Talk {
  constructor(modern) {
    this.modern = modern;
    this.ear = new Ear();
    this.records = new Map(); // raw id → record
    this.tokens = new Map();
    this.notices = new Set();
    this.fresh = new Set(); // methods of those that came since the step began
    this.current = undefined;
    this.again = 0;
    this.problem = undefined;
  }

  // What is compared of a notice: a list's is composed anew by whoever tells of it, and may be told once for many.
  note(text, { method, params }) {
    let key = text;
    if (method.endsWith('list_changed')) key = method;
    else if (method.endsWith('acknowledged')) key = `${method} ${JSON.stringify(Object.entries(params.notifications).sort())}`;
    this.notices.add(key);
    this.fresh.add(method);
  }

  hear(text) {
    const message = JSON.parse(text);
    const id = member(text, 'id')?.raw;
    if (message.method === undefined) {
      const record = this.records.get(id);
      if (!record || record.response) this.problem = `nobody asked for ${text}`;
      else record.response = text;
    } else if (id !== undefined) {
      this.answer(text, message.method, id);
    } else if (message.method === 'notifications/progress') {
      const record = this.tokens.get(member(member(text, 'params').raw, 'progressToken').raw);
      if (!record || record.response) this.problem = `progress of nothing: ${text}`;
      else record.progress.push(text);
    } else if (message.method === 'notifications/message') {
      this.current.logs.push(text);
    } else {
      this.note(text, message);
    }
    this.ear.stir();
  }

  answer(text, method, id) {
    const params = member(text, 'params')?.raw;
    this.current.questions.push(`${method} ${params}`);
    this.say(`{"jsonrpc":"2.0","id":${id},"result":${answerTo(method, params, false)}}`).catch((error) => (this.problem ??= error.message));
  }

  begin(step, id = step.id) {
    const record = { method: step.method, tool: step.members.name, progress: [], logs: [], questions: [], response: undefined };
    this.records.set(id, record);
    if (step.token) this.tokens.set(step.token, record);
    this.current = record;
    return record;
  }

  text(id, method, params) {
    return `{"jsonrpc":"2.0","id":${id},"method":"${method}"${params === undefined ? '' : `,"params":${params}`}}`;
  }

  async ask(step, expected, id = step.id, params = step.params) {
    const record = this.begin(step, id);
    this.send(this.text(id, step.method, params), step, record);
    const complete = () => record.response && record.progress.length >= (expected?.progress.length ?? 0) && record.logs.length >= (expected?.logs.length ?? 0);
    await this.ear.until(complete, () => `all of ${step.method} ${step.members.name ?? ''}, but ${JSON.stringify(record)}`);
    return record;
  }

  async list(step) {
    const records = [];
    let cursor;
    do {
      const id = cursor === undefined ? step.id : `"${cursor}-${records.length}-${this.records.size}"`;
      const params = cursor === undefined ? step.params : `{"cursor":"${cursor}"${step.members._meta ? `,"_meta":${step.members._meta}` : ''}}`;
      records.push(await this.ask(step, undefined, id, params));
      cursor = JSON.parse(records.at(-1).response).result?.nextCursor;
    } while (cursor !== undefined);
    return { method: step.method, pages: records.map((record) => record.response) };
  }

  // The same request again and again, with the answers to what its result asks.
  async rounds(step, expected) {
    const records = [];
    for (let [id, params] = [step.id, step.params]; ; ) {
      const record = await this.ask(step, expected?.[records.length], id, params);
      records.push(record);
      const result = member(record.response, 'result')?.raw;
      if (!result || JSON.parse(result).resultType !== 'input_required') return records;
      const answers = parts(member(result, 'inputRequests').raw).map(({ key, raw }) => {
        const asked = [JSON.parse(member(raw, 'method').raw), member(raw, 'params')?.raw];
        return `${JSON.stringify(key)}:${answerTo(...asked, this.broken)}`;
      });
      const more = `"inputResponses":{${answers}},"requestState":${member(result, 'requestState').raw},`;
      [id, params] = [`"again ${++this.again}"`, `{${more}${step.params.trimStart().slice(1)}`];
    }
  }

  async cancel(step) {
    const record = this.begin(step);
    this.send(this.text(step.id, step.method, step.params), step, record);
    await this.ear.until(() => record.progress.length > 0, () => 'a sign of the call that is to be cancelled');
    await this.withdraw(step);
    return { method: step.method, tool: step.members.name, progress: record.progress };
  }

  async listen(step) {
    const record = this.begin(step);
    this.send(this.text(step.id, step.method, step.params), step, record);
    this.listening = step;
    return { method: step.method };
  }

  async take(step, expected) {
    if (step.do === 'list') return this.list(step);
    if (step.do === 'rounds') return this.rounds(step, expected);
    if (step.do === 'cancel') return this.cancel(step);
    if (step.do === 'listen') return this.listen(step);
    if (step.do === 'together') return Promise.all(step.steps.map((each, i) => this.ask(each, expected?.[i])));
    return this.ask(step, expected);
  }

  // Returns what was heard. `reference`: what another heard in the same conversation, all of which is waited for.
  async hold(steps, reference) {
    const heard = [];
    try {
      for (const [i, step] of steps.entries()) {
        this.fresh = new Set();
        heard.push(await this.take(step, reference?.heard[i]));
        if (step.method === 'initialize') await this.initialized();
        const wanted = step.notices ?? [];
        await this.ear.until(() => wanted.every((method) => this.fresh.has(method)), () => `${wanted}, but ${[...this.fresh]}`);
      }
      await this.end();
    } catch (error) {
      this.problem ??= `step ${heard.length}: ${error.message}`;
      await this.end().catch(() => {});
    }
    return { heard, notices: this.notices, problem: this.problem };
  }
}

const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });

export class HttpTalk extends Talk {
  constructor(modern, url) {
    super(modern);
    this.url = new URL(url);
    this.open = new Map();
  }

  headers(step) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
    if (step?.method !== 'initialize') headers['MCP-Protocol-Version'] = this.modern ? MODERN : '2025-11-25';
    if (this.session) headers['Mcp-Session-Id'] = this.session;
    if (this.modern && step) {
      headers['Mcp-Method'] = step.method;
      const target = step.members?.name ?? step.members?.uri;
      if (target) headers['Mcp-Name'] = JSON.parse(target);
    }
    return headers;
  }

  // `id`: of the request that is answered there, if there is one, and after how many events its stream is dropped.
  exchange(verb, headers, body, { id, dropped } = {}) {
    const request = http.request(this.url, { method: verb, headers, agent });
    const taken = new Promise((resolve, reject) => {
      request.on('response', (response) => {
        response.setEncoding('utf8');
        this.session ??= response.headers['mcp-session-id'];
        if (response.headers['content-type']?.startsWith('text/event-stream')) {
          this.readStream(response, id, dropped);
          return resolve(response);
        }
        let text = '';
        response.on('data', (part) => (text += part));
        response.on('end', () => {
          if (text) this.hear(text);
          resolve(response);
        });
      });
      request.on('error', reject);
    });
    request.end(body);
    return { request, taken };
  }

  // A stream that ends before the answer goes on where it stopped, if its events have ids.
  readStream(response, id, dropped) {
    let rest = '';
    let last;
    let count = 0;
    response.on('error', () => {});
    response.on('close', () => {
      if (last !== undefined && id !== undefined && !this.records.get(id).response) this.resume(id, last);
    });
    response.on('data', (part) => {
      const events = (rest + part).split('\n\n');
      rest = events.pop();
      for (const event of events) {
        if (last !== undefined && ++count > dropped) return this.drop(this.open.get(id));
        last = /^id: ?(.*)$/m.exec(event)?.[1] ?? last;
        const data = event.split('\n').filter((line) => line.startsWith('data:')).map((line) => line.slice(line[5] === ' ' ? 6 : 5));
        if (data.some(Boolean)) this.hear(data.join('\n'));
      }
    });
  }

  resume(id, last) {
    const headers = { ...this.headers(), Accept: 'text/event-stream', 'Last-Event-ID': last };
    const { request, taken } = this.exchange('GET', headers, undefined, { id });
    this.open.set(id, request);
    taken.catch((error) => {
      if (!request.wanted) this.problem ??= error.message;
    });
  }

  send(text, step) {
    const id = member(text, 'id')?.raw;
    const { request, taken } = this.exchange('POST', this.headers(step), text, { id, dropped: step.dropped });
    this.open.set(step.id, request);
    taken.catch((error) => {
      if (!request.destroyed || !request.wanted) this.problem ??= error.message;
      this.ear.stir();
    });
  }

  async say(text) {
    await this.exchange('POST', this.headers(), text).taken;
  }

  post(method, params) {
    return this.say(`{"jsonrpc":"2.0","method":"${method}","params":${params}}`);
  }

  async initialized() {
    await this.post('notifications/initialized', '{}');
    this.stream = this.exchange('GET', { ...this.headers(), Accept: 'text/event-stream' });
    this.stream.request.wanted = true;
    await this.stream.taken;
  }

  drop(request) {
    request.wanted = true;
    request.destroy();
  }

  async withdraw(step) {
    if (this.modern) this.drop(this.open.get(step.id));
    else await this.post('notifications/cancelled', `{"requestId":${step.id},"reason":"enough"}`);
  }

  async end() {
    if (this.listening) this.drop(this.open.get(this.listening.id));
    if (this.stream) this.drop(this.stream.request);
    if (this.session) await this.exchange('DELETE', this.headers()).taken;
  }
}

// A child is one for many conversations, one after the other.
export class Pipes {
  constructor(child) {
    this.child = child;
    this.talk = undefined;
    readline.createInterface({ input: child.stdout, crlfDelay: Infinity }).on('line', (line) => this.talk?.hear(line));
  }
}

export class PipeTalk extends Talk {
  constructor(modern, pipes, own) {
    super(modern);
    this.own = own; // no other conversation has the child
    this.pipes = pipes;
    pipes.talk = this;
  }

  // What breaks lines stands between tokens only.
  send(text) {
    this.pipes.child.stdin.write(`${text.replaceAll('\n', ' ')}\n`);
  }

  async say(text) {
    this.send(text);
  }

  async initialized() {
    this.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }

  async withdraw(step) {
    this.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${step.id}}}`);
  }

  async end() {
    if (this.listening) await this.withdraw(this.listening);
    if (this.own) this.pipes.child.kill();
  }
}
