// Counts the lines of src by kind, for each layer: code, comments, blank. Generated code stands apart.
// node scripts/count-lines.mjs
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from 'oxc-parser';

const root = fileURLToPath(new URL('../src', import.meta.url));
const counts = new Map();

for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile() || !/\.tsx?$/.test(entry.name)) continue;
  const file = join(entry.parentPath, entry.name);
  const [layer] = file.slice(root.length + 1).split('/');
  const text = readFileSync(file, 'utf8');
  const count = counts.get(layer) ?? { files: 0, code: 0, comment: 0, blank: 0 };
  counts.set(layer, count);
  count.files += 1;
  // A line that has anything outside comments is code.
  const rest = text.split('');
  for (const { start, end } of parseSync(file, text).comments)
    for (let at = start; at < end; at += 1) if (text[at] !== '\n') rest[at] = ' ';
  const lines = text.trimEnd().split('\n');
  const left = rest.join('').split('\n');
  for (const [at, line] of lines.entries()) {
    if (line.trim() === '') count.blank += 1;
    else if (left[at]?.trim() === '') count.comment += 1;
    else count.code += 1;
  }
}

const total = { files: 0, code: 0, comment: 0, blank: 0 };
for (const [layer, count] of counts) {
  if (layer === 'gen') continue;
  for (const kind of Object.keys(total)) total[kind] += count[kind];
}
const all = ({ code, comment, blank }) => code + comment + blank;
const rows = [...counts].sort(([, a], [, b]) => all(b) - all(a));
for (const [layer, count] of [...rows, ['without gen', total]])
  console.log(
    `${layer.padEnd(12)} ${String(all(count)).padStart(7)} lines: ${count.code} code, ${count.comment} comments, ${count.blank} blank, in ${count.files} files`,
  );
