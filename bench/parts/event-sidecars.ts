/** Real sidecars in one process, each with the event source of one engine. */
import { Registry } from 'prom-client';
import { createSidecar } from '../../src/app/worker/create-sidecar.js';
import { type Fact, type FactEvidence, fieldFact } from '../../src/core/contract/evidence/facts.js';
import { parseAddress } from '../../src/edge/platform/address.js';
import { systemClock } from '../../src/edge/platform/clock.js';
import { createLogger } from '../../src/edge/platform/logger.js';
import { systemRandom } from '../../src/edge/platform/random.js';
import { createPlaintextSecurity } from '../../src/edge/security/security.js';
import { BlockSizeKind, EvidenceSource } from '../../src/gen/kvaccord/v1/capabilities.js';
import { fixedLocation } from '../../src/worker/sidecar/probing/engine-locator.js';
import { servePart } from '../support/part.js';

const anyPort = parseAddress('127.0.0.1:0') as NonNullable<ReturnType<typeof parseAddress>>;

/** What a probe of a ready engine gives. */
function factsOf(tokensPerBlock: number): Fact[] {
  const evidence: FactEvidence = {
    source: EvidenceSource.ENGINE_METRICS,
    origin: 'bench',
    raw: String(tokensPerBlock),
    observedAtMs: 0,
  };
  return [
    fieldFact('model.served_names', ['bench'], evidence),
    {
      type: 'block_size',
      size: { kind: BlockSizeKind.EFFECTIVE_ATTENTION, sizeTokens: tokensPerBlock },
      forContract: true,
      evidence,
    },
  ];
}

servePart({
  /** Starts a sidecar for each endpoint; the ports of their gRPC. */
  async start({ endpoints, tokensPerBlock }: { endpoints: readonly string[]; tokensPerBlock: number }) {
    const logger = await createLogger({ isTerminal: false, level: 'error' });
    const ports: number[] = [];
    for (const [number, endpoint] of endpoints.entries()) {
      const sidecar = createSidecar(
        {
          version: '0.0.0',
          workerId: `worker-${number}`,
          listen: anyPort,
          httpListen: anyPort,
          declaredFacts: [],
          events: { from: 'operator', sources: [{ kind: 'zmq', rank: 0, endpoint, topic: '' }] },
          // Many sidecars share this process, and their histories are to be full soon.
          eventReader: { maxHistoryBytes: 512 * 1_024 },
        },
        {
          clock: systemClock,
          random: systemRandom,
          logger,
          security: createPlaintextSecurity(),
          registry: new Registry(),
          signal: new AbortController().signal,
          locate: () => async () => fixedLocation([{ httpBaseUrl: 'http://bench' }]),
          loadProbes: async () => [
            {
              name: 'bench',
              engineKind: undefined,
              origin: () => 'bench',
              probe: async () => ({ facts: factsOf(tokensPerBlock) }),
            },
          ],
        },
      );
      const { grpc } = await sidecar.start();
      ports.push(Number(grpc.text.split(':').at(-1)));
      void sidecar.run(new AbortController().signal);
    }
    return ports;
  },
});
