// HTTP/1.1 and event streams at the level of bytes, both directions, for actors that must be able to misbehave.

// Feeds on chunks, calls `onRequest({ verb, path, headers, text })` for each whole request.
export function requestReader(onRequest) {
  let bytes = Buffer.alloc(0);
  return (chunk) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) return;
      const [first, ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
      const headers = Object.fromEntries(
        lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
      );
      const length = Number(headers['content-length'] ?? 0);
      if (bytes.length < end + 4 + length) return;
      const text = bytes.subarray(end + 4, end + 4 + length).toString('utf8');
      bytes = bytes.subarray(end + 4 + length);
      const [verb, path] = first.split(' ');
      onRequest({ verb, path, headers, text });
    }
  };
}

export function response(status, headers, body = '') {
  const reason = { 200: 'OK', 202: 'Accepted', 404: 'Not Found' }[status] ?? 'Status';
  const all = { 'Content-Length': Buffer.byteLength(body), ...headers };
  const lines = Object.entries(all).filter(([, value]) => value !== null);
  return `HTTP/1.1 ${status} ${reason}\r\n${lines.map(([k, v]) => `${k}: ${v}\r\n`).join('')}\r\n${body}`;
}

export function streamHead(headers = {}) {
  const all = { 'Content-Type': 'text/event-stream', 'Transfer-Encoding': 'chunked', ...headers };
  return `HTTP/1.1 200 OK\r\n${Object.entries(all)
    .map(([k, v]) => `${k}: ${v}\r\n`)
    .join('')}\r\n`;
}

export function chunk(text) {
  if (Buffer.isBuffer(text)) return Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), text, Buffer.from('\r\n')]);
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

// Feeds on text, calls `onEvent({ event, data, id, comment })`.
export function eventReader(onEvent) {
  let rest = '';
  let current = {};
  return (text) => {
    rest += text;
    const lines = rest.split('\n');
    rest = lines.pop();
    for (const line of lines.map((each) => each.replace(/\r$/, ''))) {
      if (line === '') {
        if (Object.keys(current).length > 0) onEvent(current);
        current = {};
      } else if (line.startsWith(':')) {
        onEvent({ comment: line.slice(1) });
      } else {
        const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line);
        current[name] = name === 'data' && 'data' in current ? `${current.data}\n${value}` : value;
      }
    }
  };
}
