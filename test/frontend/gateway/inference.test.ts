import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { GatewayHarness } from './gateway-harness.js';

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
