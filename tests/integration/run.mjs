// Plays scenarios against the real gateway.
//   node run.mjs [FILE…] [--only ID] [--gateway PATH]
// The binary is --gateway, or HOLDFAST, or build/holdfast. TAP on standard output.
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const args = process.argv.slice(2);
const option = (name) => {
  const at = args.indexOf(name);
  return at < 0 ? undefined : args.splice(at, 2)[1];
};
const only = option('--only');
process.env.HOLDFAST = option('--gateway') ?? process.env.HOLDFAST ?? '';
if (process.env.HOLDFAST === '') delete process.env.HOLDFAST;

const { test, done } = await import('../lib/tap.mjs');
const { readCases, tree } = await import('./lib/script.mjs');
const { Stage } = await import('./lib/stage.mjs');

const here = path.dirname(fileURLToPath(import.meta.url));
const all = () => fs.readdirSync(path.join(here, 'scenarios')).map((name) => path.join(here, 'scenarios', name));
const files = args.length > 0 ? args : all().sort();

for (const file of files) {
  const area = path.basename(file, '.txt');
  for (const { id, title, lines } of readCases(file)) {
    if (only && !id.startsWith(only)) continue;
    await test(`${area} ${id} ${title}`, async ({ defer, comment }) => {
      const stage = new Stage(defer);
      try {
        await stage.play(tree(lines));
      } catch (error) {
        comment(stage.journal());
        throw error;
      }
    });
  }
}
done();
