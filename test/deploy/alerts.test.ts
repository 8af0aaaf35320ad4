import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asNode, type Node, nodesOf, repositoryFile } from './manifests.js';

const groups = nodesOf(asNode(parse(repositoryFile('deploy/helm/kv-accord/files/alerts.yaml')))?.['groups']);
const rules = groups.flatMap(({ rules: own }) => nodesOf(own));
const alerts = rules.map((rule) => [String(rule['alert']), rule] as const);
const runbooks = repositoryFile('docs/runbooks.md');
const metricsPage = repositoryFile('docs/metrics.md');

test('Kustomize installs the alerts of the chart', () => {
  const rule = parse(repositoryFile('deploy/kustomize/components/alerts/prometheus-rule.yaml'));
  expect(asNode(asNode(rule)?.['spec'])?.['groups']).toEqual(groups);
});

test('every alert has a section in the runbooks, and every section an alert', () => {
  const sections = [...runbooks.matchAll(/^## (\S+)$/gm)].map(([, name]) => name);
  expect(sections).toEqual(alerts.map(([name]) => name));
});

describe.each(alerts)('%s', (name, rule) => {
  const annotations: Node = asNode(rule['annotations']) ?? {};
  const severity = asNode(rule['labels'])?.['severity'];

  test('has a severity and words, and points to its section', () => {
    expect(['critical', 'warning']).toContain(severity);
    expect(annotations['summary']).toMatch(/\S/);
    expect(annotations['description']).toMatch(/\S/);
    expect(annotations['runbook_url']).toBe(`docs/runbooks.md#${name.toLowerCase()}`);
  });

  test('stands in metrics.md with its severity', () => {
    const row = metricsPage.split('\n').find((line) => line.startsWith('|') && line.includes(`\`${name}\``));
    expect(row).toContain(`| ${severity} |`);
  });

  test('asks for series that there are', () => {
    const expr = String(rule['expr']);
    const asked = [...expr.matchAll(/\bkv_[a-z_]+/g)].map(([series]) => series.replace(/_bucket$/, ''));
    for (const series of asked) expect(metricsPage).toContain(`| \`${series}`);
    expect(asked.length > 0 || expr.includes('up{job=')).toBe(true);
  });

  test('fires before the series that it asks for can vanish', () => {
    // The shortest-lived state is that of a lost worker within --grace; no alert may rest on it for longer.
    expect(String(rule['expr'])).not.toContain('kv_accord_workers{state="lost"}');
  });
});

test('the monitors name the jobs that the alerts ask for', () => {
  const jobsIn = (file: string): string[] =>
    [...repositoryFile(file).matchAll(/targetLabel: job\n\s+replacement: (\S+)/g)].map(([, job = '']) => job);
  const component = 'deploy/kustomize/components/monitoring';
  expect(jobsIn(`${component}/service-monitor.yaml`)).toEqual(['kv-accord']);
  expect(jobsIn(`${component}/pod-monitor.yaml`)).toEqual(['kv-accord-sidecar']);
  expect(jobsIn('deploy/helm/kv-accord/templates/monitoring.yaml')).toEqual([
    'kv-accord',
    'kv-accord-sidecar',
  ]);
});
