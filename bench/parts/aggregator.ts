/** A real aggregator that watches any number of sidecars at one address. */
import { Registry } from 'prom-client';
import { createAggregator } from '../../src/app/create-aggregator.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../src/core/agreement/state/options.js';
import { parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { createLogger } from '../../src/edge/platform/logger.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import type { DiscoverySource } from '../../src/fleet/discovery/source.js';
import { servePart, sharedNowMs } from '../support/part.js';

const anyPort = parseAddress('127.0.0.1:0') as NonNullable<ReturnType<typeof parseAddress>>;

/** Resolves when all workers but `awaited` have reported, and when the gate opens. */
let reported: Promise<number> | undefined;
let opened: Promise<number> | undefined;

servePart({
  /** Starts it; where Fleet is served. */
  async start({ ports, count }: { ports: readonly number[]; count: number }) {
    const endpoints = Array.from({ length: count }, (_, n) => ({
      target: `worker-${n}`,
      address: `127.0.0.1:${ports[n % ports.length]}`,
    }));
    const source: DiscoverySource = {
      name: 'bench',
      isStatic: true,
      run: (signal, onList) => {
        onList(endpoints);
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      },
    };
    const { aggregator } = createAggregator(
      {
        agreement: { ...DEFAULT_AGREEMENT_OPTIONS, isStaticDiscovery: true, settleMs: 0 },
        listen: anyPort,
        httpListen: anyPort,
        version: '0.0.0',
      },
      {
        clock: systemClock,
        random: systemRandom,
        logger: await createLogger({ isTerminal: false, level: 'error' }),
        source,
        security: createPlaintextSecurity(),
        registry: new Registry(),
      },
    );
    const { runner } = aggregator.fleet;
    // When every answer says that it is open, and not when the agreement decided it.
    opened = new Promise((resolve) => {
      runner.listen({ onView: ({ groups }) => groups[0]?.gateOpen === true && resolve(sharedNowMs()) });
    });
    reported = new Promise((resolve) => {
      runner.listen({
        onView: ({ groups }) => {
          const members = groups[0]?.members ?? [];
          if (members.filter(({ state }) => state === 'reported').length >= count - 1) resolve(sharedNowMs());
        },
      });
    });
    const { grpc } = await aggregator.start();
    return grpc.text;
  },
  /** When all workers but one had reported. */
  reported: () => reported,
  /** When the gate opened. */
  opened: () => opened,
});
