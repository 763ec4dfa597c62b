// A random valid conversation: drawn whole from its seed before the first word, so that it is the same whoever is spoken to.
import { Chance, Writer } from './json.mjs';
import { uris } from './server.mjs';

export const MODERN = '2026-07-28';
const META = 'io.modelcontextprotocol';
const CAN = '{"sampling":{},"elicitation":{"form":{},"url":{}},"roots":{}}';
const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

class Draw {
  constructor(seed, era, asks) {
    this.chance = new Chance(seed);
    this.asks = asks;
    this.w = new Writer(this.chance, true);
    this.modern = era === 'modern';
    this.count = 0;
    this.subscribed = new Set();
  }

  id() {
    this.count++;
    return this.chance.one([`${this.count}`, `"${this.count}"`, `"id-\\u0041 ${this.count}"`]);
  }

  meta({ token, level }) {
    const { w } = this;
    const own = { ...w.unknown(), 'x.example/k': this.chance.in(4) ? w.value() : undefined };
    const legacy = { ...own, progressToken: token };
    if (!this.modern) return Object.values(legacy).some((value) => value !== undefined) ? w.object(legacy) : undefined;
    return w.object({
      ...legacy,
      [`${META}/protocolVersion`]: `"${MODERN}"`,
      [`${META}/clientCapabilities`]: CAN,
      [`${META}/clientInfo`]: '{"name":"differential","version":"1"}',
      [`${META}/logLevel`]: level && `"${level}"`,
    });
  }

  request(method, members = {}, options = {}) {
    const _meta = this.meta(options);
    const all = { ...members, _meta };
    const none = !Object.values(all).some((value) => value !== undefined);
    return { do: 'request', id: this.id(), method, members: all, params: none ? undefined : this.w.object(all), ...options };
  }

  call(name, args, options) {
    return this.request('tools/call', { ...this.w.unknown(), name: `"${name}"`, arguments: args }, options);
  }

  token() {
    return this.chance.one([`${1000 + this.count}`, `"t-\\u00e4-${this.count}"`, `"${'t'.repeat(40)}${this.count}"`]);
  }

  free() {
    const { w, chance } = this;
    switch (chance.below(5)) {
      case 0: return this.call('typed', w.object({
        n: chance.one(['1', '-0', '1.0', '123456789012345678901234567890', '1E2']),
        s: chance.in(2) ? w.string() : undefined,
        l: chance.in(2) ? w.array(['1e400', '-1.50']) : undefined,
        ...w.unknown(),
      }));
      case 1: return this.call('fails', w.object(w.members()));
      case 2: return this.call('refuses', w.object(w.members()));
      default: return this.call('any', chance.in(6) ? undefined : w.object(w.members(3)));
    }
  }

  setLevel() {
    return this.request('logging/setLevel', { level: `"${this.chance.one(levels)}"` });
  }

  logs() {
    const chosen = Array.from({ length: this.chance.below(5) }, () => `"${this.chance.one(levels)}"`);
    const call = this.call('logs', `{"levels":[${chosen}]}`, { level: this.chance.in(3) ? undefined : this.chance.one(levels) });
    return this.modern ? [call] : [this.setLevel(), call];
  }

  // Who has seen that many events of a legacy stream may drop it, and go on with it.
  progress() {
    const steps = this.chance.below(5);
    const token = this.chance.in(4) ? undefined : this.token();
    const dropped = !this.modern && token && this.chance.in(2) ? 1 + this.chance.below(1 + steps) : undefined;
    return this.call('progress', `{"steps":${steps}}`, { token, dropped });
  }

  cancelled() {
    return [{ ...this.call('wait', this.w.object(this.w.members()), { token: this.token() }), do: 'cancel' }, this.call('journal', '{"count":1}')];
  }

  lists() {
    return ['tools/list', 'prompts/list', 'resources/list', 'resources/templates/list'].map((method) => this.list(method));
  }

  // Pages are drawn as they come; all ask with the same members.
  list(method) {
    return { ...this.request(method), do: 'list' };
  }

  changed() {
    return [...this.lists(), { ...this.call('change'), notices: ['tools', 'prompts', 'resources'].map((kind) => `notifications/${kind}/list_changed`) }, ...this.lists()];
  }

  subscribe() {
    const uri = this.chance.one(uris);
    this.subscribed.add(uri);
    return this.request('resources/subscribe', { uri: `"${uri}"`, ...this.w.unknown() });
  }

  unsubscribe() {
    const [uri] = this.subscribed;
    if (!uri) return [];
    this.subscribed.delete(uri);
    return [this.request('resources/unsubscribe', { uri: `"${uri}"` })];
  }

  listen() {
    this.subscribed = new Set(uris.filter(() => this.chance.in(2)));
    const wanted = { toolsListChanged: 'true', promptsListChanged: 'true', resourcesListChanged: 'true' };
    const notifications = this.w.object({ ...wanted, resourceSubscriptions: JSON.stringify([...this.subscribed]) });
    return { ...this.request('subscriptions/listen', { notifications }), do: 'listen', notices: ['notifications/subscriptions/acknowledged'] };
  }

  touch() {
    if (this.subscribed.size === 0) return [];
    const uri = this.chance.one([...this.subscribed]);
    return [{ ...this.call('touch', `{"uri":"${uri}"}`), notices: ['notifications/resources/updated'] }];
  }

  reference() {
    const { w } = this;
    const prompt = { type: '"ref/prompt"', name: this.chance.one(['"p1"', '"p.3"', '"p\\u0032"']), ...w.unknown() };
    const template = { type: '"ref/resource"', uri: '"test://t/{x}"', ...w.unknown() };
    const argument = w.object({ name: '"a"', value: w.string(), ...w.unknown() });
    return this.request('completion/complete', { ref: w.object(this.chance.one([prompt, template])), argument, ...w.unknown() });
  }

  // The server asks in the middle, so often and so.
  asked() {
    const methods = ['elicitation/create', 'sampling/createMessage', 'roots/list'];
    const asks = Array.from({ length: this.chance.below(4) }, () => `"${this.chance.one(methods)}"`);
    return { ...this.call('asks', this.w.object({ asks: `[${asks}]`, ...this.w.unknown() })), do: this.modern ? 'rounds' : 'request' };
  }

  step() {
    const { w, chance } = this;
    if (this.asks && chance.in(4)) return [this.asked()];
    switch (chance.below(14)) {
      case 0: return this.lists().slice(chance.below(4));
      case 1: return [this.request('prompts/get', { name: chance.one(['"p1"', '"p2"']), arguments: w.object({ a: w.string() }), ...w.unknown() })];
      case 2: return [this.request('resources/read', { uri: JSON.stringify(chance.one([...uris, 'test://t/1', 'test://u/a/b'])), ...w.unknown() })];
      case 3: return [this.reference()];
      case 4: return this.logs();
      case 5: return [this.progress()];
      case 6: return chance.in(2) ? this.cancelled() : [this.progress()];
      case 7: return chance.in(3) ? this.changed() : [this.free()];
      case 8: return this.modern ? this.touch() : [this.subscribe(), ...this.touch(), ...(chance.in(2) ? this.unsubscribe() : [])];
      case 9: return this.modern ? [this.free()] : [this.request('ping')];
      case 10: return [{ do: 'together', steps: [this.free(), this.progress(), this.free()] }];
      case 11: return chance.in(3) ? [this.request('x-unknown/method', w.unknown())] : [this.free()];
      default: return [this.free()];
    }
  }

  whole() {
    const steps = this.modern
      ? [this.request('server/discover'), this.listen()]
      : [this.request('initialize', { protocolVersion: '"2025-11-25"', capabilities: this.asks ? CAN : '{}', clientInfo: '{"name":"differential","version":"1"}' })];
    for (let n = 3 + this.chance.below(12); n > 0; n--) steps.push(...this.step());
    return steps;
  }
}

export const conversation = (seed, era, asks) => new Draw(seed, era, asks).whole();
