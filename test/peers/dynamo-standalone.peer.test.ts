import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../support/ports.js';
import {
  type DynamoFrontend,
  dynamoCommand,
  dynamoEnvironment,
  dynamoFolder,
  instancesOf,
  type Mocker,
  overlapScores,
  startDynamoFrontend,
  startMocker,
} from './support/dynamo.js';
import { chat, counterOf } from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { addressesOf, type Served, startKvAccord, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { Program } from './support/program.js';
import { completeReport } from './support/report.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

describe.skipIf(lacks('dynamo', 'grpcurl'))('beside two real Dynamo mockers with blocks of 32', () => {
  const fileKv = dynamoFolder('dynamo-standalone');
  const mockers: Mocker[] = [];
  const sidecars: Served[] = [];
  let frontend: DynamoFrontend;

  beforeAll(async () => {
    for (const name of ['sidecar-0', 'sidecar-1']) {
      const mocker = await startMocker(tinyModel('tiny'), 32, { fileKv });
      mockers.push(mocker);
      sidecars.push(await startSidecar(name, '--engine', mocker.url, '--dynamo-file-kv', fileKv));
    }
    for (const sidecar of sidecars) await completeReport(sidecar);
    frontend = await startDynamoFrontend(fileKv);
    await until('both workers in the frontend', async () => (await instancesOf(frontend)) === 2);
  });
  afterAll(async () => {
    for (const served of [frontend, ...sidecars, ...mockers]) await served?.program.stop();
  });

  /** 600 words that no other prompt begins with. */
  function wordsOf(prompt: number): number[] {
    return Array.from({ length: 600 }, (_, i) => (prompt * 37 + i * 5) % 2_032);
  }

  /** What the tiny model's chat template and tokenizer make of them, 604 tokens, which are 18 whole blocks of 32. */
  function tokensOf(prompt: number): number[] {
    return [1, 5, ...wordsOf(prompt).map((word) => 16 + word), 7, 6];
  }

  /** Starts one of Dynamo's programs under exec. */
  function exec(command: readonly string[]): Program {
    const flags = ['--workers', addressesOf(sidecars), '--min-workers', '2'];
    return forThisTest(
      startKvAccord('exec', ['exec', ...flags, '--', ...command], dynamoEnvironment(fileKv)),
    );
  }

  /** Starts it as it is. */
  function plain(command: readonly string[]): Program {
    return forThisTest(new Program({ name: 'plain', command, env: dynamoEnvironment(fileKv) }));
  }

  const router = (): readonly string[] => dynamoCommand('router', '--endpoint', 'dynamo.backend.generate');

  it('the standalone router by itself uses a block size of 128, finds nothing, and does not say so', async () => {
    const program = plain(router());
    await overlapScores(fileKv, tokensOf(1));
    await chat(frontend, wordsOf(1));
    // An engine does have it; until its event is with the frontend, chance decides which engine is asked.
    await until(
      'an engine to reuse it',
      async () => (await chat(frontend, wordsOf(1))).cachedTokens === 576,
      {
        needs: [frontend.program],
      },
    );
    const scores = await overlapScores(fileKv, tokensOf(1));
    expect(scores).toMatchObject({ blockSize: 128, deviceBlocks: [0, 0] });
    expect(program.log).not.toMatch(/block.?size/i);
    expect(program.log).not.toMatch(/^\S+ +ERROR/m);
  });

  it('the standalone router under exec uses a block size of 32, and finds every block', async () => {
    const program = exec(router());
    await chat(frontend, wordsOf(2));
    const scores = await until(
      'the router to find the prompt',
      async () => {
        const now = await overlapScores(fileKv, tokensOf(2));
        return now.deviceBlocks.some((blocks) => blocks > 0) && now;
      },
      { needs: [program] },
    );
    expect(scores.blockSize).toBe(32);
    expect([...scores.deviceBlocks].sort()).toEqual([0, 18]);
  });

  /** The standalone indexer, which reads the events of both engines. */
  async function startIndexer(
    blockSize: string,
    start: (command: readonly string[]) => Program,
  ): Promise<{ readonly url: string; readonly program: Program }> {
    const port = await freePort();
    const engines = mockers.map(({ ranks }, i) => `${i + 1}=tcp://127.0.0.1:${ranks[0]?.zmq}`);
    const program = start(
      dynamoCommand(
        'indexer',
        ...['--port', String(port), '--block-size', blockSize],
        ...['--model-name', 'tiny', '--workers', engines.join(',')],
      ),
    );
    const url = `http://127.0.0.1:${port}`;
    await until('the indexer', async () => (await fetch(`${url}/health`)).ok, { needs: [program] });
    return { url, program };
  }

  async function query(url: string, prompt: number): Promise<unknown> {
    const answer = await fetch(`${url}/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token_ids: tokensOf(prompt), model_name: 'tiny' }),
    });
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { scores: unknown }).scores;
  }

  function applied(indexer: { readonly url: string }, status: string): Promise<number> {
    return counterOf(
      indexer,
      'dynamo_kvrouter_kv_cache_events_applied',
      'event_type="stored"',
      `status="${status}"`,
    );
  }

  it('the standalone indexer with blocks of 16 answers every question with nothing, and counts as well what it lost', async () => {
    const indexer = await startIndexer('16', plain);
    let prompt = 100;
    await until(
      'events of a second turn',
      async () => {
        prompt += 1;
        await chat(frontend, wordsOf(prompt));
        await chat(frontend, [...wordsOf(prompt), ...wordsOf(0)]);
        return (await applied(indexer, 'parent_block_not_found')) > 0;
      },
      { needs: [indexer.program] },
    );
    // A store of no blocks counts as applied.
    expect(await applied(indexer, 'ok')).toBeGreaterThan(0);
    expect(await query(indexer.url, prompt)).toEqual({});
    const workers = await (await fetch(`${indexer.url}/workers`)).json();
    expect(workers).toMatchObject([{ status: 'active' }, { status: 'active' }]);
  });

  it('the standalone indexer under exec gets 32 by its arguments, and finds every block', async () => {
    const indexer = await startIndexer('{tokens_per_block}', exec);
    let prompt = 200;
    const scores = await until(
      'a prompt in the index',
      async () => {
        prompt += 1;
        await chat(frontend, wordsOf(prompt));
        await chat(frontend, [...wordsOf(prompt), ...wordsOf(0)]);
        const found = (await query(indexer.url, prompt)) as Record<string, unknown>;
        return Object.keys(found).length > 0 && found;
      },
      { needs: [indexer.program] },
    );
    expect(Object.values(scores)).toEqual([{ 0: 576 }]);
    expect(await applied(indexer, 'ok')).toBeGreaterThan(0);
    expect(await applied(indexer, 'parent_block_not_found')).toBe(0);
  });
});
