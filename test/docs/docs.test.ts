import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { createRegistry } from '../../src/edge/platform/metrics/metrics.js';
import { countRefusals } from '../../src/edge/platform/streams/stream-refusals.js';
import { FleetMetrics } from '../../src/fleet/aggregator/metrics/fleet-metrics.js';
import { IndexMetrics } from '../../src/fleet/indexer/index-metrics.js';
import { EjectionReports } from '../../src/fleet/router/ejection-reports.js';
import { RouterMetrics } from '../../src/fleet/router/router-metrics.js';
import { GatewayMetrics } from '../../src/frontend/gateway/gateway-metrics.js';
import { PickerMetrics } from '../../src/frontend/picker/picker-metrics.js';
import { ProcessCountMetrics, registerProcessMetrics } from '../../src/frontend/threads/process-metrics.js';
import { SidecarMetrics } from '../../src/worker/sidecar/http/sidecar-metrics.js';

import { LAYERS } from '../house/rooms.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Every page that people read, relative to the root. */
const pages = [
  ...['.', 'docs', 'bench', 'test/fixtures/engines', 'test/fixtures/topology'],
  ...['examples/node-client', 'examples/python-client'],
].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
);

/** Text without what stands in code, where brackets are no links. */
function prose(markdown: string): string {
  return markdown.replace(/^```[\s\S]*?^```/gm, '').replace(/`[^`\n]*`/g, '');
}

/** The anchors of a page: its headings as GitHub writes them. */
function anchorsOf(markdown: string): string[] {
  return [...markdown.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );
}

describe('links', () => {
  it.each(pages)('every relative link of %s leads somewhere', (page) => {
    const targets = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
    const broken = targets
      .filter((target) => !/^[a-z]+:/i.test(target))
      .filter((target) => {
        const [path = '', anchor] = target.split('#');
        const file = path === '' ? page : relative(root, join(root, dirname(page), path));
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchorsOf(read(file)).includes(anchor);
      });
    expect(broken).toEqual([]);
  });
});

describe('metrics.md', () => {
  it('names every metric of its own, and none that is not there', () => {
    const aggregator = new Registry();
    const sidecar = new Registry();
    const none = {} as never;
    new FleetMetrics(
      { expectedModels: [] },
      {
        registry: aggregator,
        clock: none,
        view: () => none,
        pairs: () => none,
        faults: () => none,
        sources: () => [],
      },
    );
    new IndexMetrics(aggregator, { indexes: none, tallies: none, refusals: none });
    countRefusals(aggregator, 'capabilities', none);
    new RouterMetrics(aggregator, { groups: none, expired: () => 0 });
    new EjectionReports({ history: none, registry: aggregator, logger: none, fleet: none });
    new GatewayMetrics(aggregator, { inFlight: () => 0, groups: () => [] });
    new PickerMetrics(aggregator, { reserved: () => 0 });
    new ProcessCountMetrics(aggregator, () => 0);
    registerProcessMetrics(aggregator, 1);
    new SidecarMetrics({
      registry: sidecar,
      store: none,
      endpoint: none,
      events: none,
      kvEvents: none,
      canary: none,
    });
    // Some have the same name in both, with other labels.
    const served = [aggregator, sidecar, createRegistry({ version: '0.0.0' })]
      .flatMap((registry) => registry.getMetricsAsArray() as unknown as { name: string }[])
      .map(({ name }) => name)
      .filter((name) => name.startsWith('kv_'));
    const rows = [...read('docs/metrics.md').matchAll(/^\| `(kv_\w+)/gm)].map(([, name]) => name);
    expect(rows.sort()).toEqual(served.sort());
  });
});

describe('agreement.md', () => {
  it('has every rule that a test names, and a test or the word later for every rule', () => {
    const page = read('docs/agreement.md');
    const rules = new Map(
      [...page.matchAll(/^- \*\*([RAVG]\d+)\.\*\* ([\s\S]*?)(?=^- |^#|(?![\s\S]))/gm)].map(
        ([, rule, text]) => [rule, text],
      ),
    );
    const tested = new Set(
      [
        'agreement/agreement-spec',
        'agreement/agreement-quorum',
        'agreement/agreement-tokens',
        'agreement/agreement-groups',
        'agreement/agreement-sources',
        'agreement/agreement-rehash',
        'contract/evidence/tokens-per-block',
        'contract/evidence/resolve',
      ].flatMap((name) =>
        [...read(`test/core/${name}.test.ts`).matchAll(/(?:it|describe)\('([RAVG]\d+):/g)].map(
          ([, rule]) => rule,
        ),
      ),
    );
    const promised = [...rules].filter(([, text = '']) => !text.startsWith('*Later.*')).map(([rule]) => rule);
    expect(promised.sort()).toEqual([...tested].sort());
    expect(rules.size).toBe(5 + 15 + 6 + 7);
  });
});

describe('how-it-works.md', () => {
  const page = read('docs/how-it-works.md');
  const walks = page.slice(page.indexOf('### One report, from probe to gate'));

  it('has three walks through the code, each in at most twelve steps', () => {
    const steps = walks
      .split(/^### /m)
      .slice(1)
      .map((walk) => walk.match(/^\d+\. /gm)?.length ?? 0);
    expect(steps).toHaveLength(3);
    for (const count of steps) {
      expect(count).toBeGreaterThan(5);
      expect(count).toBeLessThanOrEqual(12);
    }
  });

  it('names files that exist, one or more in each step', () => {
    const named = [...walks.matchAll(/`(src\/[^`]+)`/g)].map(([, path = '']) => path);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
    for (const [step] of walks.matchAll(/^\d+\. [^\n]*(\n {3}[^\n]*)*/gm)) expect(step).toContain('`src/');
  });

  it('names every layer in its table and in its image, with a place to begin', () => {
    const image = read('docs/images/house.svg');
    for (const layer of Object.keys(LAYERS).filter((name) => name !== 'gen')) {
      expect(image).toContain(`>${layer}</text>`);
      const [, start = ''] = new RegExp(`^\\| \\[\`${layer}\`\\].* \`([^\`]+)\` \\|$`, 'm').exec(page) ?? [];
      expect(existsSync(join(root, 'src', start)), `${layer}: ${start}`).toBe(true);
      expect(existsSync(join(root, 'src', layer, 'README.md')), `src/${layer}/README.md`).toBe(true);
    }
  });
});
