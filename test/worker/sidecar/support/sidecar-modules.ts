import { Registry } from 'prom-client';
import { systemClock } from '../../../../src/edge/platform/clock.js';
import { createHttpGet } from '../../../../src/edge/platform/net/http-get.js';
import { systemRandom } from '../../../../src/edge/platform/random.js';
import { createPlaintextSecurity } from '../../../../src/edge/security/security.js';
import { ENGINES, loadEngineProbes } from '../../../../src/engines/catalogue/engines.js';
import type { SidecarModules } from '../../../../src/worker/sidecar/sidecar.js';
import { RecordingLogger } from '../../../support/recording-logger.js';

/** What a sidecar needs beside the place of its engine: the probes of the product over HTTP, and no files and no gRPC of an engine. */
export function sidecarModules(): Omit<SidecarModules, 'locate'> {
  const refuse = (): Promise<never> => Promise.reject(new Error('nothing is read here'));
  return {
    clock: systemClock,
    random: systemRandom,
    logger: new RecordingLogger(),
    security: createPlaintextSecurity(),
    registry: new Registry(),
    openFile: async () => undefined,
    loadProbes: loadEngineProbes,
    probeModules: {
      clock: systemClock,
      engines: ENGINES,
      httpGet: createHttpGet(),
      rpc: { call: refuse },
      readFile: refuse,
      listFiles: refuse,
    },
  };
}
