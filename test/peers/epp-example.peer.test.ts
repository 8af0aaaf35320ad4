import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { newPrompt, openPairStage } from '../support/pair-stage.js';
import { freePort } from '../support/ports.js';
import { forThisTest } from './support/for-this-test.js';
import { startEppWith } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { Program } from './support/program.js';
import { scratchFolder } from './support/scratch.js';
import { until } from './support/until.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/envoy/envoy.yaml', import.meta.url));

/** The example with other ports; each of its own has to stand in it. */
function exampleWith(ports: Readonly<Record<number, number>>): string {
  const text = readFileSync(EXAMPLE, 'utf8');
  return Object.entries(ports).reduce((done, [own, other]) => {
    expect(done.split(`port_value: ${own} `)).toHaveLength(2);
    return done.replace(`port_value: ${own} `, `port_value: ${other} `);
  }, text);
}

it.skipIf(lacks('envoy'))(
  'the example of an Envoy answers from the workers that the picker names',
  async () => {
    const { stage } = await openPairStage(['worker-1', 'worker-2'], {
      add: (close) => onTestFinished(async () => void (await close())),
    });
    const sidecars = stage.workers.map(({ addresses }) => addresses?.grpc.text).join(',');
    const epp = forThisTest(await startEppWith('epp', ['--workers', sidecars, '--settle', '500ms']));
    const [first = 0, second = 0] = stage.workers.map(({ engine }) => Number(new URL(engine.url).port));
    const port = await freePort();
    const file = join(scratchFolder(), 'envoy.yaml');
    writeFileSync(file, exampleWith({ 8080: port, 8000: first, 8001: second, 9002: epp.pickerPort }));
    const envoy = forThisTest(
      new Program({
        name: 'envoy',
        command: [peerPath('envoy', 'bin', 'envoy'), '-c', file, '--use-dynamic-base-id'],
      }),
    );
    const ask = (more: object = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/v1/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'demo-model', prompt: newPrompt(40), max_tokens: 4, ...more }),
      });
    await until('requests to be answered', async () => (await ask()).status === 200, {
      needs: [epp.program, envoy],
    });
    expect(await (await ask()).json()).toMatchObject({ usage: { prompt_tokens: 40, completion_tokens: 4 } });
    expect((await (await ask({ stream: true })).text()).endsWith('data: [DONE]\n\n')).toBe(true);
    const unknown = await ask({ model: 'another' });
    expect([unknown.status, await unknown.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found' } },
    ]);
  },
);
