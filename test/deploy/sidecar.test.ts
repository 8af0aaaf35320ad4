import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import packageJson from '../../package.json' with { type: 'json' };
import { injectManifests } from '../../src/tools/manifests/inject/inject.js';
import { DEFAULT_INJECT_OPTIONS } from '../tools/manifests/inject/inject-options.js';
import { type Node, nodesOf, objectsOf, podTemplatesOf, repositoryFile, textsOf } from './manifests.js';

const WORKERS = 'deploy/examples/vllm/workers/deployment.yaml';

function initContainerOf(file: string, text: string): Node {
  const [object] = objectsOf(file, text);
  const [sidecar] = nodesOf(object === undefined ? [] : podTemplatesOf(object)[0]?.spec['initContainers']);
  if (sidecar === undefined) throw new Error(`${file} has no init container`);
  return sidecar;
}

test('kv-accord inject and the component of Kustomize put the same sidecar in', () => {
  const component = 'deploy/kustomize/components/worker-sidecar/deployment.yaml';
  const { files } = injectManifests([{ file: WORKERS, text: repositoryFile(WORKERS) }], {
    ...DEFAULT_INJECT_OPTIONS,
    image: `kv-accord:${packageJson.version}`,
    gate: 'none',
  });
  const injected = initContainerOf(WORKERS, files[0]?.after ?? '');
  const own = initContainerOf(component, repositoryFile(component));
  // Kustomize takes the switch to plaintext out of the environment again where there is TLS.
  const names = nodesOf(own['env']).map(({ name }) => name);
  expect(names).toEqual([...nodesOf(injected['env']).map(({ name }) => name), 'KV_ACCORD_INSECURE']);
  expect(textsOf(own['args'])).toEqual(
    textsOf(injected['args']).map((flag) => (flag === '--insecure' ? '--drain-timeout=10s' : flag)),
  );
  expect({ ...own, args: [], env: [] }).toEqual({ ...injected, args: [], env: [] });
});

test('kv-accord inject leaves alone what has a sidecar and a gate already', () => {
  const file = 'deploy/examples/dynamo/v1beta1/vllm-agg.yaml';
  const before = repositoryFile(file);
  const { files } = injectManifests([{ file, text: before }], {
    ...DEFAULT_INJECT_OPTIONS,
    image: 'kv-accord:0.0.0',
  });
  expect(files.map(({ after }) => after)).toEqual([before]);
  expect(parseAllDocuments(before)).toHaveLength(3);
});
