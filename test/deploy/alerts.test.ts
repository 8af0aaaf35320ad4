import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { asNode, nodesOf, repositoryFile } from './manifests.js';

const RULES = 'deploy/kustomize/components/alerts/prometheus-rule.yaml';

/** The groups of rules that a page shows. */
function groupsOf(page: string): unknown[] {
  return [...repositoryFile(page).matchAll(/^```yaml\n(groups:\n[\s\S]*?)^```/gm)].flatMap(([, yaml = '']) =>
    nodesOf(asNode(parse(yaml))?.['groups']),
  );
}

test('the alerts that are installed are those of the documentation', () => {
  const spec = asNode(asNode(parse(repositoryFile(RULES)))?.['spec']);
  const documented = [...groupsOf('docs/metrics.md'), ...groupsOf('docs/operations.md')];
  expect(documented).toHaveLength(2);
  expect(spec?.['groups']).toEqual(documented);
});
