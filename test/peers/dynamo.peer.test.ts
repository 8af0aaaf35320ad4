import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import { dynamoEnvironment, type Mocker, startMocker } from './support/dynamo.js';
import { forThisTest } from './support/for-this-test.js';
import { startKvAccord, startSidecar, startSidecarOn } from './support/kv-accord.js';
import { lacks, peerPath } from './support/peers.js';
import { completeReport, sizeEvidence } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';
import { answersOk } from './support/vllm.js';

/** The environment of the running process whose command line has all of these words. */
function environmentOf(...words: readonly string[]): Record<string, string> | undefined {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      // The program itself, not kv-accord, whose arguments name it as well.
      if (!command[0]?.endsWith('/python') || !words.every((word) => command.includes(word))) continue;
      const lines = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean);
      return Object.fromEntries(lines.map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)]));
    } catch {
      // It ended while it was looked at.
    }
  }
  return undefined;
}

describe.skipIf(lacks('dynamo', 'grpcurl'))('beside a real Dynamo mocker with blocks of 32', () => {
  let mocker: Mocker;

  beforeAll(async () => {
    mocker = await startMocker(tinyModel('tiny'), 32);
  });
  afterAll(async () => {
    await mocker?.program.stop();
  });

  it('a sidecar reads the model card, and takes it for what the worker declares', async () => {
    const sidecar = forThisTest(
      await startSidecar('worker-0', '--engine', mocker.url, '--dynamo-file-kv', mocker.fileKv),
    );
    const report = await completeReport(sidecar);
    expect(report).toMatchObject({
      engine: { kind: 'ENGINE_KIND_DYNAMO' },
      model: { servedNames: ['tiny'] },
      contract: { tokensPerBlock: 32 },
    });
    expect(sizeEvidence(report)?.raw).toContain('32');
  });

  it('a sidecar that may read the folder alone reports the same size', async () => {
    const sidecar = forThisTest(
      await startSidecar('worker-0', '--engine', 'none', '--dynamo-file-kv', mocker.fileKv),
    );
    expect((await completeReport(sidecar)).contract?.tokensPerBlock).toBe(32);
  });

  it('exec starts a real Dynamo frontend after the agreement alone, with the agreed size', async () => {
    const sidecarPort = await freePort();
    const httpPort = await freePort();
    const frontend = ['-m', 'dynamo.frontend', '--http-host', '127.0.0.1', '--http-port', String(httpPort)];
    const exec = forThisTest(
      startKvAccord(
        'exec',
        [
          ...['exec', '--workers', `127.0.0.1:${sidecarPort}`, '--'],
          ...[peerPath('dynamo', 'bin', 'python'), ...frontend, '--router-mode', 'kv'],
        ],
        dynamoEnvironment(mocker.fileKv),
      ),
    );
    // Nothing answers for the worker yet, so nothing may be started; that shows only after a while.
    await sleep(3_000);
    expect(environmentOf('dynamo.frontend', String(httpPort))).toBeUndefined();

    forThisTest(
      await startSidecarOn(
        sidecarPort,
        'worker-0',
        '--engine',
        mocker.url,
        '--dynamo-file-kv',
        mocker.fileKv,
      ),
    );
    const environment = await until(
      'the frontend',
      () => environmentOf('dynamo.frontend', String(httpPort)),
      { needs: [exec] },
    );
    expect(environment).toMatchObject({
      DYN_KV_CACHE_BLOCK_SIZE: '32',
      DYN_ROUTER_BLOCK_SIZE: '32',
      KV_ACCORD_TOKENS_PER_BLOCK: '32',
    });
    await until('the frontend to answer', () => answersOk(`http://127.0.0.1:${httpPort}/health`), {
      needs: [exec],
    });
    const models = await until('the model', async () => {
      const answer = await fetch(`http://127.0.0.1:${httpPort}/v1/models`);
      const { data } = (await answer.json()) as { data: { id: string }[] };
      return data.length > 0 && data;
    });
    expect(models[0]?.id).toBe('tiny');
    const metrics = await (await fetch(`http://127.0.0.1:${httpPort}/metrics`)).text();
    expect(metrics).toMatch(/^dynamo_frontend_model_kv_cache_block_size\{[^}]*\} 32$/m);
    await exec.stop();
    expect(environmentOf('dynamo.frontend', String(httpPort))).toBeUndefined();
  });
});
