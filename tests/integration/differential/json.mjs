// JSON as text: random values in every spelling that the grammar allows, and members cut out of an object without touching
// the bytes around them.

// A generator of its own, so that a seed means the same everywhere.
export class Chance {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }

  below(n) {
    return this.next() % n;
  }

  one(list) {
    return list[this.below(list.length)];
  }

  in(n) {
    return this.below(n) === 0;
  }
}

// FNV-1a: what a deterministic server makes its answers from.
export function hash(text) {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

const numbers = ['0', '-0', '1', '-1', '0.1', '1e400', '-1E+2', '1e-7', '9007199254740993', '123456789012345678901234567890',
  '0.30000000000000004', '18446744073709551616', '1.0', '100e-2'];
const texts = ['', 'a', 'ä', '€', '😀', '\\u0041', '\\ud83d\\ude00', '\\u0000', '\\/', '/', '\\\\', '\\"', '\\b\\f\\n\\r\\t', '\\u2028',
  ' ', ' ', '\u007f', '\\u00e9', '{}', '<b>', 'data: x', 'id', '_meta', '\\ud800'];
const words = ['a', 'b', 'x-unknown', 'ä', 'n\\u0061me', 'text', 'type', 'id', 'result', 'error', '', 'a/b', '~', '$ref', 'isError',
  'content', 'progressToken', '_meta'];

// `broken`: may line breaks stand between tokens?
export class Writer {
  constructor(chance, broken) {
    this.chance = chance;
    this.blanks = broken ? ['', '', '', '', ' ', '\n', '\t', '\n  '] : ['', '', '', '', ' ', '\t', '  '];
  }

  blank() {
    return this.chance.one(this.blanks);
  }

  string() {
    let text = '';
    for (let n = this.chance.below(6); n > 0; n--) text += this.chance.one(texts);
    return this.chance.in(50) ? `"${text}${'long '.repeat(4000)}"` : `"${text}"`;
  }

  // Members in random order; `raw` is key → value.
  object(raw) {
    const members = Object.entries(raw).filter(([, value]) => value !== undefined);
    for (let i = members.length - 1; i > 0; i--) {
      const j = this.chance.below(i + 1);
      [members[i], members[j]] = [members[j], members[i]];
    }
    const text = members.map(([key, value]) => `${this.blank()}"${key}"${this.blank()}:${this.blank()}${value}${this.blank()}`);
    return `{${text.join(',') || this.blank()}}`;
  }

  array(items) {
    return `[${items.map((item) => `${this.blank()}${item}${this.blank()}`).join(',') || this.blank()}]`;
  }

  value(depth = 3) {
    switch (this.chance.below(depth > 0 ? 7 : 5)) {
      case 0: return this.chance.one(numbers);
      case 1: return this.chance.one(['true', 'false', 'null']);
      case 5: return this.array(Array.from({ length: this.chance.below(4) }, () => this.value(depth - 1)));
      case 6: return this.object(this.members(depth - 1));
      default: return this.string();
    }
  }

  members(depth = 2) {
    return Object.fromEntries(Array.from({ length: this.chance.below(4) }, () => [this.chance.one(words), this.value(depth)]));
  }

  // Members that no version of the protocol knows.
  unknown() {
    return this.chance.in(2) ? {} : { [`x-${this.chance.below(9)}`]: this.value() };
  }
}

const isBlank = (c) => c === ' ' || c === '\n' || c === '\r' || c === '\t';

function skipBlank(text, i) {
  while (isBlank(text[i])) i++;
  return i;
}

function skipString(text, i) {
  for (i++; text[i] !== '"'; i++) if (text[i] === '\\') i++;
  return i + 1;
}

function skipValue(text, i) {
  if (text[i] === '"') return skipString(text, i);
  if (text[i] !== '{' && text[i] !== '[') {
    while (i < text.length && !/[\s,}\]]/.test(text[i])) i++;
    return i;
  }
  let depth = 0;
  do {
    if (text[i] === '"') {
      i = skipString(text, i);
      continue;
    }
    if (text[i] === '{' || text[i] === '[') depth++;
    else if (text[i] === '}' || text[i] === ']') depth--;
    i++;
  } while (depth > 0);
  return i;
}

// The members of an object, or items of an array, as text with their places.
export function parts(text) {
  const object = text[0] === '{';
  const found = [];
  let i = skipBlank(text, 1);
  while (text[i] !== '}' && text[i] !== ']') {
    const from = i;
    let key;
    if (object) {
      i = skipString(text, i);
      key = JSON.parse(text.slice(from, i));
      i = skipBlank(text, skipBlank(text, i) + 1);
    }
    const end = skipValue(text, i);
    found.push({ key, from, raw: text.slice(i, end), start: i, end });
    i = skipBlank(text, end);
    if (text[i] === ',') i = skipBlank(text, i + 1);
  }
  return found;
}

export const member = (text, key) => parts(text).find((part) => part.key === key);

// Cuts a member that was put in as the first one, with its comma, or one among others.
export function without(text, key) {
  const list = parts(text);
  const at = list.findIndex((part) => part.key === key);
  if (at < 0) return text;
  if (at + 1 < list.length) {
    const comma = text.indexOf(',', list[at].end);
    return text.slice(0, list[at].from) + text.slice(comma + 1);
  }
  const from = at > 0 ? text.lastIndexOf(',', list[at].from) : list[at].from;
  return text.slice(0, from) + text.slice(list[at].end);
}

export function replaced(text, part, raw) {
  return text.slice(0, part.start) + raw + text.slice(part.end);
}
