import { readFileSync } from 'node:fs';

const PAGE = new URL('../../../docs/kubernetes.md', import.meta.url);

/** Rules of a Role, as the table of rights in `docs/kubernetes.md` reports them for these lines of it, and no others. */
export function documentedRights(...lines: readonly string[]): object[] {
  const [, table = ''] = /## Rights\n[\s\S]*?(\|[\s\S]*?)\n\n/.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const rows = table
    .split('\n')
    .map((row) => row.split('|').map((cell) => cell.replaceAll(/[`"]/g, '').trim()));
  return lines.map((line) => {
    const row = rows.find(([, target = '']) => target.includes(line));
    if (row === undefined) throw new Error(`the table of rights has no line with "${line}"`);
    const [, , group = '', resources = '', verbs = ''] = row;
    return { apiGroups: [group], resources: resources.split(', '), verbs: verbs.split(', ') };
  });
}
