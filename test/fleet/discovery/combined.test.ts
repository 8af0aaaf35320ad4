import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { CombinedSource } from '../../../src/fleet/discovery/combined.js';
import { createDiscoverySource } from '../../../src/fleet/discovery/create-source.js';
import type { DiscoverySource, Endpoint } from '../../../src/fleet/discovery/source.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { turns } from '../../support/turns.js';
import { runSource } from './source-recorder.js';

/** A source that a test drives by hand. */
class HandSource implements DiscoverySource {
  readonly name = 'by hand';
  readonly isStatic = false;
  list: (endpoints: readonly Endpoint[]) => void = () => undefined;
  fail: (error: Error) => void = () => undefined;
  crash: (error: Error) => void = () => undefined;

  run(
    signal: AbortSignal,
    onList: (endpoints: readonly Endpoint[]) => void,
    onError: (error: Error) => void,
  ): Promise<void> {
    this.list = onList;
    this.fail = onError;
    return new Promise((resolve, reject) => {
      this.crash = reject;
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }
}

const at = (address: string, more: Partial<Endpoint> = {}): Endpoint => ({
  target: address,
  address,
  ...more,
});

function combine(): {
  a: HandSource;
  b: HandSource;
  combined: CombinedSource;
  run: ReturnType<typeof runSource>;
} {
  const [a, b] = [new HandSource(), new HandSource()];
  const combined = new CombinedSource({ sources: [a, b] });
  return { a, b, combined, run: runSource(combined) };
}

describe('several sources', () => {
  it('give one list, once each of them has said something', () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1')]);
    expect(run.lists).toEqual([]);
    b.list([at('w-2:1')]);
    expect(run.lists).toEqual([['w-1:1', 'w-2:1']]);
    a.list([]);
    expect(run.lists.at(-1)).toEqual(['w-2:1']);
  });

  it('can be many, and Node takes their listeners for no leak', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    const abort = new AbortController();
    const sources = Array.from({ length: 12 }, () => new HandSource());
    const ended = new CombinedSource({ sources }).run(
      abort.signal,
      () => undefined,
      () => undefined,
    );
    abort.abort();
    await ended;
    // Warnings come a turn of the event loop later.
    await turns();
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('go on without one that fails, and keep its last list', () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1')]);
    b.fail(new Error('the name server is down'));
    expect(run.lists).toEqual([['w-1:1']]);
    b.list([at('w-2:1')]);
    b.fail(new Error('the name server is down'));
    a.list([at('w-3:1')]);
    expect(run.lists.at(-1)).toEqual(['w-3:1', 'w-2:1']);
    expect(run.errors).toHaveLength(2);
  });

  it('say of each whether its last round went well', async () => {
    const { a, b, combined, run } = combine();
    const up = (): boolean[] => combined.health().map(({ isUp }) => isUp);
    expect(up()).toEqual([false, false]);
    a.list([at('w-1:1')]);
    b.fail(new Error('the name server is down'));
    expect(up()).toEqual([true, false]);
    b.list([]);
    expect(up()).toEqual([true, true]);
    a.crash(new Error('a fault of its own'));
    await run.until(() => run.errors.length === 2);
    expect(up()).toEqual([false, true]);
  });

  it('go on without one that crashes', async () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1')]);
    b.crash(new Error('a fault of its own'));
    await run.until(() => run.lists.length === 1);
    expect(run.errors).toEqual(['a fault of its own']);
    a.list([at('w-2:1')]);
    expect(run.lists.at(-1)).toEqual(['w-2:1']);
  });

  it('that all fail at first give no list, which is not the same as an empty one', () => {
    const { a, b, run } = combine();
    a.fail(new Error('a'));
    b.fail(new Error('b'));
    expect(run.lists).toEqual([]);
    a.list([]);
    expect(run.lists).toEqual([[]]);
  });

  it('take the same address for one member, named by the first and draining when either says so', () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1', { target: 'alice' })]);
    b.list([at('w-1:1', { draining: true }), at('w-2:1')]);
    expect(run.lists).toEqual([['alice@w-1:1!', 'w-2:1']]);
  });

  it('leave a second worker of the same name out and say so once', () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1', { target: 'alice' })]);
    b.list([at('w-2:1', { target: 'alice' })]);
    a.list([at('w-1:1', { target: 'alice' }), at('w-3:1')]);
    expect(run.lists.at(-1)).toEqual(['alice@w-1:1', 'w-3:1']);
    expect(run.errors).toEqual([
      'the worker alice is listed at w-1:1 and at w-2:1; the second is left out: give it another name',
    ]);
  });

  it('leave a worker to its sidecar, or to the one that it is to have, whatever else is reported of it', () => {
    const { a, b, run } = combine();
    const discovered = { instanceId: '1', facts: [], warnings: [] };
    a.list([
      { target: 'w-1', discovered },
      { target: 'w-2', discovered, draining: true },
      { target: 'w-3', discovered },
    ]);
    b.list([at('w-1:1', { target: 'w-1' }), { target: 'w-2', pending: 'its pod is Pending' }]);
    expect(run.endpoints.at(-1)).toEqual([
      { target: 'w-1', address: 'w-1:1' },
      { target: 'w-2', pending: 'its pod is Pending', draining: true },
      { target: 'w-3', discovered },
    ]);
    expect(run.errors).toEqual([]);
  });

  it('keep the last list when all together have too many', () => {
    const { a, b, run } = combine();
    a.list([at('w-1:1')]);
    b.list([at('w-2:1')]);
    b.list(Array.from({ length: 10_000 }, (_, index) => at(`x-${index}:1`)));
    expect(run.lists).toEqual([['w-1:1', 'w-2:1']]);
    expect(run.errors[0]).toContain('10001 workers are listed by all sources together');
  });
});

describe('the source of a fleet', () => {
  const modules = {
    clock: new FakeClock(),
    random: systemRandom,
    resolver: { lookupAll: async () => ['10.0.0.1', '10.0.0.2'] },
    logger: new RecordingLogger(),
    environment: {},
  };

  it('is static when only fixed places are listed', async () => {
    const source = await createDiscoverySource({ workers: ['b:1', 'a:1'] }, modules);
    expect([source.name, source.isStatic]).toEqual(['list of 2', true]);
    expect(runSource(source).lists).toEqual([['b:1', 'a:1']]);
  });

  it('joins fixed places and names', async () => {
    const source = await createDiscoverySource({ workers: ['10.0.0.2:1', 'dns:///w:1'] }, modules);
    expect([source.name, source.isStatic]).toEqual(['list of 1, dns:///w:1', false]);
    const run = runSource(source);
    await run.until(() => run.lists.length === 1);
    expect(run.lists).toEqual([['10.0.0.2:1', '10.0.0.1:1']]);
  });

  it('refuses a wrong target before anything is started', async () => {
    await expect(createDiscoverySource({ workers: ['a:1', 'nonsense'] }, modules)).rejects.toThrow(
      '--workers "nonsense" must be',
    );
  });

  it('refuses to count the workers that are expected where nothing reports it', async () => {
    await expect(
      createDiscoverySource({ workers: ['dns:///w:1'], countsExpected: true }, modules),
    ).rejects.toThrow(
      '--min-workers auto needs a Kubernetes workload to count by, and --workers dns:///w:1 names none; give a number',
    );
    await expect(
      createDiscoverySource({ workers: [], workersFile: 'w.yaml', countsExpected: true }, modules),
    ).rejects.toThrow('--workers-file w.yaml names none');
  });
});
