import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asNode, deployFiles, nodesOf, repositoryFile, textsOf } from './manifests.js';

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

const metricsPage = repositoryFile('docs/metrics.md');
const recording = nodesOf(
  asNode(parse(repositoryFile('deploy/helm/kv-accord/files/recording.yaml')))?.['groups'],
);
const dashboards = deployFiles('.json')
  .filter((file) => file.startsWith('deploy/grafana/'))
  .map((file) => file.replace('deploy/grafana/', ''));

/** The metrics that a query asks for and that are not there; metrics.md has those of the code, each of them. */
function unknownIn(expr: string): string[] {
  const asked = [...expr.matchAll(/\bkv_[a-z_]+/g)].map(([series]) => series);
  expect(asked).not.toEqual([]);
  return asked.filter((series) => !metricsPage.includes(`| \`${series.replace(/_(bucket|sum|count)$/, '')}`));
}

test('the recording rules ask for series that there are, and Kustomize installs those of the chart', () => {
  for (const rule of recording.flatMap(({ rules }) => nodesOf(rules)))
    expect(unknownIn(String(rule['expr'])), String(rule['record'])).toEqual([]);
  const rule = parse(repositoryFile('deploy/kustomize/components/alerts/recording-rule.yaml'));
  expect(asNode(asNode(rule)?.['spec'])?.['groups']).toEqual(recording);
});

test('Kustomize loads each dashboard', () => {
  const component = asNode(parse(repositoryFile('deploy/grafana/kustomization.yaml')));
  const [generator] = nodesOf(component?.['configMapGenerator']);
  expect(textsOf(generator?.['files']).sort()).toEqual([...dashboards].sort());
  expect(dashboards).toHaveLength(3);
});

describe.each(dashboards)('the dashboard %s', (file) => {
  const text = repositoryFile(`deploy/grafana/${file}`);
  const { panels } = JSON.parse(text) as { readonly panels: readonly Panel[] };
  const shown = panels.filter(({ type }) => type !== 'row');

  test('asks for series that there are, and says in words what each panel shows', () => {
    for (const { title, description, targets = [] } of shown) {
      expect(targets, title).not.toEqual([]);
      for (const { expr } of targets) expect(unknownIn(expr), title).toEqual([]);
      expect(description, title).toMatch(/\.$/);
    }
    expect(new Set(shown.map(({ title }) => title)).size).toBe(shown.length);
  });

  test('has panels that do not overlap, and is the same in the chart', () => {
    expect(repositoryFile(`deploy/helm/kv-accord/files/dashboards/${file}`)).toBe(text);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)}:${y + Math.floor(at / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });
});
