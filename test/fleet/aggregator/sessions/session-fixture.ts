import { afterEach, expect } from 'vitest';
import type { Clock } from '../../../../src/edge/platform/clock.js';
import type { Random } from '../../../../src/edge/platform/random.js';
import { StreamRefusals } from '../../../../src/edge/platform/streams/stream-refusals.js';
import { RpcDialer } from '../../../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../../../src/edge/security/security.js';
import {
  SessionPool,
  type SessionPoolOptions,
} from '../../../../src/fleet/aggregator/sessions/session-pool.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { FakeSidecar, type FakeSidecarOptions } from '../../../support/fake-sidecar.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { SessionRecorder } from '../../../support/session-recorder.js';

/** Jitter that takes nothing off: waits are exactly what the rule says at most. */
const noJitter: Random = { fraction: () => 0.999_999_999, uniqueId: () => '0' };

type Cleanup = () => Promise<void> | void;

const pools: Cleanup[] = [];
const peers: Cleanup[] = [];

/** Runs after the test: pools first, for what their peers check is that nobody stays connected. */
export function cleanUp(what: 'pool' | 'peer', action: Cleanup): void {
  (what === 'pool' ? pools : peers).push(action);
}

afterEach(async () => {
  for (const action of [...pools.splice(0), ...peers.splice(0)]) await action();
});

/** A sidecar that is stopped after the test, when all who came to it have gone. */
export async function startSidecar(options: FakeSidecarOptions = {}): Promise<FakeSidecar> {
  const sidecar = await FakeSidecar.start(options);
  cleanUp('peer', async () => {
    // The sessions were closed before: whatever is still open has leaked.
    await sidecar.until(() => sidecar.openConnections === 0 && sidecar.openWatches === 0);
    await sidecar.stop();
  });
  return sidecar;
}

/** A pool of sessions that a test looks at from all sides. */
export interface Pool<C extends Clock> {
  readonly pool: SessionPool;
  readonly recorder: SessionRecorder;
  readonly logger: RecordingLogger;
  readonly refusals: StreamRefusals;
  readonly clock: C;
}

/** A pool on a clock of its own; closed after the test, which checks that no timer stays. */
export function createPool(options: SessionPoolOptions & { readonly random?: Random } = {}): Pool<FakeClock> {
  const clock = new FakeClock();
  const made = createPoolOn(clock, options);
  cleanUp('pool', () => {
    made.pool.close();
    expect(clock.pendingTimers).toBe(0);
  });
  return made;
}

/** A pool on any clock, which is the caller's to close. */
export function createPoolOn<C extends Clock>(
  clock: C,
  options: SessionPoolOptions & { readonly random?: Random } = {},
): Pool<C> {
  const { random = noJitter, ...poolOptions } = options;
  const recorder = new SessionRecorder();
  const logger = new RecordingLogger();
  const dialer = new RpcDialer({}, { clock, security: createPlaintextSecurity() });
  const refusals = new StreamRefusals({ logger });
  const pool = new SessionPool(poolOptions, { clock, random, dialer, listener: recorder, logger, refusals });

  return { pool, recorder, logger, refusals, clock };
}
