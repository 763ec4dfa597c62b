// JSON with holes. `*` is any value, `$name` a value to remember or to compare with what was remembered, `absent` a
// member that must not be there, `...` at the end of an array any further elements, a string "~…" a regular expression
// that the text must match. Objects match when they have at least the members given.
const holes = /^(\*|\.\.\.|absent\b|\$\w+)/;

export function parse(text) {
  let json = '';
  let at = 0;
  while (at < text.length) {
    if (text[at] === '"') {
      const start = at++;
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
      json += text.slice(start, ++at);
      continue;
    }
    const hole = holes.exec(text.slice(at));
    json += hole ? JSON.stringify({ '$hole': hole[0] }) : text[at];
    at += hole ? hole[0].length : 1;
  }
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new Error(`${error.message} in ${text}`);
  }
}

// Fills the holes of what is sent: `$name` and, inside strings, `${name}` (`$${name}` stands for itself); `<<x*1000>>` is
// that many x.
export function fill(template, vars) {
  if (Array.isArray(template)) return template.map((item) => fill(item, vars));
  if (typeof template === 'string') return fillText(template, vars);
  if (template === null || typeof template !== 'object') return template;
  if ('$hole' in template) return known(template.$hole.slice(1), vars);
  return Object.fromEntries(Object.entries(template).map(([key, value]) => [key, fill(value, vars)]));
}

export function fillText(text, vars) {
  const filled = text.replace(/(\$?)\$\{(\w+)\}/g, (all, escape, name) => {
    if (escape) return all.slice(1);
    const value = known(name, vars);
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  return filled.replace(/<<(.+?)\*(\d+)>>/gs, (all, part, times) => part.repeat(Number(times)));
}

function known(name, vars) {
  if (!(name in vars)) throw new Error(`$${name} is not known yet`);
  return vars[name];
}

// Returns null if `value` matches (and remembers into `vars`), else where it doesn't.
export function mismatch(template, value, vars, path = '') {
  const fresh = { ...vars };
  const problem = compare(template, value, fresh, path);
  if (problem === null) Object.assign(vars, fresh);
  return problem;
}

function compare(template, value, vars, path) {
  const at = path || 'the value';
  if (template !== null && typeof template === 'object' && '$hole' in template)
    return compareHole(template.$hole, value, vars, at);
  if (value === undefined) return `${at} is missing`;
  if (typeof template === 'string' && template.startsWith('~')) {
    const plain = typeof value === 'string' || typeof value === 'number';
    const good = plain && new RegExp(fillText(template.slice(1), vars), 's').test(value);
    return good ? null : `${at} is ${JSON.stringify(value)}, not like ${template}`;
  }
  if (Array.isArray(template)) return compareArrays(template, value, vars, at);
  if (template === null || typeof template !== 'object') {
    const wanted = typeof template === 'string' ? fillText(template, vars) : template;
    return wanted === value ? null : `${at} is ${JSON.stringify(value)}, not ${JSON.stringify(wanted)}`;
  }
  if (value === null || typeof value !== 'object') return `${at} is ${JSON.stringify(value)}, not an object`;
  for (const [key, part] of Object.entries(template)) {
    const problem = compare(part, value[key], vars, `${path}.${key}`);
    if (problem) return problem;
  }
  return null;
}

function compareHole(hole, value, vars, at) {
  if (hole === 'absent') return value === undefined ? null : `${at} is there: ${JSON.stringify(value)}`;
  if (value === undefined) return `${at} is missing`;
  if (hole === '*') return null;
  const name = hole.slice(1);
  if (!(name in vars)) {
    vars[name] = value;
    return null;
  }
  const same = JSON.stringify(vars[name]) === JSON.stringify(value);
  return same ? null : `${at} is ${JSON.stringify(value)}, not ${hole} = ${JSON.stringify(vars[name])}`;
}

function compareArrays(template, value, vars, at) {
  if (!Array.isArray(value)) return `${at} is no array`;
  const open = template.at(-1)?.$hole === '...';
  const wanted = open ? template.slice(0, -1) : template;
  if (open ? value.length < wanted.length : value.length !== wanted.length)
    return `${at} has ${value.length} elements, not ${wanted.length}: ${JSON.stringify(value).slice(0, 300)}`;
  for (let i = 0; i < wanted.length; i++) {
    const problem = compare(wanted[i], value[i], vars, `${at}[${i}]`);
    if (problem) return problem;
  }
  return null;
}
