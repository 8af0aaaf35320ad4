import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { RpcDialer } from '../../../src/edge/rpc/channel.js';
import { wrapServerStream } from '../../../src/edge/rpc/handlers.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { BytesClient, BytesService } from './bytes-service.js';
import { heldMemory } from './collect-garbage.js';
import { collect } from './rpc-calls.js';
import { createTestServer } from './rpc-test-server.js';

/** How often to reconnect: 10,000 shows a slow leak, fewer do for every day. */
const RECONNECTS = Number(process.env['KV_ACCORD_TEST_RECONNECTS'] ?? 300);

/**
 * Growth of the heap that is none: the compiler's and the runner's own, once,
 * and a little for each. A channel that stays behind holds 10 KB.
 */
const GROWTH_ONCE_BYTES = 1_500_000;
const GROWTH_EACH_BYTES = 300;

describe('reconnecting', () => {
  it(`${RECONNECTS} times leaks neither sockets nor streams nor memory`, { timeout: 600_000 }, async () => {
    const { server } = createTestServer();
    server.addService(BytesService, {
      watch: wrapServerStream(
        server.edge,
        { mode: 'latest-value', heartbeat: { intervalMs: 5_000, make: () => Buffer.alloc(1) } },
        (_request: Buffer, stream) => stream.send(Buffer.from('report')),
      ),
    });
    const at = await server.start();
    const dialer = new RpcDialer({}, { clock: systemClock, security: createPlaintextSecurity() });
    const reconnect = async (): Promise<void> => {
      const channel = dialer.dial(at);
      await channel.waitForReady();
      const watch = collect(channel.createClient(BytesClient).watch(Buffer.alloc(0)));
      await watch.next();
      channel.close();
      await watch.ended;
    };
    // The first ones fill caches and let the compiler settle.
    for (let i = 0; i < 100; i += 1) await reconnect();
    const before = await heldMemory();
    for (let i = 0; i < RECONNECTS; i += 1) await reconnect();
    await expect.poll(() => server.openConnections).toBe(0);
    expect(server.openCalls).toBe(0);
    expect(server.edge.streams.size).toBe(0);
    const grownBytes = (await heldMemory()).heapUsed - before.heapUsed;
    expect(grownBytes, 'bytes of heap').toBeLessThan(GROWTH_ONCE_BYTES + GROWTH_EACH_BYTES * RECONNECTS);
  });
});
