/** The proxy of `kv-accord frontend` in the smallest server that there is, with a router that takes workers in turn. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../src/edge/platform/clock.js';
import { createLogger } from '../../src/edge/platform/logger.js';
import type { Decision } from '../../src/fleet/router/routing.js';
import { CHAT } from '../../src/frontend/apis/api.js';
import { WorkerProxy } from '../../src/frontend/proxy/worker-proxy.js';
import { servePart } from '../support/part.js';

const decisionOf = (target: string): Decision => ({
  group: 'tiny',
  target,
  workerId: target,
  instanceId: target,
  rank: 0,
  rankCount: 1,
  epoch: 1,
  tokensPerBlock: 16,
  promptTokens: undefined,
  promptBlocks: 0,
  cachedBlocks: 0,
  isExact: false,
  routingMode: 'load_only',
});
const nothing = (): void => {};

servePart({
  async start({ urls }: { urls: readonly string[] }) {
    const logger = await createLogger({ isTerminal: false, level: 'error' });
    const proxy = new WorkerProxy({}, { clock: systemClock, logger });
    const routes = urls.map((baseUrl) => ({
      baseUrl,
      route: {
        decision: decisionOf(baseUrl),
        prefillDone: nothing,
        progress: nothing,
        release: nothing,
        failed: nothing,
      },
    }));
    let turn = 0;
    const pick = (): Promise<(typeof routes)[number]> => {
      turn = (turn + 1) % routes.length;
      return Promise.resolve(routes[turn] as (typeof routes)[number]);
    };
    const server = createServer((request, response) => {
      const pieces: Buffer[] = [];
      request.on('data', (piece: Buffer) => pieces.push(piece));
      request.on('end', () => {
        const { method = 'POST', url: path = '/', headers } = request;
        void proxy.serve(
          { method, api: CHAT, path, headers, body: Buffer.concat(pieces), group: 'tiny', pick },
          response,
        );
      });
    });
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
    });
  },
});
