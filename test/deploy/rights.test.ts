import { expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  asNode,
  type Node,
  nodesOf,
  objectsOf,
  plainManifests,
  repositoryFile,
  textsOf,
} from './manifests.js';

/** `list,watch pods` for each line of the table of rights: what kv-accord asks for, and no more. */
function documentedRights(): Set<string> {
  const [, table = ''] =
    /## Rights\n[\s\S]*?(\|[\s\S]*?)\n\n/.exec(repositoryFile('docs/kubernetes.md')) ?? [];
  const rights = new Set<string>();
  for (const line of table.split('\n').slice(2)) {
    const [, , group = '', resources = '', verbs = ''] = line.split('|').map((cell) => cell.trim());
    const name = group.replaceAll('`', '').replace('""', '');
    for (const resource of resources.split(',').map((text) => text.replaceAll('`', '').trim()))
      if (resource !== '') rights.add(`${verbs.replaceAll(' ', '')} ${name}/${resource}`);
  }
  return rights;
}

function rightsOf(rules: readonly Node[]): string[] {
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    textsOf(resources).map((resource) => `${textsOf(verbs).join()} ${textsOf(apiGroups).join()}/${resource}`),
  );
}

/** The rules of every Role below `deploy/kustomize`, those that a component puts in the place of others among them. */
function givenRights(): string[] {
  const roles = plainManifests()
    .filter(({ at }) => at.startsWith('deploy/kustomize/'))
    .flatMap(({ object }) => (object['kind'] === 'Role' ? nodesOf(object['rules']) : []));
  const component = objectsOf('', repositoryFile('deploy/kustomize/components/find-pods/kustomization.yaml'));
  const patches = component.flatMap(({ object }) => nodesOf(object['patches']));
  const replaced = patches
    .flatMap(({ patch }) => nodesOf(parse(String(patch))))
    .filter(({ path }) => path === '/rules')
    .flatMap(({ value }) => nodesOf(value));
  return rightsOf([...roles, ...replaced]);
}

/** Every rule that the chart can write; what stands between them are conditions. */
function chartRights(): string[] {
  const files = ['access.yaml', 'epp.yaml'].map((name) => `deploy/helm/kv-accord/templates/${name}`);
  const template = files.map(repositoryFile).join('\n');
  const rules = [...template.matchAll(/- apiGroups: .*\n\s+resources: .*\n\s+verbs: .*/g)].map(
    ([rule]) => rule,
  );
  return rightsOf(rules.flatMap((rule) => nodesOf(parse(`  ${rule}`))));
}

test('the Roles give what the documentation says that the discovery needs, and no more', () => {
  const documented = documentedRights();
  expect(documented.size).toBeGreaterThan(8);
  const given = givenRights();
  expect([...new Set(given)].sort()).toEqual([
    'get apps/deployments',
    'get apps/replicasets',
    'get apps/statefulsets',
    'list,watch /pods',
    'list,watch discovery.k8s.io/endpointslices',
    'list,watch inference.networking.k8s.io/inferencepools',
    'list,watch inference.networking.x-k8s.io/inferenceobjectives',
    'list,watch llm-d.ai/inferenceobjectives',
  ]);
  for (const right of [...given, ...chartRights()]) expect([...documented]).toContain(right);
  expect(chartRights()).toEqual(
    expect.arrayContaining([...given, 'get /pods', 'get nvidia.com/dynamographdeployments']),
  );
});

test('the account is the one that the pods have', () => {
  const accounts = plainManifests()
    .filter(({ at }) => at.startsWith('deploy/kustomize/base/'))
    .flatMap(
      ({ object }) =>
        asNode(asNode(asNode(object['spec'])?.['template'])?.['spec'])?.['serviceAccountName'] ?? [],
    );
  expect(new Set(accounts)).toEqual(new Set(['kv-accord']));
});
