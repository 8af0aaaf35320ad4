import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { DiscoveredWorker } from '../../../src/core/contract/evidence/discovered-worker.js';
import { hasUnprintable } from '../../../src/core/text/printable.js';
import { readWorkerMetadata } from '../../../src/engines/dynamo/worker-metadata.js';
import { modelCard } from '../../support/dynamo-folder.js';
import { workerMetadata } from '../../support/worker-metadata.js';

const card = (size = 32): unknown => JSON.parse(modelCard({ size }));

function sizeOf({ facts }: DiscoveredWorker): number | undefined {
  return facts.flatMap((fact) => (fact.type === 'block_size' ? [fact.size.sizeTokens] : []))[0];
}

describe('what a worker on Kubernetes registers', () => {
  it('is one worker, named as its pod, known to be new by its pod', () => {
    const object = workerMetadata('worker-0', { 'dynamo/backend/generate/2a': card() });
    const [worker, ...others] = readWorkerMetadata(object, 5);
    expect(others).toEqual([]);
    expect(worker).toMatchObject({
      name: 'worker-0',
      pod: 'worker-0',
      isTerminating: false,
      discovered: {
        instanceId: 'uid-of-worker-0',
        aliases: ['uid-of-worker-0', '127.0.0.1:27011', '2a', 'dynamo/backend/generate/2a'],
        warnings: [],
      },
    });
    expect(worker && sizeOf(worker.discovered)).toBe(32);
    expect(worker?.discovered.facts[0]?.evidence).toMatchObject({
      origin: 'DynamoWorkerMetadata inference/worker-0, model_cards "dynamo/backend/generate/2a"',
      observedAtMs: 5,
    });
  });

  it('may have keys without an instance id, as older versions write them', () => {
    const [worker] = readWorkerMetadata(workerMetadata('w', { 'dynamo/backend/generate': card(16) }), 0);
    expect(worker?.name).toBe('w');
    expect(worker && sizeOf(worker.discovered)).toBe(16);
  });

  it('may be several models, each a worker of its own, and adapters, which are none', () => {
    const object = workerMetadata('w', {
      'dynamo/backend/generate/2a': card(16),
      'dynamo/backend/generate/2a/polite': card(16),
      'dynamo/backend/embed/2a': card(64),
    });
    const workers = readWorkerMetadata(object, 0);
    expect(workers.map(({ name, discovered }) => `${name} ${sizeOf(discovered)}`)).toEqual([
      'w/dynamo/backend/generate 16',
      'w/dynamo/backend/embed 64',
    ]);
    expect(workers.map(({ discovered }) => JSON.stringify(discovered.facts).includes('polite'))).toEqual([
      true,
      false,
    ]);
  });

  it('belongs to a pod of another name where a pod has several', () => {
    const object = workerMetadata(
      'worker-0-engine-1',
      { 'dynamo/backend/generate/2a': card() },
      { pod: 'worker-0', deletionTimestamp: '2026-01-01T00:00:00Z' },
    );
    expect(readWorkerMetadata(object, 0)).toMatchObject([
      { name: 'worker-0-engine-1', pod: 'worker-0', isTerminating: true },
    ]);
  });

  it('is no worker without a model', () => {
    expect(readWorkerMetadata(workerMetadata('frontend', {}), 0)).toEqual([]);
    expect(readWorkerMetadata(workerMetadata('frontend', null), 0)).toEqual([]);
  });

  it('is a worker of which nothing is known when its card is none', () => {
    expect(readWorkerMetadata(workerMetadata('w', { 'a/b/c/1': 5 }), 0)).toMatchObject([
      {
        name: 'w',
        discovered: {
          facts: [],
          problem: 'DynamoWorkerMetadata inference/w, model_cards "a/b/c/1": is no object: no model card',
        },
      },
    ]);
  });

  it('is bounded, whatever an object holds', () => {
    const metadata = fc.record(
      {
        name: fc.oneof(fc.constantFrom('w', '', 'x'.repeat(300), 'a\nb'), fc.jsonValue()),
        namespace: fc.jsonValue(),
        uid: fc.jsonValue(),
        ownerReferences: fc.oneof(fc.jsonValue(), fc.constant([{ kind: 'Pod', name: 'p', uid: 'u' }, null])),
        deletionTimestamp: fc.jsonValue(),
      },
      { requiredKeys: [] },
    );
    const cards = fc.dictionary(
      fc.constantFrom('a/b/c', 'a/b/c/1', 'a/b/c/1/x', '', '/', 'a/b/c/zz', '__proto__', 'a/\u0000/c'),
      fc.oneof(fc.jsonValue(), fc.constant(card())),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.jsonValue(),
          fc.record({ metadata, spec: fc.record({ data: fc.record({ model_cards: cards }) }) }),
        ),
        (object) => {
          for (const { name, discovered } of readWorkerMetadata(object, 0)) {
            expect(hasUnprintable(name)).toBe(false);
            expect(name.length).toBeLessThanOrEqual(512);
            expect(discovered.instanceId).not.toBe('');
            expect(discovered.problem !== undefined || discovered.facts.length > 0).toBe(true);
          }
        },
      ),
    );
  });
});
