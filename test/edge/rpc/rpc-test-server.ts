import { afterEach } from 'vitest';
import { type Address, parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { systemRandom } from '../../../src/edge/platform/random.js';
import { type RpcChannel, RpcDialer, type RpcDialerOptions } from '../../../src/edge/rpc/channel.js';
import type { RpcLimits } from '../../../src/edge/rpc/limits.js';
import { RpcServer } from '../../../src/edge/rpc/server.js';
import { createPlaintextSecurity, type Security } from '../../../src/edge/security/security.js';
import { RecordingLogger } from '../../support/recording-logger.js';

/** An address that must be one. */
export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
}

const cleanups: (() => Promise<void> | void)[] = [];

/** Runs after the test, the last one first. */
export function cleanUp(action: () => Promise<void> | void): void {
  cleanups.push(action);
}

afterEach(async () => {
  for (const action of cleanups.splice(0).reverse()) await action();
});

/** A server on a free port of the loopback that is stopped after the test, which checks that nothing stays open. */
export function createTestServer(
  options: { readonly limits?: Partial<RpcLimits>; readonly listen?: string } = {},
  security: Security = createPlaintextSecurity(),
): { readonly server: RpcServer; readonly logger: RecordingLogger } {
  const logger = new RecordingLogger();
  const server = new RpcServer(
    { listen: address(options.listen ?? '127.0.0.1:0'), ...(options.limits && { limits: options.limits }) },
    { clock: systemClock, logger, random: systemRandom, security },
  );
  cleanUp(async () => {
    await server.stop(500);
    if (server.openConnections > 0) throw new Error(`${server.openConnections} connections stay open`);
    if (server.openCalls > 0) throw new Error(`${server.openCalls} calls stay open`);
    if (server.edge.streams.size > 0) throw new Error(`${server.edge.streams.size} streams stay open`);
  });
  return { server, logger };
}

/** Dials; the channel is closed after the test. */
export function dial(
  to: Address,
  security: Security = createPlaintextSecurity(),
  options: RpcDialerOptions = {},
): RpcChannel {
  const channel = new RpcDialer(options, { clock: systemClock, security }).dial(to);
  cleanUp(() => channel.close());
  return channel;
}
