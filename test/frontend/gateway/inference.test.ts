import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import type { Decision } from '../../../src/fleet/router/routing.js';
import { GatewayHarness } from './gateway-harness.js';

/** A decision beside which another worker of the group holds more. */
const WITH_NEIGHBOUR = {
  group: 'tiny',
  cachedBlocks: 0,
  tokensPerBlock: 32,
  neighbour: { target: 'w-1:50061', rank: 0, cachedBlocks: 100 },
} as Decision;

it('holds what a body became no longer than until its tokens are known', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const harness = await GatewayHarness.start();
  harness.serve = (_request, response) => {
    response.writeHead(200).flushHeaders();
    return new Promise((resolve) => {
      response.once('close', () => resolve({ status: 200, ended: 'client_gone', firstByteMs: 1 }));
    });
  };
  try {
    await harness.chat({ metadata: [[], [], []] });
    const became = harness.prompts.splice(0).map(({ body }) => new WeakRef(body));
    const isLetGo = (): boolean => {
      collect();
      return became.every((body) => body.deref() === undefined);
    };
    expect(became).toHaveLength(1);
    await expect.poll(isLetGo).toBe(true);
    expect(harness.served).toHaveLength(1);
  } finally {
    await harness.stop();
  }
});

it.each([
  [undefined, undefined],
  [0, undefined],
  [3_201, undefined],
  [3_200, { hostPort: 'w-1:8000', tokens: 3_200 }],
])(
  'names a neighbour that holds %s tokens more, and none by default',
  async (neighbourHintTokens, source) => {
    const options = neighbourHintTokens === undefined ? {} : { neighbourHintTokens };
    const harness = await GatewayHarness.start(options);
    try {
      await harness.chat();
      const [request] = harness.served;
      expect(request?.cacheSourceOf?.(WITH_NEIGHBOUR)).toEqual(source);
      // The body is the client's in any case.
      expect(JSON.parse(String(request?.body))).toMatchObject({ model: 'tiny' });
    } finally {
      await harness.stop();
    }
  },
);
