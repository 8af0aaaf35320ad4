import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { asNode, nodesOf, repositoryFile } from '../deploy/manifests.js';
import { lacks, peerPath } from './support/peers.js';
import { type Outcome, run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';

const rules = repositoryFile('deploy/helm/kv-accord/files/alerts.yaml');
const cases = repositoryFile('test/peers/support/alert-cases.yaml');

describe.skipIf(lacks('prometheus'))('the alerts', () => {
  test('are rules that Prometheus takes', async () => {
    const { status, stdout } = await promtool('check', rules);
    expect(stdout).toContain(`SUCCESS: ${alertNames().length} rules found`);
    expect(status).toBe(0);
  });

  test('fire when they should, and not before', async () => {
    const { status, stdout, stderr } = await promtool('test', rules);
    expect([status, stdout + stderr]).toEqual([0, expect.stringContaining('SUCCESS')]);
  });

  test('each have a case', () => {
    expect(alertNames()).not.toEqual([]);
    for (const name of alertNames()) expect(cases).toContain(`alertname: ${name}\n`);
  });

  test('and the check can fail: a gate that is said to be shut after a minute', async () => {
    const { status, stderr, stdout } = await promtool('test', rules.replaceAll('for: 15m', 'for: 1m'));
    expect(status).toBe(1);
    expect(stdout + stderr).toContain('KvAccordGateShut');
  });
});

function alertNames(): readonly string[] {
  const groups = nodesOf(asNode(parse(rules))?.['groups']);
  return groups.flatMap((group) => nodesOf(group['rules']).map(({ alert }) => String(alert)));
}

/** Checks the rules, or tries them on the cases. */
function promtool(what: 'check' | 'test', text: string): Promise<Outcome> {
  const folder = mkdtempSync(join(scratchFolder(), 'alerts-'));
  writeFileSync(join(folder, 'rules.yaml'), text);
  writeFileSync(join(folder, 'cases.yaml'), cases);
  return run(peerPath('prometheus', 'promtool'), [
    what,
    'rules',
    join(folder, what === 'check' ? 'rules.yaml' : 'cases.yaml'),
  ]);
}
