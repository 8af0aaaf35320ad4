import { startOrExplain } from '../../../app/start-or-explain.js';
import { openSidecar } from '../../../app/worker/open-sidecar.js';
import type { CommandBody } from '../../command.js';
import { EXIT_OK } from '../../exit-codes.js';
import type { sidecarSettings } from './settings.js';

/** Runs `kv-accord sidecar` until it is asked to end. */
export const runSidecar: CommandBody<typeof sidecarSettings> = async (settings, context) => {
  const { logger, stdout, signal } = context;
  const { sidecar, close } = await openSidecar(settings, context);
  try {
    const { grpc, http } = await startOrExplain(sidecar);
    const served = { grpc: grpc.text, http: http.text };
    stdout.write(
      settings.json
        ? `${JSON.stringify(served)}\n`
        : `kv-accord sidecar: gRPC on ${served.grpc}, HTTP on ${served.http}\n`,
    );
    logger.info(served, `Serving gRPC on ${served.grpc} and HTTP on ${served.http}.`);
    await sidecar.run(signal);
    return EXIT_OK;
  } finally {
    await close();
  }
};
