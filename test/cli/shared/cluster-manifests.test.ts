import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readClusterManifests } from '../../../src/cli/shared/cluster-manifests.js';
import type { ApiRequest, KubernetesApi } from '../../../src/edge/kubernetes/api.js';
import { KubernetesError } from '../../../src/edge/kubernetes/kubernetes-error.js';

/** A cluster that answers each path with a list, or with an error. */
function clusterOf(
  answers: Readonly<Record<string, unknown>>,
): KubernetesApi & { readonly asked: ApiRequest[] } {
  const asked: ApiRequest[] = [];
  return {
    asked,
    name: 'https://127.0.0.1:1',
    namespace: 'inference',
    get: async (request) => {
      asked.push(request);
      const answer = answers[request.path + (request.query?.['continue'] ?? '')];
      if (answer instanceof Error) throw answer;
      if (answer === undefined) throw new KubernetesError('not_found', `${request.path} is not there`);
      return answer;
    },
    watch: () => {
      throw new Error('nothing is watched');
    },
    close: async () => undefined,
  };
}

const signal = new AbortController().signal;
const DEPLOYMENTS = '/apis/apps/v1/namespaces/inference/deployments';
const PODS = '/api/v1/namespaces/inference/pods';
const GRAPHS = '/apis/nvidia.com/v1beta1/namespaces/inference/dynamographdeployments';

function refuse(what: string): KubernetesError {
  return new KubernetesError('forbidden', `may not list ${what}`);
}

async function read(
  answers: Readonly<Record<string, unknown>>,
): Promise<{ files: Record<string, unknown>; refused: string[] }> {
  const refused: string[] = [];
  const files = await readClusterManifests(clusterOf(answers), 'inference', signal, ({ message }) =>
    refused.push(message),
  );
  return { files: Object.fromEntries(files.map(({ file, text }) => [file, parse(text)])), refused };
}

describe("a cluster's workloads as manifests", () => {
  it('are named by kind, namespace and name, without what the server added', async () => {
    const metadata = { name: 'vllm', namespace: 'inference', managedFields: [{}], annotations: { a: 'b' } };
    const { files } = await read({
      [DEPLOYMENTS]: { items: [{ metadata, spec: { replicas: 2 }, status: { replicas: 2 } }] },
    });
    expect(files).toEqual({
      'cluster:Deployment/inference/vllm': {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'vllm', namespace: 'inference' },
        spec: { replicas: 2 },
      },
    });
  });

  it('are read page by page', async () => {
    const { files } = await read({
      [DEPLOYMENTS]: { metadata: { continue: 'next' }, items: [{ metadata: { name: 'a' } }] },
      [`${DEPLOYMENTS}next`]: { metadata: {}, items: [{ metadata: { name: 'b' } }] },
    });
    expect(Object.keys(files)).toEqual(['cluster:Deployment/inference/a', 'cluster:Deployment/inference/b']);
  });

  it('have an end where a server names one page after another', async () => {
    const page = { metadata: { continue: 'next' }, items: [{ metadata: { name: 'a' } }] };
    const { files } = await read({ [DEPLOYMENTS]: page, [`${DEPLOYMENTS}next`]: page });
    expect(Object.keys(files)).toEqual(['cluster:Deployment/inference/a']);
  });

  it.each([
    null,
    [],
    'items',
    { items: 7 },
    { items: [null, 7, {}, { metadata: 'a' }, { metadata: { name: 7 } }] },
  ])('are none in the answer %j, which is no list of objects', async (answer) => {
    const { files } = await read({ [PODS]: answer, '/api/v1/namespaces/inference': {} });
    expect(files).toEqual({});
  });

  it('are those that nobody made: what a controller owns says what its owner says', async () => {
    const owned = { name: 'vllm-1', ownerReferences: [{ controller: true }] };
    const { files } = await read({
      [PODS]: { items: [{ metadata: owned }, { metadata: { name: 'alone' } }] },
    });
    expect(Object.keys(files)).toEqual(['cluster:Pod/inference/alone']);
  });

  it('are each there once, in the newest version that is served', async () => {
    const graph = { items: [{ metadata: { name: 'graph' } }] };
    const { files } = await read({ [GRAPHS]: graph, [GRAPHS.replace('beta', 'alpha')]: graph });
    expect(files).toEqual({
      'cluster:DynamoGraphDeployment/inference/graph': expect.objectContaining({
        apiVersion: 'nvidia.com/v1beta1',
      }),
    });
  });

  it('are read as far as they may be, and what may not be read is reported', async () => {
    const { files, refused } = await read({
      [PODS]: refuse('pods'),
      [DEPLOYMENTS]: { items: [{ metadata: { name: 'vllm' } }] },
    });
    expect(Object.keys(files)).toEqual(['cluster:Deployment/inference/vllm']);
    expect(refused).toEqual(['may not list pods']);
  });

  it('are reported once where two versions of a kind may not be read', async () => {
    const { refused } = await read({
      [GRAPHS]: refuse('graphs'),
      [GRAPHS.replace('beta', 'alpha')]: refuse('graphs'),
      [DEPLOYMENTS]: { items: [{ metadata: { name: 'vllm' } }] },
    });
    expect(refused).toEqual(['may not list graphs']);
  });

  it('may be none, but not in a namespace that is not there', async () => {
    const empty = { [DEPLOYMENTS]: { items: [] } };
    await expect(read(empty)).rejects.toThrow('https://127.0.0.1:1: there is no namespace inference');
    expect(await read({ ...empty, '/api/v1/namespaces/inference': {} })).toEqual({ files: {}, refused: [] });
    const shut = { ...empty, '/api/v1/namespaces/inference': refuse('namespaces') };
    expect(await read(shut)).toEqual({ files: {}, refused: [] });
  });

  it('are an error when none of them may be read, or the cluster does not answer', async () => {
    const kinds =
      'leaderworkersets deployments statefulsets daemonsets dynamographdeployments pods configmaps';
    const api: KubernetesApi = {
      ...clusterOf({}),
      get: async ({ path }) => {
        throw refuse(kinds.split(' ').find((kind) => path.endsWith(`/${kind}`)) ?? path);
      },
    };
    await expect(readClusterManifests(api, 'inference', signal, () => undefined)).rejects.toThrow(
      'may not list dynamographdeployments',
    );
    const down = new KubernetesError('unreachable', 'no connection');
    await expect(read({ [GRAPHS]: down })).rejects.toBe(down);
  });
});
