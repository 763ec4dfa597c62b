// The scenario language: cases out of files, lines into words and values.
import fs from 'node:fs';
import { parse } from './template.mjs';

// `== ID: title` begins a case; a line that begins with a blank continues the one before; `#` begins a comment line.
export function readCases(file) {
  const cases = [];
  fs.readFileSync(file, 'utf8')
    .split('\n')
    .forEach((line, index) => {
      const head = /^== ([\w-]+): (.*)$/.exec(line);
      const lines = cases.at(-1)?.lines;
      if (head) cases.push({ id: head[1], title: head[2], lines: [] });
      else if (line.trim() === '' || line.startsWith('#')) return;
      else if (!lines) throw new Error(`${file}:${index + 1}: a step before the first case`);
      else if (/^\s/.test(line)) lines.at(-1).text += ` ${line.trim()}`;
      else lines.push({ text: line, number: index + 1 });
    });
  return cases;
}

// Splits at blanks; what begins with {, [ or " extends to its end and becomes a template, a number becomes one.
export function words(text) {
  const found = [];
  let at = 0;
  while (at < text.length) {
    if (text[at] === ' ') {
      at++;
      continue;
    }
    const start = at;
    at = '{["'.includes(text[at]) ? endOfValue(text, at) : endOfWord(text, at);
    const word = text.slice(start, at);
    found.push('{["'.includes(word[0]) || /^-?\d+$/.test(word) ? parse(word) : word);
  }
  return found;
}

function endOfWord(text, at) {
  while (at < text.length && text[at] !== ' ') at++;
  return at;
}

function endOfValue(text, at) {
  let depth = 0;
  do {
    if (text[at] === '"') {
      for (at++; at < text.length && text[at] !== '"'; at++) at += text[at] === '\\' ? 1 : 0;
    } else if ('{['.includes(text[at])) depth++;
    else if ('}]'.includes(text[at])) depth--;
    at++;
  } while (depth > 0 && at < text.length);
  if (depth > 0) throw new Error(`a value without end: ${text}`);
  return at;
}

// Lines into a tree: `repeat N` … `end` is one step with steps of its own.
export function tree(lines) {
  const top = [];
  const open = [top];
  for (const line of lines) {
    const parts = words(line.text);
    if (parts[0] === 'end') {
      open.pop();
    } else if (parts[0] === 'repeat') {
      const step = { ...line, parts, steps: [] };
      open.at(-1).push(step);
      open.push(step.steps);
    } else {
      open.at(-1).push({ ...line, parts });
    }
  }
  if (open.length !== 1) throw new Error('repeat without end');
  return top;
}
