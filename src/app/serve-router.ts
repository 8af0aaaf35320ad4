import { parseAddress } from '../edge/platform/address.js';
import type { Clock } from '../edge/platform/clock.js';
import type { Logger } from '../edge/platform/logger.js';
import { createPrivateFolder } from '../edge/platform/private-folder.js';
import { systemRandom } from '../edge/platform/random.js';
import { RpcServer } from '../edge/rpc/server.js';
import { createPlaintextSecurity } from '../edge/security/security.js';
import type { PartService } from '../fleet/aggregator/fleet-part.js';

/**
 * Serves a router to the processes that this one starts, on a Unix socket that
 * only this user can reach. Comes back with its address: `unix:/path`.
 */
export async function serveRouterOnSocket(
  services: readonly PartService[],
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const folder = await createPrivateFolder();
  const listen = parseAddress(`unix:${folder.path}/router`);
  if (listen === undefined)
    throw new Error(`${folder.path} is too long for a Unix socket; set TMPDIR to a shorter one`);
  const server = new RpcServer(
    { listen, listenField: 'TMPDIR' },
    { clock, logger, random: systemRandom, security: createPlaintextSecurity() },
  );
  for (const { definition, implementation } of services) server.addService(definition, implementation);
  await server.start();
  return {
    address: listen.text,
    close: async () => {
      await server.stop(0);
      await folder.remove();
    },
  };
}
