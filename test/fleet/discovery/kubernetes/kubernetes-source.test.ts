import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { createDiscoverySource } from '../../../../src/fleet/discovery/create-source.js';
import type { DiscoveryOptions } from '../../../../src/fleet/discovery/discovery-options.js';
import type { DiscoverySource } from '../../../../src/fleet/discovery/source.js';
import { FakeApiServer, refuse } from '../../../support/fake-api-server.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { turns } from '../../../support/turns.js';
import { runSource } from '../source-recorder.js';

const SLICES = '/apis/discovery.k8s.io/v1/namespaces/kv/endpointslices';
const PODS = '/api/v1/namespaces/kv/pods';
const open = new OpenThings();
let server: FakeApiServer;

beforeEach(async () => {
  server = await FakeApiServer.start();
  open.add(() => server.close());
});

afterEach(() => open.close());

function source(options: Partial<DiscoveryOptions>, clock: Clock = systemClock): Promise<DiscoverySource> {
  return createDiscoverySource(
    { workers: [], kubeconfig: server.kubeconfig(), ...options },
    {
      clock,
      random: systemRandom,
      resolver: { lookupAll: async () => [] },
      logger: new RecordingLogger(),
      environment: {},
    },
  );
}

function slice(pods: Readonly<Record<string, string>>): Record<string, unknown> {
  return {
    addressType: 'IPv4',
    ports: [{ name: 'grpc', port: 50061 }],
    endpoints: Object.entries(pods).map(([name, address]) => ({
      addresses: [address],
      conditions: {},
      targetRef: { kind: 'Pod', name },
    })),
  };
}

describe('a Service of a cluster', () => {
  it('is followed, in the namespace of the context where none is named', async () => {
    server.put(SLICES, 's', slice({ 'w-0': '192.0.2.1' }));
    const made = await source({ workers: ['k8s:///workers:grpc'] });
    expect([made.name, made.isStatic]).toEqual(['k8s:///workers:grpc', false]);
    const run = runSource(made);
    await run.until(() => run.lists.length === 1);
    expect(run.lists).toEqual([['w-0@192.0.2.1:50061']]);
    expect(server.requests[0]).toMatchObject({
      path: SLICES,
      query: { labelSelector: 'kubernetes.io/service-name=workers' },
    });
    server.put(SLICES, 's', slice({ 'w-0': '192.0.2.1', 'w-1': '192.0.2.2' }));
    await run.until(() => run.lists.length === 2);
    expect(run.lists.at(-1)).toEqual(['w-0@192.0.2.1:50061', 'w-1@192.0.2.2:50061']);
    expect(run.errors).toEqual([]);
  });

  it('that is not there is said once, and is an empty list', async () => {
    const run = runSource(await source({ workers: ['k8s://kv/workers:1'] }));
    await run.until(() => run.lists.length === 1);
    expect(run.lists).toEqual([[]]);
    expect(run.errors).toEqual([
      'k8s://kv/workers:1: the Service workers has no EndpointSlices in the namespace kv; check its name and the namespace',
    ]);
    server.put(SLICES, 's', slice({}));
    server.put(SLICES, 's', slice({ a: '192.0.2.1' }));
    await run.until(() => run.lists.at(-1)?.length === 1);
  });

  it('that may not be read says what to allow, and is followed once it is allowed', async () => {
    server.intercept = (_request, response) => {
      refuse(response, 403, 'endpointslices is forbidden: User "u" cannot list resource "endpointslices"');
      return true;
    };
    const run = runSource(await source({ workers: ['k8s://kv/workers:1'] }));
    await run.until(() => run.errors.length === 1);
    expect(run.errors[0]).toContain(
      'k8s://kv/workers:1: ' +
        `${server.url}: the user u may not list endpointslices (discovery.k8s.io) in the namespace kv (403). Add to a Role in the namespace kv that is bound to it: - {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"]}`,
    );
    expect(run.lists).toEqual([]);
    server.put(SLICES, 's', slice({ a: '192.0.2.1' }));
    server.intercept = () => false;
    await run.until(() => run.lists.length === 1);
    expect(run.errors).toHaveLength(1);
  });
});

describe('pods of a cluster', () => {
  it('are followed by their labels, and those of a graph by the labels of Dynamo', async () => {
    server.put(PODS, 'a', { status: { phase: 'Running', podIP: '192.0.2.1' } });
    server.put(PODS, 'b', { status: { phase: 'Pending' } });
    const run = runSource(
      await source({ workers: ['k8s://kv?selector=app in (x, y)&port=7'], dynamoGraph: 'llama' }),
    );
    await run.until(() => run.lists.length === 1);
    expect(run.lists[0]?.slice(0, 2)).toEqual(['a@192.0.2.1:7', 'b (pending)']);
    const selectors = server.requests.map(({ query }) => query['labelSelector']);
    expect(selectors).toContain('app in (x, y)');
    expect(selectors).toContain(
      'nvidia.com/dynamo-graph-deployment-name=llama,nvidia.com/dynamo-component-type in (worker,prefill,decode)',
    );
  });

  it('of one name in two namespaces are two members', async () => {
    for (const [namespace, podIP] of [
      ['one', '192.0.2.1'],
      ['two', '192.0.2.2'],
    ])
      server.put(`/api/v1/namespaces/${namespace}/pods`, 'w', { status: { phase: 'Running', podIP } });
    const run = runSource(await source({ workers: ['k8s://one?selector=a', 'k8s://two?selector=a'] }));
    await run.until(() => run.lists.length === 1);
    expect(run.lists).toEqual([['one/w@192.0.2.1:50061', 'two/w@192.0.2.2:50061']]);
    await run.stop();
    await server.changes.until(() => server.openWatches === 0);
  });
});

describe('many targets of a cluster', () => {
  const targets = (count: number): string[] =>
    Array.from({ length: count }, (_, index) => `k8s://kv/service-${index}:1`);

  it('are all followed together', async () => {
    const run = runSource(await source({ workers: targets(70) }));
    await run.until(() => run.lists.length === 1);
    await server.changes.until(() => server.openWatches === 70);
    server.put(SLICES, 's', slice({ a: '192.0.2.1' }));
    await run.until(() => run.lists.at(-1)?.length === 1);
  });

  it('are refused when they are more than can be', async () => {
    await expect(source({ workers: targets(251) })).rejects.toThrow(
      '251 targets are of a cluster, at most 250 are followed; find more workers by one selector',
    );
  });
});

describe('the workers that are expected', () => {
  it('come with the list, and again when pods come', async () => {
    server.put('/apis/apps/v1/namespaces/kv/statefulsets', 'w', { spec: { replicas: 3 } });
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'w', controller: true }];
    const pod = (podIP: string): Record<string, unknown> => ({
      metadata: { ownerReferences },
      status: { phase: 'Running', podIP },
    });
    server.put(PODS, 'w-0', pod('192.0.2.1'));
    const made = await source({ workers: ['k8s://kv?selector=a'], countsExpected: true });
    const discovered: unknown[] = [];
    const stop = new AbortController();
    await new Promise<void>((resolve) => {
      void made.run(
        stop.signal,
        (endpoints, expected) => {
          discovered.push([endpoints.length, expected]);
          if (discovered.length === 1) {
            server.put('/apis/apps/v1/namespaces/kv/statefulsets', 'w', { spec: { replicas: 5 } });
            server.put(PODS, 'w-1', pod('192.0.2.2'));
          } else resolve();
        },
        () => undefined,
      );
    });
    stop.abort();
    expect(discovered).toEqual([
      [1, { count: 3, origin: 'StatefulSet w' }],
      [2, { count: 5, origin: 'StatefulSet w' }],
    ]);
  });

  it('keep nobody waiting for who is there', async () => {
    const workload = '/apis/apps/v1/namespaces/kv/statefulsets/w';
    server.intercept = ({ path }) => path === workload;
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'w', controller: true }];
    server.put(PODS, 'w-0', {
      metadata: { ownerReferences },
      status: { phase: 'Running', podIP: '192.0.2.1' },
    });
    const clock = new FakeClock();
    const made = await source({ workers: ['k8s://kv?selector=a'], countsExpected: true }, clock);
    const run = runSource(made);
    await server.changes.until(() => server.requests.some(({ path }) => path === workload));
    expect(run.lists).toEqual([]);
    await clock.advanceMs(10_000);
    await run.until(() => run.lists.length === 1 && run.errors.length === 1);
    expect(run.lists).toEqual([['w-0@192.0.2.1:50061']]);
    expect(run.errors[0]).toContain('--min-workers auto: the cluster has not answered within 10 s.');
    await run.stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it('are not asked for in a storm while pods come one after the other', async () => {
    const workload = '/apis/apps/v1/namespaces/kv/statefulsets';
    server.put(workload, 'w', { spec: { replicas: 40 } });
    const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'w', controller: true }];
    const put = (index: number): void =>
      server.put(PODS, `w-${index}`, {
        metadata: { ownerReferences },
        status: { phase: 'Running', podIP: `192.0.2.${index}` },
      });
    put(1);
    const run = runSource(await source({ workers: ['k8s://kv?selector=a'], countsExpected: true }));
    await run.until(() => run.lists.length === 1);
    await server.changes.until(() => server.openWatches === 1);
    const startedAtMs = systemClock.monotonicMs();
    let index = 1;
    while (run.lists.length < 4) {
      index += 1;
      put((index % 200) + 1);
      await turns();
    }
    const seconds = (systemClock.monotonicMs() - startedAtMs) / 1_000;
    const questions = server.requests.filter(({ path }) => path === `${workload}/w`).length;
    // The first look asks twice: for its controller, and for its number.
    expect(questions).toBeLessThanOrEqual(2 + seconds / 0.25 + 1);
  });
});

describe('a cluster that is not configured', () => {
  it('is refused before anything is started', async () => {
    await expect(source({ workers: ['k8s://kv/w:1'], kubeconfig: '/nowhere' })).rejects.toMatchObject({
      name: 'DiscoveryError',
      code: 'unreachable_cluster',
      message: '/nowhere: does not exist',
    });
  });
});
