import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { asNode, repositoryFile } from '../deploy/manifests.js';
import { lacks, peerPath } from './support/peers.js';
import { type Outcome, run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';

const rule = repositoryFile('deploy/kustomize/components/alerts/prometheus-rule.yaml');

describe.skipIf(lacks('promtool'))('the alerts', () => {
  test('are rules that Prometheus takes', async () => {
    const { status, stdout } = await promtool('check', rule);
    expect(stdout).toContain('SUCCESS: 10 rules found');
    expect(status).toBe(0);
  });

  test('fire when they should, and not before', async () => {
    const { status, stdout, stderr } = await promtool('test', rule);
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  test('and the check can fail: a gate that is said to be shut after a minute', async () => {
    const { status, stderr, stdout } = await promtool('test', rule.replaceAll('for: 15m', 'for: 1m'));
    expect(status).toBe(1);
    expect(stdout + stderr).toContain('KvAccordGateShut');
  });
});

/** Checks the groups of rules in a PrometheusRule, or tries them on the cases. */
function promtool(what: 'check' | 'test', text: string): Promise<Outcome> {
  const folder = mkdtempSync(join(scratchFolder(), 'alerts-'));
  const { groups } = asNode(asNode(parse(text))?.['spec']) ?? {};
  writeFileSync(join(folder, 'rules.yaml'), stringify({ groups }));
  writeFileSync(join(folder, 'cases.yaml'), repositoryFile('test/peers/support/alert-cases.yaml'));
  return run(peerPath('promtool'), [
    what,
    'rules',
    join(folder, what === 'check' ? 'rules.yaml' : 'cases.yaml'),
  ]);
}
