import { describe, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { lintTexts } from '../../src/tools/manifests/lint/lint-texts.js';
import { isOurs, ourImage, problemsOf, readSettings } from './manifest-problems.js';
import {
  asNode,
  deployFiles,
  type Node,
  nodesOf,
  objectsOf,
  type Placed,
  plainManifests,
  podTemplatesOf,
  repositoryFile,
  textsOf,
} from './manifests.js';

const manifests = plainManifests();
/** Patches that only add to a container which is another file's. */
const whole = manifests.flatMap(podTemplatesOf).map((template) => ({
  ...template,
  spec: {
    ...template.spec,
    initContainers: nodesOf(template.spec['initContainers']).filter(({ image }) => image !== undefined),
    containers: nodesOf(template.spec['containers']).filter(({ image }) => image !== undefined),
  },
}));
const containers = whole.flatMap(({ at, spec }) =>
  [...nodesOf(spec['initContainers']), ...nodesOf(spec['containers'])].map((container) => ({
    at,
    container,
  })),
);

describe('manifests below deploy/', () => {
  test('are YAML without a key twice', () => {
    expect(manifests.length).toBeGreaterThan(40);
  });

  test.each(whole.map((template) => [template.at, template] as const))(
    '%s: flags, ports, probes, resources and rights are right',
    async (_, template) => {
      expect(await problemsOf(template)).toEqual([]);
    },
  );

  test('have the image of this version', () => {
    const ours = containers.filter(({ container }) => ourImage(container));
    expect(ours.length).toBeGreaterThan(15);
    for (const { container } of ours) expect(container['image']).toBe(`kv-accord:${packageJson.version}`);
  });

  test('run every command that belongs into a pod', async () => {
    const read = await Promise.all(
      containers.filter(({ container }) => isOurs(container)).map(({ container }) => readSettings(container)),
    );
    const commands = new Set(read.map((result) => ('command' in result ? result.command : result.problem)));
    expect([...commands].sort()).toEqual(['aggregator', 'epp', 'exec', 'frontend', 'sidecar', 'wait']);
  });

  test('have one sidecar for Deployments, StatefulSets, as a native sidecar and as an ordinary container', () => {
    const sidecars = manifests
      .filter(({ at }) => /components\/worker-sidecar(-container)?\//.test(at))
      .flatMap(podTemplatesOf)
      .flatMap(({ spec }) => [...nodesOf(spec['initContainers']), ...nodesOf(spec['containers'])]);
    expect(sidecars.map(({ restartPolicy }) => restartPolicy)).toEqual([
      undefined,
      undefined,
      'Always',
      'Always',
    ]);
    const [first, ...others] = sidecars.map((sidecar) => ({ ...sidecar, restartPolicy: undefined }));
    for (const other of others) expect(other).toEqual(first);
  });
});

describe('the check finds', () => {
  const good = (): Node => asNode(JSON.parse(JSON.stringify(frontend()))) ?? {};
  const cases: readonly (readonly [string, (container: Record<string, unknown>) => void, string])[] = [
    ['a flag that does not exist', (c) => push(c, '--min-worker=2'), 'did you mean --min-workers?'],
    ['a value that is wrong', (c) => push(c, '--drain-timeout=30'), 'must be a duration'],
    ['a target that is wrong', (c) => push(c, '--workers=k8s://Workers'), 'k8s://'],
    ['a variable that does not exist', (c) => env(c, 'KV_ACCORD_TLS_CRT', 'x'), 'did you mean'],
    [
      'a port on which nobody listens',
      (c) => push(c, '--http-listen=0.0.0.0:9999'),
      'on which nobody listens',
    ],
    ['TLS with probes in plaintext', (c) => withTls(c), 'scheme HTTP is wrong'],
    ['no resources', (c) => delete c['resources'], 'has no memory limit'],
    ['an index as large as the limit', (c) => push(c, '--index-memory=3GiB'), 'leaves no room'],
    ['an end that takes too long', (c) => push(c, '--drain-timeout=60s'), 'too short'],
    ['too many rights', (c) => delete c['securityContext'], 'Restricted'],
  ];
  test.each(cases)('%s', async (_, spoil, words) => {
    const object = good();
    const [template] = podTemplatesOf({ at: 'here', object });
    if (template === undefined) throw new Error('no template');
    expect(await problemsOf(template)).toEqual([]);
    spoil(nodesOf(template.spec['containers'])[0] as Record<string, unknown>);
    expect((await problemsOf(template)).join('\n')).toContain(words);
  });

  function frontend(): Node {
    const found = manifests.find(({ at }) =>
      at.endsWith('base/frontend/deployment.yaml: Deployment kv-accord-frontend'),
    );
    if (found === undefined) throw new Error('no frontend');
    return found.object;
  }
  function push(container: Record<string, unknown>, flag: string): void {
    container['args'] = [...textsOf(container['args']), flag];
  }
  function env(container: Record<string, unknown>, name: string, value: string): void {
    container['env'] = [...nodesOf(container['env']), { name, value }];
  }
  function withTls(container: Record<string, unknown>): void {
    container['env'] = [];
    push(container, '--tls-cert=/tls.crt');
    push(container, '--tls-key=/tls.key');
  }
});

describe('kv-accord lint', () => {
  const files = deployFiles('.yaml').filter((file) => !file.startsWith('deploy/helm/'));

  test.each(files)('finds nothing in %s', (file) => {
    expect(lintTexts([{ file, text: repositoryFile(file) }])).toEqual([]);
  });

  test('finds it where an example is spoilt', () => {
    const file = 'deploy/examples/dynamo/v1alpha1/trtllm-agg-router.yaml';
    const spoilt = repositoryFile(file).replace('value: "32"', 'value: "16"');
    expect(lintTexts([{ file, text: spoilt }]).map(({ ruleId }) => ruleId)).toContain('block-size-mismatch');
  });
});

describe('examples of Dynamo', () => {
  const files = deployFiles('.yaml').filter((file) => file.startsWith('deploy/examples/dynamo/'));

  test.each(files)('%s: every block size in it is the same', (file) => {
    const text = repositoryFile(file);
    const sizes = [
      ...text.matchAll(/--(?:tokens-per-block|block-size|page-size|kv-block-size)=(\d+)/g),
      ...text.matchAll(/tokens_per_block: (\d+)/g),
      ...text.matchAll(/DYN_KV_CACHE_BLOCK_SIZE\n\s+value: "(\d+)"/g),
    ].map(([, size]) => size);
    expect(sizes.length).toBeGreaterThan(1);
    expect(new Set(sizes).size).toBe(1);
  });

  test.each(files)(
    '%s: the sidecar reads the events where the engine publishes them, and nobody else can',
    (file) => {
      const text = repositoryFile(file);
      const published = [...text.matchAll(/"(?:replay_)?endpoint": "tcp:\/\/[^:]+:(\d+)"/g)].map(
        ([, port]) => port,
      );
      const read = [...text.matchAll(/--kv-(?:event|replay)-sources=tcp:\/\/127.0.0.1:(\d+)/g)].map(
        ([, port]) => port,
      );
      expect(read.sort()).toEqual(published.sort());
      for (const port of [...published.map(Number), 9_464, 50_061])
        expect(openTo(objectsOf(file, text), port)).not.toContain('everybody');
      const isGuarded = text.includes('kind: NetworkPolicy');
      expect(isGuarded).toBe(text.includes('kv-accord-sidecar'));
      if (isGuarded) expect(openTo(objectsOf(file, text), 8000)).toContain('everybody');
    },
  );

  /** Who may reach a port of the workers, by the NetworkPolicies. */
  function openTo(objects: readonly Placed[], port: number): string[] {
    const rules = objects
      .filter(({ object }) => object['kind'] === 'NetworkPolicy')
      .flatMap(({ object }) => nodesOf(asNode(object['spec'])?.['ingress']));
    return rules
      .filter(({ ports }) =>
        nodesOf(ports).some(
          ({ protocol = 'TCP', port: first, endPort = first }) =>
            protocol === 'TCP' && Number(first) <= port && port <= Number(endPort),
        ),
      )
      .map(({ from }) => (from === undefined ? 'everybody' : 'some'));
  }

  test('have vLLM, SGLang and TensorRT-LLM in both versions of the API', () => {
    const names = files.map((file) => file.replace('deploy/examples/dynamo/', ''));
    for (const version of ['v1alpha1', 'v1beta1'])
      for (const engine of ['vllm', 'sglang', 'trtllm'])
        expect(names.filter((name) => name.startsWith(`${version}/${engine}-`)).length).toBeGreaterThan(0);
  });

  test('have no variable before exec that would be an override', () => {
    const frontends = whole
      .flatMap(({ spec }) => nodesOf(spec['containers']))
      .filter((container) => isOurs(container));
    for (const container of frontends.filter(({ args }) => textsOf(args)[0] === 'exec'))
      expect(nodesOf(container['env']).map(({ name }) => name)).not.toContain('DYN_KV_CACHE_BLOCK_SIZE');
  });
});
