import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deployFiles, repositoryFile } from '../deploy/manifests.js';
import { lacks, peerPath } from './support/peers.js';

const TSC = fileURLToPath(new URL('../../node_modules/typescript/bin/tsc', import.meta.url));
const FILES = deployFiles('.json').filter((file) => file.startsWith('deploy/grafana/'));

/** Types of panels that the dashboards have, and where Grafana's types of their options are. */
const PANELS: Readonly<Record<string, string>> = {
  timeseries: 'TimeSeries',
  stat: 'Stat',
  table: 'Table',
};

interface Panel {
  readonly type: string;
  readonly options?: unknown;
  readonly fieldConfig?: {
    readonly defaults: { readonly unit?: string; readonly custom?: unknown };
    readonly overrides: unknown;
  };
}

interface Dashboard {
  readonly panels: readonly Panel[];
}

const DASHBOARDS: readonly (readonly [file: string, text: string, dashboard: Dashboard])[] = FILES.map(
  (file) => {
    const text = repositoryFile(file);
    return [file, text, JSON.parse(text) as Dashboard];
  },
);

/** Strings stand where Grafana's types have enumerations; no name may stand there that they do not know. */
const HEAD = `import type { Dashboard } from '@grafana/schema';
${Object.entries(PANELS)
  .map(
    ([type, name]) =>
      `import type * as ${type} from '@grafana/schema/dist/esm/raw/composable/${type}/panelcfg/x/${name}PanelCfg_types.gen';`,
  )
  .join('\n')}
type Json<T> = T extends string ? \`\${T}\`
  : T extends number | boolean | null | undefined ? T
  : T extends readonly (infer U)[] ? Json<U>[]
  : T extends object ? { [K in keyof T]: Json<T[K]> } : T;
`;

function panelChecks({ panels }: Dashboard): string[] {
  return panels.flatMap(({ type, options, fieldConfig }, at) => {
    if (type === 'row') return [];
    const custom = fieldConfig?.defaults.custom;
    return [
      `const options${at}: Json<Partial<${type}.Options>> = ${JSON.stringify(options ?? {}, null, 1)};`,
      ...(custom === undefined
        ? []
        : [`const custom${at}: Json<Partial<${type}.FieldConfig>> = ${JSON.stringify(custom, null, 1)};`]),
    ];
  });
}

describe.skipIf(lacks('grafana-schema'))("a dashboard, by Grafana's own types", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kv-accord-dashboards-'));
    mkdirSync(join(folder, 'src'));
    symlinkSync(peerPath('grafana-schema', 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  /** What the compiler says of some lines after the head; empty where it has nothing to say. */
  function compile(lines: readonly string[]): string {
    const file = join(folder, 'src', 'check.ts');
    writeFileSync(file, [HEAD, ...lines, 'export {};'].join('\n'));
    const flags = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2022'];
    try {
      return execFileSync(process.execPath, [TSC, ...flags, file], { encoding: 'utf8', cwd: folder });
    } catch (error) {
      return String((error as { readonly stdout?: unknown }).stdout);
    }
  }

  it.each(DASHBOARDS)(
    '%s has what it knows: variables, links, panels and their options',
    (_, text, dashboard) => {
      for (const { type } of dashboard.panels) expect(['row', ...Object.keys(PANELS)]).toContain(type);
      expect(compile([`const dashboard: Json<Dashboard> = ${text};`, ...panelChecks(dashboard)])).toBe('');
    },
  );

  it('is refused with a field, a value or an option that it does not know', () => {
    const [, , dashboard] = DASHBOARDS[0] as (typeof DASHBOARDS)[number];
    const wrong = [
      ['const dashboard: Json<Dashboard> = ', { ...dashboard, panel: [] }],
      ['const dashboard: Json<Dashboard> = ', { ...dashboard, schemaVersion: 'latest' }],
      ['const options: Json<Partial<stat.Options>> = ', { colorMode: 'rainbow' }],
      ['const options: Json<Partial<timeseries.Options>> = ', { legends: {} }],
    ] as const;
    for (const [line, value] of wrong)
      expect(compile([`${line}${JSON.stringify(value)};`])).toContain('error TS');
  });

  it.each(DASHBOARDS)('%s has units that Grafana writes', (_, _text, { panels }) => {
    const formats = readFileSync(
      peerPath(
        'grafana-schema',
        'node_modules',
        '@grafana',
        'data',
        'dist',
        'esm',
        'valueFormats',
        'categories.mjs',
      ),
      'utf8',
    );
    const known = new Set([...formats.matchAll(/\bid: "([^"]+)"/g)].map(([, id]) => id));
    expect(known.size).toBeGreaterThan(200);
    for (const { fieldConfig } of panels) {
      const unit = fieldConfig?.defaults.unit;
      if (unit !== undefined) expect(known).toContain(unit);
    }
  });
});
