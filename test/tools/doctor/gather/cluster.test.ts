import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { openCluster } from '../../../../src/edge/kubernetes/open-cluster.js';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import type { EvidencePart } from '../../../../src/tools/doctor/evidence.js';
import { gatherPods } from '../../../../src/tools/doctor/gather/cluster.js';
import { FakeApiServer, type SeenRequest } from '../../../support/fake-api-server.js';
import { OpenThings } from '../../../support/open-things.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

const open = new OpenThings();
afterEach(() => open.close());

const PODS = '/api/v1/namespaces/inference/pods';
const EVENTS = '/api/v1/namespaces/inference/events';
const LINE =
  '2026-02-16T14:38:53.950961Z  INFO dynamo_llm::kv_router::scheduler: Selected worker: worker_id=77 dp_rank=0, logit: 138.656, cached blocks: 0, tree size: 0\n';

async function start(): Promise<FakeApiServer> {
  const server = await FakeApiServer.start();
  open.add(() => server.close());
  return server;
}

/** Answers for logs; everything else goes on. */
function serveLogs(
  server: FakeApiServer,
  answer: (request: SeenRequest, response: ServerResponse) => void,
): void {
  server.intercept = (request, response) => {
    if (!request.path.endsWith('/log')) return false;
    answer(request, response);
    return true;
  };
}

async function gather(server: FakeApiServer): Promise<readonly EvidencePart[]> {
  const modules = { clock: systemClock, logger: new RecordingLogger(), environment: {} };
  const api = await openCluster({ kubeconfig: server.kubeconfig() }, modules);
  open.add(() => api.close());
  const options = { namespace: 'inference', sinceSeconds: 3_600, tailLines: 500 };
  return gatherPods(options, { api, clock: systemClock, signal: new AbortController().signal });
}

function pod(image: string, status: object = {}): Readonly<Record<string, unknown>> {
  return { spec: { containers: [{ name: 'main', image }] }, status };
}

describe('the pods of a namespace', () => {
  it('give their logs, and those that are not concerned are left alone', async () => {
    const server = await start();
    server.put(PODS, 'frontend-0', pod('registry.example.com/dynamo-frontend:1.6.1'));
    server.put(PODS, 'database-0', pod('registry.example.com/postgres:16'));
    serveLogs(server, (_, response) => response.end(LINE));
    const parts = await gather(server);
    expect(parts.map(({ source }) => `${source.kind} ${source.name}: ${source.status}`)).toEqual([
      'cluster namespace inference: read',
      'log pod frontend-0, container main, log: read',
    ]);
    expect(parts[1]?.logs).toMatchObject([{ lines: 1, decisions: { count: 1, reporting: 1 } }]);
    expect(server.requests.some(({ path }) => path.includes('secret'))).toBe(false);
  });

  it('give the beginning and the end of a long log, and what was before a restart', async () => {
    const server = await start();
    const lastState = { terminated: { reason: 'OOMKilled', exitCode: 137 } };
    const containerStatuses = [{ name: 'main', restartCount: 3, lastState }];
    server.put(PODS, 'worker-0', pod('vllm-runtime:1.6.1', { containerStatuses }));
    const asked: SeenRequest['query'][] = [];
    serveLogs(server, ({ query }, response) => {
      asked.push(query);
      const isHead = query['tailLines'] === undefined;
      response.end(isHead ? LINE.repeat(20_000).slice(0, Number(query['limitBytes'])) : LINE);
    });
    const parts = await gather(server);
    expect(parts[0]?.source.detail).toContain('worker-0/main was restarted 3 times (OOMKilled)');
    expect(parts.slice(1).map(({ source }) => source.name)).toEqual([
      'pod worker-0, container main, log',
      'pod worker-0, container main, end of the log',
      'pod worker-0, container main, log before its restart',
    ]);
    expect(asked[1]).toMatchObject({ container: 'main', tailLines: '500', sinceSeconds: '3600' });
    expect(asked[2]).toMatchObject({ previous: 'true', tailLines: '500' });
  });

  it('are reported with the events that explain something', async () => {
    const server = await start();
    server.put(PODS, 'worker-0', pod('vllm'));
    const involvedObject = { name: 'worker-0' };
    server.put(EVENTS, 'a', { type: 'Warning', reason: 'Unhealthy', count: 7, involvedObject });
    server.put(EVENTS, 'b', { type: 'Normal', reason: 'Killing', involvedObject });
    serveLogs(server, (_, response) => response.end(LINE));
    const [cluster] = await gather(server);
    expect(cluster?.source.detail).toBe(
      '1 pod; 1 container of 1 that are concerned; event Unhealthy of worker-0, 7 times',
    );
  });

  it('whose logs may not be read are reported with the rule that would allow it', async () => {
    const server = await start();
    server.put(PODS, 'worker-0', pod('vllm'));
    serveLogs(server, (_, response) => {
      const message = 'pods "worker-0" is forbidden: User "ann" cannot get resource "pods/log"';
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', message }));
    });
    const [, log] = await gather(server);
    expect(log?.source.status).toBe('not_read');
    expect(log?.source.detail).toContain(
      'the user ann may not get pods/log of worker-0 in the namespace inference (403)',
    );
    expect(log?.source.detail).toContain('resources: ["pods/log"]');
  });

  it('that may not be listed are reported', async () => {
    const server = await start();
    server.intercept = (_, response) => {
      response.writeHead(403).end('{}');
      return true;
    };
    const parts = await gather(server);
    expect(parts).toHaveLength(1);
    expect(parts[0]?.source).toMatchObject({ kind: 'cluster', status: 'not_read' });
  });

  it('that answer nonsense are reported as no pods', async () => {
    const server = await start();
    server.put(PODS, 'a', { spec: 7, status: [] });
    server.put(PODS, 'b', { spec: { containers: [null, { name: 3 }, { name: 'c', args: 'x' }] } });
    serveLogs(server, (_, response) => response.destroy());
    const parts = await gather(server);
    expect(parts.map(({ source }) => source.status)).toEqual(['read', 'not_read']);
  });
});

describe('the InferencePools of a namespace', () => {
  const POOLS = '/apis/inference.networking.k8s.io/v1/namespaces/inference/inferencepools';
  const member = (sidecar: string, ready: boolean): Readonly<Record<string, unknown>> => ({
    metadata: { labels: { app: 'w' } },
    spec: {
      containers: [{ name: 'main', image: 'registry.example.com/vllm:1' }],
      initContainers: [{ name: sidecar, image: 'kv-accord:1', args: ['sidecar'] }],
    },
    status: {
      phase: 'Running',
      initContainerStatuses: [
        { name: sidecar, ready, ...(ready ? {} : { state: { waiting: { reason: 'CrashLoopBackOff' } } }) },
      ],
    },
  });

  it('say who picks, what happens without it, who refuses them, and which pods have no report', async () => {
    const server = await start();
    server.put(POOLS, 'llama', {
      spec: {
        selector: { matchLabels: { app: 'w' } },
        endpointPickerRef: { name: 'epp', port: { number: 9002 }, failureMode: 'FailOpen' },
      },
      status: {
        parents: [
          {
            parentRef: { name: 'public' },
            conditions: [
              { type: 'Accepted', status: 'True' },
              {
                type: 'ResolvedRefs',
                status: 'False',
                reason: 'InvalidExtensionRef',
                message: 'no such Service',
              },
            ],
          },
        ],
      },
    });
    server.put(POOLS, 'empty', { spec: { selector: { matchLabels: { app: 'x' } } } });
    server.put(PODS, 'a', member('kv-accord-sidecar', true));
    server.put(PODS, 'b', member('kv-accord-sidecar', false));
    server.put(PODS, 'c', { ...pod('registry.example.com/vllm:1'), metadata: { labels: { app: 'w' } } });
    server.put(PODS, 'd', pod('registry.example.com/vllm:1'));
    serveLogs(server, (_, response) => response.end(''));
    const parts = await gather(server);
    expect(
      parts.filter(({ source }) => source.name.startsWith('InferencePool')).map(({ source }) => source),
    ).toEqual([
      {
        kind: 'cluster',
        name: 'InferencePool empty',
        status: 'read',
        detail: 'it names no picker; no pod has its labels; no gateway has it',
      },
      {
        kind: 'cluster',
        name: 'InferencePool llama',
        status: 'read',
        detail:
          'picker epp:9002, failureMode FailOpen (requests go past it while it cannot be reached); 3 pods, 1 with a sidecar that is ready (b is not ready: CrashLoopBackOff, c has none); public: ResolvedRefs is False, InvalidExtensionRef (no such Service)',
      },
    ]);
  });
});
