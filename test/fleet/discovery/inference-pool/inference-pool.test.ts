import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { createDiscoverySource } from '../../../../src/fleet/discovery/create-source.js';
import type { DiscoveryOptions } from '../../../../src/fleet/discovery/discovery-options.js';
import { readPool } from '../../../../src/fleet/discovery/inference-pool/inference-pool.js';
import { FakeApiServer, refuse } from '../../../support/fake-api-server.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { type RunningSource, runSource } from '../source-recorder.js';

const POOLS = '/apis/inference.networking.k8s.io/v1/namespaces/kv/inferencepools';
const ALPHA_POOLS = '/apis/inference.networking.x-k8s.io/v1alpha2/namespaces/kv/inferencepools';
const PODS = '/api/v1/namespaces/kv/pods';
const open = new OpenThings();
let server: FakeApiServer;
let logger: RecordingLogger;

beforeEach(async () => {
  server = await FakeApiServer.start();
  logger = new RecordingLogger();
  open.add(() => server.close());
});

afterEach(() => open.close());

async function run(options: Partial<DiscoveryOptions>): Promise<RunningSource> {
  const source = await createDiscoverySource(
    { workers: [], kubeconfig: server.kubeconfig(), ...options },
    {
      clock: systemClock,
      random: systemRandom,
      resolver: { lookupAll: async () => [] },
      logger,
      environment: {},
    },
  );
  return runSource(source);
}

/** What was logged beside the warning that the server is asked in plaintext. */
function logged(): string[] {
  return logger.messages().filter((message) => !message.includes('is asked in plaintext'));
}

function pool(labels: Readonly<Record<string, string>>, ports: readonly number[] = [8000]): object {
  return {
    spec: {
      selector: { matchLabels: labels },
      targetPorts: ports.map((number) => ({ number })),
      endpointPickerRef: { name: 'epp', port: { number: 9002 } },
    },
  };
}

function put(collection: string, name: string, object: object): void {
  server.put(collection, name, object as Record<string, unknown>);
}

function pod(podIP: string | undefined, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { status: { phase: 'Running', ...(podIP === undefined ? {} : { podIP }) }, ...more };
}

/** What gateways are answered for each member. */
function served(source: RunningSource): Record<string, readonly string[]> {
  const last = source.endpoints.at(-1) ?? [];
  return Object.fromEntries(
    last.map(({ target, serves = [] }) => [target, serves.map(({ rank, address }) => `${rank}: ${address}`)]),
  );
}

/** Refuses what the cluster does not have. */
function hasNot(path: string): void {
  const before = server.intercept;
  server.intercept = (request, response) => {
    if (!request.path.startsWith(path)) return before(request, response);
    refuse(response, 404, 'the server could not find the requested resource');
    return true;
  };
}

describe('an InferencePool', () => {
  it('has the pods of its selector as members, each with the address that gateways use', async () => {
    put(POOLS, 'llama', pool({ app: 'vllm', tier: 'decode' }));
    put(PODS, 'a', pod('192.0.2.1'));
    put(PODS, 'b', pod(undefined));
    const source = await run({ pool: 'kv/llama' });
    await source.until(() => source.lists.length === 1);
    expect(source.lists).toEqual([['a@192.0.2.1:50061', 'b (pending)']]);
    expect(served(source)).toEqual({ a: ['0: 192.0.2.1:8000'], b: [] });
    expect(server.requests.map(({ query }) => query['fieldSelector'] ?? query['labelSelector'])).toEqual(
      expect.arrayContaining(['metadata.name=llama', 'app=vllm,tier=decode']),
    );
    server.delete(PODS, 'b');
    await source.until(() => source.lists.length === 2);
    expect(source.lists.at(-1)).toEqual(['a@192.0.2.1:50061']);
    expect(source.errors).toEqual([]);
    expect(logged()).toEqual([]);
  });

  it('is found by --workers too, with another port for sidecars, in the namespace of the context', async () => {
    put(POOLS, 'llama', pool({ app: 'vllm' }));
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ workers: ['pool:///llama?port=7'] });
    await source.until(() => source.lists.length === 1);
    expect(source.lists).toEqual([['a@192.0.2.1:7']]);
  });

  it('that gets another selector or other ports is followed from there', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }));
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    put(POOLS, 'llama', pool({ app: 'one' }, [9000]));
    await source.until(() => source.lists.length === 2);
    expect(served(source)).toEqual({ a: ['0: 192.0.2.1:9000'] });
    put(POOLS, 'llama', pool({ app: 'two' }, [9000]));
    await source.until(() => source.lists.length === 3);
    expect(server.requests.at(-1)?.query['labelSelector']).toBe('app=two');
    await server.changes.until(() => server.openWatches === 2);
    expect(source.errors).toEqual([]);
  });

  it('that is deleted has no members, which is said, and has them again when it is made again', async () => {
    hasNot(ALPHA_POOLS);
    put(POOLS, 'llama', pool({ app: 'one' }));
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    server.delete(POOLS, 'llama');
    await source.until(() => source.lists.length === 2);
    expect(source.lists.at(-1)).toEqual([]);
    expect(source.errors).toEqual([
      `pool:///llama: ${server.url} has no InferencePool kv/llama (inference.networking.k8s.io/v1, nor inference.networking.x-k8s.io/v1alpha2); check its name and the namespace, and that the custom resources of the Gateway API Inference Extension are installed`,
    ]);
    put(POOLS, 'llama', pool({ app: 'one' }));
    await source.until(() => source.lists.length === 3);
    expect(source.lists.at(-1)).toEqual(['a@192.0.2.1:50061']);
  });

  it('of v1alpha2 is read where there is none of v1, with one warning, and v1 wins once it is there', async () => {
    put(ALPHA_POOLS, 'llama', { spec: { selector: { app: 'old' }, targetPortNumber: 8080 } });
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    expect(served(source)).toEqual({ a: ['0: 192.0.2.1:8080'] });
    expect(logged()).toEqual([
      'Discovery: pool:///llama: the InferencePool kv/llama is one of inference.networking.x-k8s.io/v1alpha2, which gateways no longer serve; write it as inference.networking.k8s.io/v1',
    ]);
    put(POOLS, 'llama', pool({ app: 'new' }, [9000]));
    await source.until(() => source.lists.length === 2);
    expect(served(source)).toEqual({ a: ['0: 192.0.2.1:9000'] });
    await server.changes.until(() => server.openWatches === 2);
    expect(source.errors).toEqual([]);
  });

  it('that may be one of v1alpha2, which may not be read, says what to allow', async () => {
    server.intercept = (request, response) => {
      if (request.path !== ALPHA_POOLS) return false;
      refuse(response, 403, 'inferencepools.inference.networking.x-k8s.io is forbidden');
      return true;
    };
    const source = await run({ pool: 'llama' });
    await source.until(() => source.errors.length === 1);
    expect(source.errors[0]).toContain(
      'has no InferencePool kv/llama (inference.networking.k8s.io/v1); check its name',
    );
    expect(source.errors[0]).toContain(
      'whether there is one of inference.networking.x-k8s.io/v1alpha2 is not known: ',
    );
    expect(source.errors[0]).toContain(
      '- {apiGroups: ["inference.networking.x-k8s.io"], resources: ["inferencepools"], verbs: ["list", "watch"]}',
    );
  });

  it('keeps its members where its new spec cannot be meant', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }));
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    put(POOLS, 'llama', pool({}, [9000]));
    await source.until(() => source.errors.length === 1);
    expect(source.errors[0]).toContain('its spec.selector has no labels that Kubernetes allows');
    expect(source.lists).toHaveLength(1);
  });

  it('that may not be read says what to allow', async () => {
    server.intercept = (request, response) => {
      if (request.path !== POOLS) return false;
      refuse(
        response,
        403,
        'inferencepools.inference.networking.k8s.io is forbidden: User "u" cannot list resource "inferencepools"',
      );
      return true;
    };
    const source = await run({ pool: 'llama' });
    await source.until(() => source.errors.length === 1);
    expect(source.errors[0]).toContain(
      '- {apiGroups: ["inference.networking.k8s.io"], resources: ["inferencepools"], verbs: ["list", "watch"]}',
    );
    expect(source.lists).toEqual([]);
    put(POOLS, 'llama', pool({ app: 'one' }));
    put(PODS, 'a', pod('192.0.2.1'));
    server.intercept = () => false;
    await source.until(() => source.lists.length === 1);
  });

  it('without pods says which labels it looks for', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    expect(source.errors).toEqual([
      'pool:///llama: no pods have the labels app=one of the InferencePool kv/llama',
    ]);
  });

  it('lists again after the server was away', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }));
    put(PODS, 'a', pod('192.0.2.1'));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    await server.stop();
    put(PODS, 'b', pod('192.0.2.2'));
    put(POOLS, 'llama', pool({ app: 'one' }, [9000]));
    await server.restart();
    await source.until(() => JSON.stringify(served(source)).includes('192.0.2.2:9000'));
    expect(source.lists.at(-1)).toEqual(['a@192.0.2.1:50061', 'b@192.0.2.2:50061']);
  });

  it('ends with nothing open', async () => {
    put(ALPHA_POOLS, 'llama', { spec: { selector: { app: 'old' }, targetPortNumber: 8080 } });
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    await source.stop();
    await server.changes.until(() => server.openWatches === 0);
  });
});

describe('a pool of several ports', () => {
  const sidecars = (...ports: readonly number[]): Record<string, unknown> => ({
    spec: {
      containers: [{ name: 'engine', ports: [{ containerPort: 8000 }, { containerPort: 8001 }] }],
      initContainers: [
        {
          name: 'sidecars',
          ports: ports.map((containerPort) => ({ containerPort, name: `p${containerPort}` })),
        },
      ],
    },
  });

  it('has one member for each pod, whose ranks are the ports', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }, [8000, 8001]));
    put(PODS, 'a', pod('192.0.2.1', sidecars(50_061)));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    expect(source.lists).toEqual([['a@192.0.2.1:50061']]);
    expect(served(source)).toEqual({ a: ['0: 192.0.2.1:8000', '1: 192.0.2.1:8001'] });
  });

  it('has one for each port where a pod declares a sidecar for each', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }, [8000, 8001]));
    put(PODS, 'a', pod('192.0.2.1', sidecars(50_061, 50_062)));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    expect(source.lists).toEqual([['a-rank-0@192.0.2.1:50061', 'a-rank-1@192.0.2.1:50062']]);
    expect(served(source)).toEqual({
      'a-rank-0': ['0: 192.0.2.1:8000'],
      'a-rank-1': ['1: 192.0.2.1:8001'],
    });
  });

  it('expects as many members as all the pods of its workload have ports', async () => {
    server.put('/apis/apps/v1/namespaces/kv/statefulsets', 'w', { spec: { replicas: 3 } });
    put(POOLS, 'llama', pool({ app: 'one' }, [8000, 8001]));
    put(
      PODS,
      'w-0',
      pod('192.0.2.1', {
        ...sidecars(50_061, 50_062),
        metadata: {
          ownerReferences: [{ controller: true, apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'w' }],
        },
      }),
    );
    const source = await createDiscoverySource(
      { workers: [], pool: 'llama', kubeconfig: server.kubeconfig(), countsExpected: true },
      {
        clock: systemClock,
        random: systemRandom,
        resolver: { lookupAll: async () => [] },
        logger,
        environment: {},
      },
    );
    const expected: unknown[] = [];
    const abort = new AbortController();
    await source.run(
      abort.signal,
      (_endpoints, count) => {
        expected.push(count);
        abort.abort();
      },
      () => undefined,
    );
    expect(expected).toEqual([{ count: 6, origin: 'StatefulSet w' }]);
  });

  it('leaves out the ports that the annotation of a pod does not name', async () => {
    put(POOLS, 'llama', pool({ app: 'one' }, [8000, 8001]));
    const annotated = (ports: string): Record<string, unknown> => ({
      metadata: { annotations: { 'inference.networking.k8s.io/active-ports': ports } },
    });
    put(PODS, 'a', pod('192.0.2.1', annotated('8001, 9999')));
    put(PODS, 'b', pod('192.0.2.2', annotated('9999')));
    const source = await run({ pool: 'llama' });
    await source.until(() => source.lists.length === 1);
    expect(served(source)).toEqual({ a: ['1: 192.0.2.1:8001'] });
  });
});

describe('the spec of a pool', () => {
  it('of either version is read', () => {
    expect(readPool(pool({ b: '', 'x.io/a': 'v' }, [1, 65_535]))).toEqual({
      selector: 'b=,x.io/a=v',
      targetPorts: [1, 65_535],
    });
    expect(readPool({ spec: { selector: { app: 'x' }, targetPortNumber: 8000 } })).toEqual({
      selector: 'app=x',
      targetPorts: [8000],
    });
  });

  it.each([
    [{}, 'selector'],
    [{ spec: { selector: { matchLabels: { app: 1 } }, targetPorts: [{ number: 1 }] } }, 'selector'],
    [{ spec: { selector: { matchLabels: { 'a,b': 'x' } }, targetPorts: [{ number: 1 }] } }, 'selector'],
    [{ spec: { selector: { matchLabels: { a: 'x,y=z' } }, targetPorts: [{ number: 1 }] } }, 'selector'],
    [pool({ a: 'b' }, []), 'targetPorts'],
    [pool({ a: 'b' }, [0]), 'targetPorts'],
    [pool({ a: 'b' }, [1.5]), 'targetPorts'],
    [pool({ a: 'b' }, [8000, 8000]), 'targetPorts'],
    [pool({ a: 'b' }, [1, 2, 3, 4, 5, 6, 7, 8, 9]), 'targetPorts'],
  ])('that no API server takes is refused: %j', (object, field) => {
    expect(readPool(object)).toContain(field);
  });
});

describe('the name of a pool', () => {
  it.each(['a/b/c', 'NS/x', 'pool://kv', 'pool://kv/x?selector=a', 'pool://kv/x?port=0', 'x_y'])(
    'is refused as %s',
    async (text) => {
      await expect(run({ pool: text })).rejects.toThrow('--pool');
    },
  );

  it('is one target, however it is written', async () => {
    await expect(run({ workers: ['pool://kv/x', 'POOL://kv/x?port=50061'] })).rejects.toThrow('listed twice');
  });
});
