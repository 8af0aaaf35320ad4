import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { SettingError } from '../../src/app/setting-error.js';
import { commands } from '../../src/cli/commands.js';
import { parseCommandLine, tableOf } from '../../src/cli/program.js';
import { resolve } from '../../src/cli/settings/resolve.js';

const root = new URL('../../', import.meta.url);
const folders = ['.', 'docs', 'bench', 'examples/node-client', 'examples/python-client'];
const pages = folders.flatMap((folder) =>
  readdirSync(new URL(`${folder}/`, root))
    .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md')
    .map((name) => (folder === '.' ? name : `${folder}/${name}`)),
);

interface Shown {
  readonly command: string;
  /** The line that is shown below it, where that is a refusal by the program. */
  readonly refusal: string | undefined;
}

/** Commands as a person would copy them: lines that go on joined, comments, pipes and redirections cut off. */
function shownIn(page: string): Shown[] {
  const text = readFileSync(new URL(page, root), 'utf8');
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```/gm)].flatMap(([, language = '', block = '']) => {
    if (!['', 'sh', 'bash', 'console'].includes(language)) return [];
    const lines = block.replaceAll(/\\\n\s*/g, ' ').split('\n');
    const hasPrompt = lines.some((line) => line.startsWith('$ '));
    return lines.flatMap((line, at) => {
      if (hasPrompt && !line.startsWith('$ ')) return [];
      const command = COMMAND.exec(line)?.[1]?.replace(/(?: +(?:#|\||>|&|2>)|;).*$/, '');
      if (command === undefined) return [];
      return [{ command, refusal: REFUSAL.exec(lines[at + 1] ?? '')?.[1] }];
    });
  });
}

const COMMAND = /^(?:[^#'"]*(?:\$ |\| |&& ))?kv-accord ([a-z]+(?: .*)?)$/;
const REFUSAL = /^kv-accord [a-z]+: (--.*)$/;

/** Words as a shell makes them of what documentation shows. */
function wordsOf(command: string): string[] {
  return [...command.matchAll(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g)].map(([word]) => word.replaceAll(/["']/g, ''));
}

/** Why the command would not start; undefined where it would. */
function problemOf(command: string): string | undefined {
  try {
    const request = parseCommandLine(wordsOf(command), {
      commands,
      version: '0',
      write: () => undefined,
      columns: 80,
    });
    if (request.type !== 'command') return undefined;
    const { flags } = request;
    const table = tableOf(request.command);
    const { values, reject } = resolve(table, { flags, environment: {} }, () => undefined);
    request.command.description.check?.(values as never, reject, new Set(flags.keys()));
    const isElsewhere = (flags.get('workers') ?? []).some((targets) => /(?:dns|k8s|pool):\/\//.test(targets));
    const isSaid = flags.has('tls-ca') || flags.has('insecure');
    return isElsewhere && !isSaid ? 'workers on other machines without --tls-ca or --insecure' : undefined;
  } catch (error) {
    if (error instanceof SettingError) return error.message;
    throw error;
  }
}

describe('commands that documentation shows', () => {
  it.each(pages)('have flags and values that are taken: %s', (page) => {
    const shown = shownIn(page);
    const refused = shown.map(({ command }) => [command, problemOf(command)]);
    expect(refused).toEqual(shown.map(({ command, refusal }) => [command, refusal]));
  });

  it('are found, and refusals that are shown', () => {
    const shown = pages.flatMap(shownIn);
    expect(shown.length).toBeGreaterThan(60);
    expect(shown.filter(({ refusal }) => refusal !== undefined).length).toBeGreaterThan(2);
  });
});
