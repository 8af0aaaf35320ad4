import { expect, it } from 'vitest';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../../src/core/agreement/state/options.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { RpcDialer } from '../../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { FleetWatch } from '../../../src/fleet/aggregator/fleet-watch.js';
import type { Endpoint, ExpectedWorkers } from '../../../src/fleet/discovery/source.js';
import { FakeClock } from '../../support/fake-clock.js';
import { RecordingLogger } from '../../support/recording-logger.js';
import { makeWireReport } from '../../support/reports.js';

it('a member that has no address yet is waited for with its reason, and the expected number is said', async () => {
  const clock = new FakeClock();
  let list: (endpoints: readonly Endpoint[], expected?: ExpectedWorkers) => void = () => undefined;
  const watch = new FleetWatch(
    { ...DEFAULT_AGREEMENT_OPTIONS, minWorkers: 'auto' },
    {
      clock,
      logger: new RecordingLogger(),
      random: systemRandom,
      dialer: new RpcDialer({}, { clock, security: createPlaintextSecurity() }),
      source: {
        name: 'by hand',
        isStatic: false,
        run: (signal, onList) => {
          list = onList;
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        },
      },
    },
  );
  watch.start();
  list([], { count: 8, origin: 'Deployment worker' });
  await clock.advanceMs(50);
  expect(watch.problem).toBe('discovery lists no workers; 8 workers are expected (Deployment worker)');
  list([{ target: 'worker-7', pending: 'its pod has no address yet (Pending)' }], {
    count: 8,
    origin: 'Deployment worker',
  });
  await clock.advanceMs(50);
  expect(watch.problem).toBe('waiting for 1 of 1 worker: worker-7 (its pod has no address yet (Pending))');
  await watch.close();
  expect(clock.pendingTimers).toBe(0);
});

it('an empty list is said with what discovery reported of it, until a round goes well', async () => {
  const clock = new FakeClock();
  let list: (endpoints: readonly Endpoint[]) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const watch = new FleetWatch(DEFAULT_AGREEMENT_OPTIONS, {
    clock,
    logger: new RecordingLogger(),
    random: systemRandom,
    dialer: new RpcDialer({}, { clock, security: createPlaintextSecurity() }),
    source: {
      name: 'by hand',
      isStatic: false,
      run: (signal, onList, onError) => {
        [list, fail] = [onList, onError];
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    },
  });
  const reasons = async (): Promise<string[]> => {
    await clock.advanceMs(50);
    return watch.runner.view.reasons.map(({ text }) => text);
  };
  watch.start();
  fail(new Error('there is no pool'));
  list([]);
  expect(await reasons()).toEqual(['discovery lists no workers: there is no pool']);
  list([]);
  expect(await reasons()).toEqual(['discovery lists no workers']);
  fail(new Error('the server does not answer'));
  expect(await reasons()).toEqual(['discovery lists no workers: the server does not answer']);
  fail(new Error('it still does not'));
  list([{ target: 'worker-1', pending: 'its pod is Pending' }]);
  expect(await reasons()).toEqual(['waiting for 1 of 1 worker: worker-1 (its pod is Pending)']);
  list([]);
  expect(await reasons()).toEqual(['discovery lists no workers']);
  await watch.close();
  expect(clock.pendingTimers).toBe(0);
});

it('a pod that is created again under its name is asked again, also where it is listed without a gap', async () => {
  const clock = new FakeClock();
  let list: (endpoints: readonly Endpoint[]) => void = () => undefined;
  const watch = new FleetWatch(DEFAULT_AGREEMENT_OPTIONS, {
    clock,
    logger: new RecordingLogger(),
    random: systemRandom,
    dialer: new RpcDialer({}, { clock, security: createPlaintextSecurity() }),
    source: {
      name: 'by hand',
      isStatic: false,
      run: (signal, onList) => {
        list = onList;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    },
  });
  watch.start();
  list([{ target: 'w-0', address: '127.0.0.1:1', identity: 'one' }]);
  watch.runner.reported('w-0', makeWireReport('w-0'));
  expect(watch.runner.reportOf('w-0')).toBeDefined();
  // Its pod has no address yet: what the one before it reported does not stand for it.
  list([{ target: 'w-0', pending: 'its pod has no address yet (Pending)', identity: 'two' }]);
  expect(watch.runner.reportOf('w-0')).toBeUndefined();
  await watch.close();
});

it('knows whether its discovery works: not before the first list, and not from a failure to the next list', async () => {
  const clock = new FakeClock();
  let list: (endpoints: readonly Endpoint[]) => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const watch = new FleetWatch(DEFAULT_AGREEMENT_OPTIONS, {
    clock,
    logger: new RecordingLogger(),
    random: systemRandom,
    dialer: new RpcDialer({}, { clock, security: createPlaintextSecurity() }),
    source: {
      name: 'by hand',
      isStatic: false,
      run: (signal, onList, onError) => {
        list = onList;
        fail = onError;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    },
  });
  watch.start();
  expect(watch.sources).toEqual([{ name: 'by hand', isUp: false }]);
  list([]);
  expect(watch.sources).toEqual([{ name: 'by hand', isUp: true }]);
  fail(new Error('the name server is down'));
  expect(watch.sources).toEqual([{ name: 'by hand', isUp: false }]);
  list([]);
  expect(watch.sources).toEqual([{ name: 'by hand', isUp: true }]);
  await watch.close();
});
