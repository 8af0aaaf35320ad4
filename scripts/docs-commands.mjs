// Keeps the tables of docs/commands.md equal to the settings tables of the commands.
//
//   node scripts/docs-commands.mjs            writes the tables
//   node scripts/docs-commands.mjs --check    exits 1 when they are out of date
import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const page = join(root, 'docs/commands.md');
// Below node_modules, so that what is compiled finds its dependencies, and apart from a build that is in use.
const compiled = join(root, `node_modules/.cache/docs-commands-${process.pid}`);

try {
  execFileSync(
    join(root, 'node_modules/.bin/tsc'),
    ['-p', join(root, 'tsconfig.build.json'), '--outDir', compiled, '--noCheck'],
    { stdio: 'inherit' },
  );
  const load = (path) => import(pathToFileURL(join(compiled, path)).href);
  const { commands } = await load('cli/commands.js');
  const { commonSettings } = await load('cli/settings/common-settings.js');
  const { collectionSettings } = await load('cli/settings/collection-settings.js');
  const { aggregatorSettings } = await load('cli/commands/aggregator/settings.js');
  const { variablesOf } = await load('cli/settings/setting.js');
  const { completionWords } = await load('cli/settings/flags.js');

  const tables = new Map([
    ['common', commonSettings],
    ['collection', collectionSettings],
    ...commands.map(({ description }) => [
      description.name,
      Object.fromEntries(
        Object.entries(description.settings).filter(
          // A frontend and an Endpoint Picker are aggregators as well, and their pages say so.
          ([name, setting]) =>
            (['frontend', 'epp'].includes(description.name) ? aggregatorSettings : collectionSettings)[
              name
            ] !== setting,
        ),
      ),
    ]),
  ]);
  const rowsOf = (table) =>
    Object.entries(table).map(([name, setting]) => {
      const variables = variablesOf(name, setting);
      return `| ${flagOf(name, setting, completionWords(setting))} | ${defaultOf(setting)} | ${setting.help} | ${
        variables.map((variable) => `\`${variable}\``).join(', ') || '–'
      } |`;
    });

  const before = readFileSync(page, 'utf8');
  const seen = new Set();
  const after = before.replace(
    /(<!-- settings of (\w+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, start, name, end) => {
      const table = tables.get(name);
      if (table === undefined)
        throw new Error(`docs/commands.md asks for the settings of ${name}, which is no command`);
      seen.add(name);
      const head = '| flag | default | meaning | environment |\n|---|---|---|---|';
      return `${start}${head}\n${rowsOf(table).join('\n')}\n${end}`;
    },
  );
  const missing = [...tables.keys()].filter((name) => !seen.has(name));
  if (missing.length > 0) throw new Error(`docs/commands.md has no table for ${missing.join(', ')}`);

  if (!process.argv.includes('--check')) writeFileSync(page, after);
  else if (after !== before) {
    console.error('docs/commands.md is out of date: run node scripts/docs-commands.mjs');
    process.exitCode = 1;
  }
} finally {
  rmSync(compiled, { recursive: true, force: true });
}

/** The flag with what it takes. */
function flagOf(name, setting, words) {
  if (setting.kind === 'boolean') return setting.default === true ? `\`--no-${name}\`` : `\`--${name}\``;
  const kinds = {
    duration: 'DURATION',
    size: 'SIZE',
    integer: 'N',
    number: 'NUMBER',
    list: { url: 'URL,…', target: 'TARGET,…', zmq: 'ENDPOINT,…' }[setting.item] ?? 'NAME,…',
    address: 'HOST:PORT',
    file: setting.mustBe === 'folder' ? 'DIR' : 'FILE',
    string: 'TEXT',
  };
  const own = (setting.placeholder ?? kinds[setting.kind])?.replaceAll('|', '\\|');
  const value = [...words, ...(own === undefined ? [] : [own])].join('\\|');
  return `\`--${name} ${value}\``;
}

/** The default, or what holds when nothing is given. */
function defaultOf(setting) {
  if (setting.defaultHelp !== undefined) return setting.defaultHelp;
  if (setting.kind === 'boolean') return setting.default === true ? 'on' : 'off';
  const value = Array.isArray(setting.default) ? setting.default.join(', ') : setting.default;
  return value === undefined ? '–' : `\`${value}\``;
}
