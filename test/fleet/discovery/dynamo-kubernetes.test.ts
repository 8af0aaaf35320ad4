import { describe, expect, it } from 'vitest';
import type { ApiRequest, KubernetesApi } from '../../../src/edge/kubernetes/api.js';
import { KubernetesError } from '../../../src/edge/kubernetes/kubernetes-error.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { DynamoKubernetesSource } from '../../../src/fleet/discovery/dynamo-kubernetes.js';
import { Changes } from '../../support/changes.js';
import { modelCard } from '../../support/dynamo-folder.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { workerMetadata } from '../../support/worker-metadata.js';
import { type RunningSource, runSource } from './source-recorder.js';

const METADATA = '/apis/nvidia.com/v1alpha1/namespaces/inference/dynamoworkermetadatas';
const PODS = '/api/v1/namespaces/inference/pods';

/** An API server whose collections a test fills. */
class FakeApi implements KubernetesApi {
  readonly name = 'https://10.0.0.1:443';
  readonly namespace = 'inference';
  readonly collections = new Map<string, object[]>();
  readonly asked: string[] = [];
  readonly #events = new Map<string, object[]>();
  readonly #changes = new Changes();

  async get({ path, query }: ApiRequest): Promise<unknown> {
    this.asked.push(`${path} ${query?.['labelSelector'] ?? ''}`.trim());
    const items = this.collections.get(path);
    if (items === undefined) throw new KubernetesError('not_found', `there is no ${path} (404)`);
    return { metadata: { resourceVersion: '1' }, items };
  }

  async *watch({ path, signal }: ApiRequest): AsyncIterable<unknown> {
    signal.addEventListener('abort', () => this.#changes.notify(), { once: true });
    while (!signal.aborted) {
      const event = this.#events.get(path)?.shift();
      if (event !== undefined) yield event;
      else await this.#changes.until(() => signal.aborted || (this.#events.get(path)?.length ?? 0) > 0);
    }
  }

  async close(): Promise<void> {}

  send(path: string, type: string, object: object): void {
    this.#events.set(path, [...(this.#events.get(path) ?? []), { type, object }]);
    this.#changes.notify();
  }
}

const pod = (name: string, more: object = {}): object => ({
  metadata: { name, namespace: 'inference', resourceVersion: '2', ...more },
});
const worker = (name: string, size = 32): object =>
  workerMetadata(name, { 'dynamo/backend/generate/2a': JSON.parse(modelCard({ size })) });

async function follow(
  api: FakeApi,
  selector?: string,
): Promise<{ run: RunningSource; clock: FakeClock; logger: RecordingLogger; settle(): Promise<void> }> {
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const run = runSource(
    new DynamoKubernetesSource(
      { namespace: 'inference', selector, text: 'dynamo-k8s://', nameOf: (name) => name },
      { api, clock, random: systemRandom, logger },
    ),
  );
  const settle = (): Promise<void> => clock.advanceMs(100);
  await settle();
  return { run, clock, logger, settle };
}

describe("workers in a cluster's DynamoWorkerMetadata", () => {
  it('are followed as they register, change their cards and go', async () => {
    const api = new FakeApi();
    api.collections.set(METADATA, [worker('w-0'), workerMetadata('frontend', {})]);
    const { run, settle } = await follow(api);
    api.send(METADATA, 'ADDED', worker('w-1', 16));
    await settle();
    api.send(METADATA, 'MODIFIED', worker('w-1', 32));
    await settle();
    api.send(METADATA, 'DELETED', worker('w-0'));
    await settle();
    expect(run.lists).toEqual([
      ['w-0 (discovered)'],
      ['w-0 (discovered)', 'w-1 (discovered)'],
      ['w-0 (discovered)', 'w-1 (discovered)'],
      ['w-1 (discovered)'],
    ]);
    expect(api.asked).toEqual([METADATA]);
  });

  it('are those whose pods a selector selects, and drain while their pods end', async () => {
    const api = new FakeApi();
    api.collections.set(METADATA, [worker('w-0'), worker('w-1'), worker('other')]);
    api.collections.set(PODS, [pod('w-0'), pod('w-1')]);
    const { run, settle } = await follow(api, 'app=worker');
    expect(run.lists.at(-1)).toEqual(['w-0 (discovered)', 'w-1 (discovered)']);
    expect(api.asked.sort()).toEqual([`${PODS} app=worker`, METADATA]);
    api.send(PODS, 'MODIFIED', pod('w-1', { deletionTimestamp: '2026-01-01T00:00:00Z' }));
    await settle();
    expect(run.lists.at(-1)).toEqual(['w-0 (discovered)', 'w-1 (discovered)!']);
    api.send(PODS, 'DELETED', pod('w-1'));
    await settle();
    expect(run.lists.at(-1)).toEqual(['w-0 (discovered)']);
  });

  it('cannot be in a cluster without the kind, which is reported with what may be the cause', async () => {
    const api = new FakeApi();
    const { run, clock, logger } = await follow(api);
    expect(run.lists).toEqual([]);
    expect(run.errors).toEqual([
      "dynamo-k8s://: https://10.0.0.1:443 has no DynamoWorkerMetadata (nvidia.com/v1alpha1) in inference: Dynamo's custom resources are not installed there, or its workers register elsewhere (DYN_DISCOVERY_BACKEND)",
    ]);
    api.collections.set(METADATA, [worker('w-0')]);
    await clock.advanceMs(15_000);
    expect(run.lists.at(-1)).toEqual(['w-0 (discovered)']);
    expect(logger.messages('info')).toEqual(['Discovery: dynamo-k8s://: the cluster is followed again']);
  });
});
