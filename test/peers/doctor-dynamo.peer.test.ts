import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/ports.js';
import {
  type DoctorAnswer,
  describeAnswer,
  doctor,
  logsOf,
  metricsOf,
  type Shown,
} from './support/doctor.js';
import {
  beginDynamoFrontend,
  type DynamoFrontend,
  type DynamoWorker,
  dynamoCommand,
  dynamoEnvironment,
  dynamoFolder,
  instancesOf,
  type Mocker,
  restartDynamoWorker,
  startDynamoFrontend,
  startDynamoWorker,
  startMocker,
  untilModelListed,
} from './support/dynamo.js';
import { chat, converse, counterOf, describeLoad } from './support/dynamo-load.js';
import { forThisTest } from './support/for-this-test.js';
import { lacks } from './support/peers.js';
import { Program } from './support/program.js';
import { tinyModel } from './support/tiny-model.js';
import { until } from './support/until.js';

const LOAD = { conversations: 6, turns: 4, words: 2_000 };
const REJECTED = 'Rejected incompatible workers';

/** What the doctor makes of each selection of what an operator may have. */
async function ask(what: string, flags: readonly string[]): Promise<DoctorAnswer> {
  const answer = await doctor(...flags);
  console.log(describeAnswer(what, answer));
  return answer;
}

function everythingOf(frontend: Shown, workers: readonly Shown[]): readonly string[] {
  return [...logsOf(frontend, ...workers), ...metricsOf(frontend, ...workers)];
}

async function frontendOf(fileKv: string, workers: number): Promise<DynamoFrontend> {
  const frontend = forThisTest(await startDynamoFrontend(fileKv));
  await until('all workers in the frontend', async () => (await instancesOf(frontend)) === workers);
  return frontend;
}

/** Reports requests and what became of them. */
async function load(frontend: DynamoFrontend, what: string, seed: number): Promise<void> {
  console.log(describeLoad(what, await converse(frontend, { ...LOAD, seed })));
}

describe.skipIf(lacks('dynamo'))('doctor beside real Dynamo workers that register 16 and use 32', () => {
  const fileKv = dynamoFolder('doctor-publishers');
  const wrong = { model: tinyModel('tiny'), registered: 16, engine: 32, fileKv };
  const workers: DynamoWorker[] = [];

  beforeAll(async () => {
    for (const name of ['dynamo-0', 'dynamo-1']) workers.push(await startDynamoWorker(name, wrong));
  });
  afterAll(async () => {
    for (const { program } of workers) await program.stop();
  });

  it('names the mismatch with both numbers, and from less as well as that allows', async () => {
    const frontend = await frontendOf(fileKv, 2);
    await load(frontend, 'cards 16, publishers 16, engines 32', 1);

    const all = await ask('wrong publishers, everything', everythingOf(frontend, workers));
    expect(all).toMatchObject({ status: 1, verdict: 'findings', causes: ['block_size_mismatch certain'] });
    expect(all.headline).toMatch(/\b16\b.*\b32\b/);
    expect(all.advice).toContain('32');

    const logs = await ask('wrong publishers, logs', logsOf(frontend, ...workers));
    expect(logs).toMatchObject({ status: 1, causes: ['block_size_mismatch certain'] });
    expect(logs.headline).toMatch(/\b16\b.*\b32\b/);

    const metrics = await ask('wrong publishers, metrics', metricsOf(frontend, ...workers));
    expect(metrics).toMatchObject({ status: 1, causes: ['block_size_mismatch likely'] });
    // No page has what the engines use.
    expect(metrics.unknowns).toContainEqual(expect.stringMatching(/^Which block size the engines use/));

    const page = await ask('wrong publishers, metrics of the frontend', metricsOf(frontend));
    expect(page).toMatchObject({ status: 1, causes: ['block_size_mismatch likely'] });

    const log = await ask('wrong publishers, log of the frontend', logsOf(frontend));
    // The same warnings come of lost events and of an early begin; but those stores have their blocks.
    expect(log).toMatchObject({ status: 1, causes: ['block_size_mismatch likely'] });
    expect(log.headline).not.toMatch(/\b32\b/);
    expect(log.unknowns).toContainEqual(expect.stringMatching(/^What engines really reuse/));
  });

  it('calls it healthy once the workers register what they use', async () => {
    const right = { ...wrong, registered: 32 };
    for (const [i, worker] of workers.entries()) workers[i] = await restartDynamoWorker(worker, right);
    const frontend = await frontendOf(fileKv, 2);
    await load(frontend, 'the same with 32', 1);

    const all = await ask('cured, everything', everythingOf(frontend, workers));
    expect(all).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
    const logs = await ask('cured, logs', logsOf(frontend, ...workers));
    expect(logs).toMatchObject({ status: 0, causes: [] });
    const metrics = await ask('cured, metrics', metricsOf(frontend, ...workers));
    expect(metrics).toMatchObject({ status: 0, causes: [] });
  });
});

describe.skipIf(lacks('dynamo'))('doctor beside real Dynamo mockers with blocks of 32', () => {
  const fileKv = dynamoFolder('doctor-cards');
  const mockers: Mocker[] = [];

  beforeAll(async () => {
    for (let i = 0; i < 2; i += 1) mockers.push(await startMocker(tinyModel('tiny'), 32, { fileKv }));
  });
  afterAll(async () => {
    for (const { program } of mockers) await program.stop();
  });

  function writeCards(from: number, to: number): void {
    const folder = join(fileKv, 'v1', 'mdc');
    for (const name of readdirSync(folder)) {
      const card = readFileSync(join(folder, name), 'utf8');
      const [before, after] = [from, to].map((size) => `"kv_cache_block_size":${size}`) as [string, string];
      expect(card).toContain(before);
      writeFileSync(join(folder, name), card.replace(before, after));
    }
  }

  it('finds nothing wrong as the first requests come, and does not call it proven', async () => {
    const frontend = await frontendOf(fileKv, 2);
    for (const word of [1, 2, 3])
      await chat(
        frontend,
        Array.from({ length: 400 }, (_, i) => word * 500 + i),
      );
    const all = await ask('cold start, everything', everythingOf(frontend, mockers));
    expect(all.causes).toEqual([]);
    expect(all.status).not.toBe(1);
    const logs = await ask('cold start, logs', logsOf(frontend, ...mockers));
    expect(logs).toMatchObject({ status: 6, verdict: 'unknown', causes: [] });
  });

  it('calls them healthy by logs, by metrics and by both, also with a frontend that began late', async () => {
    const frontend = await frontendOf(fileKv, 2);
    await load(frontend, 'mockers of 32', 10);
    for (const [what, flags] of [
      ['everything', everythingOf(frontend, mockers)],
      ['logs', logsOf(frontend, ...mockers)],
      ['metrics', metricsOf(frontend, ...mockers)],
    ] as const) {
      const answer = await ask(`healthy, ${what}`, flags);
      expect(answer, what).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
    }
  });

  it('names cards that say 16, of which Dynamo never speaks: certainly by the engines’ own logs, else by what is missing', async () => {
    writeCards(32, 16);
    onTestFinished(() => writeCards(16, 32));
    const frontend = await frontendOf(fileKv, 2);
    await load(frontend, 'mockers of 32 with cards of 16', 20);

    const all = await ask('silent cards, everything', everythingOf(frontend, mockers));
    expect(all).toMatchObject({ status: 1, verdict: 'findings' });
    expect(all.causes[0]).toMatch(/^(?:block_size_mismatch|wrong_model_card) certain$/);
    expect(all.headline).toMatch(/\b16\b.*\b32\b/);

    const page = await ask('silent cards, metrics of the frontend', metricsOf(frontend));
    expect(page).toMatchObject({ status: 1, causes: ['wrong_model_card likely'] });
    expect(page.headline).not.toMatch(/\b32\b/);

    const log = await ask('silent cards, log of the frontend', logsOf(frontend));
    expect(log).toMatchObject({ status: 6, verdict: 'unknown', causes: [] });
  });

  it('calls the same mockers healthy once their cards are true', async () => {
    const frontend = await frontendOf(fileKv, 2);
    await load(frontend, 'cards true again', 30);
    const all = await ask('cards true again, everything', everythingOf(frontend, mockers));
    expect(all).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
  });

  it('raises no alarm over a second frontend', async () => {
    const frontend = await frontendOf(fileKv, 2);
    const second = await frontendOf(fileKv, 2);
    await load(frontend, 'the first of two frontends', 40);
    await load(second, 'the second', 50);
    const both = await ask('two frontends, everything', [
      ...everythingOf(frontend, mockers),
      ...logsOf(second),
      ...metricsOf(second),
    ]);
    expect(both).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
  });

  it('cannot tell of dynamo.router from its log, and names its default of 128 by the script that starts it', async () => {
    const command = dynamoCommand('router', '--endpoint', 'dynamo.backend.generate');
    const program = forThisTest(new Program({ name: 'router', command, env: dynamoEnvironment(fileKv) }));
    await until('the router to find its workers', () => program.log.includes('Adding worker'), {
      needs: [program],
    });
    const logs = [...logsOf({ program }, ...mockers), ...metricsOf(...mockers)];
    const alone = await ask('dynamo.router, logs and metrics', logs);
    expect(alone).toMatchObject({ status: 6, verdict: 'unknown', causes: [] });
    const script = join(fileKv, 'start.sh');
    writeFileSync(script, 'python3 -m dynamo.router --endpoint dynamo.backend.generate\n');
    const diagnosis = await ask('dynamo.router, with its script', [...logs, '--manifests', script]);
    expect(diagnosis.status).toBe(1);
    expect(diagnosis.causes[0]).toMatch(/^block_size_mismatch /);
    expect(diagnosis.headline).toMatch(/\b128\b.*\b32\b/);
  });

  async function indexerOf(blockSize: number): Promise<Shown> {
    const port = await freePort();
    const engines = mockers.map(({ ranks }, i) => `${i + 1}=tcp://127.0.0.1:${ranks[0]?.zmq}`);
    const program = forThisTest(
      new Program({
        name: `indexer-${blockSize}`,
        command: dynamoCommand(
          'indexer',
          ...['--port', String(port), '--block-size', String(blockSize)],
          ...['--model-name', 'tiny', '--workers', engines.join(',')],
        ),
        env: dynamoEnvironment(fileKv),
      }),
    );
    const url = `http://127.0.0.1:${port}`;
    await until('the indexer', async () => (await fetch(`${url}/health`)).ok, { needs: [program] });
    return { program, url };
  }

  it('names the number of a standalone indexer, and finds nothing wrong with the right one', async () => {
    const frontend = await frontendOf(fileKv, 2);
    const wrong = await indexerOf(16);
    const right = await indexerOf(32);
    let prompt = 1_000;
    const family = 'dynamo_kvrouter_kv_cache_events_applied';
    await until('stores in both indexers', async () => {
      prompt += 1;
      const words = Array.from({ length: 600 }, (_, i) => (prompt * 37 + i * 5) % 2_032);
      await chat(frontend, words);
      await chat(frontend, [...words, ...words.slice(0, 100)]);
      const missing = await counterOf(wrong, family, '"stored"', '"parent_block_not_found"');
      return missing > 0 && (await counterOf(right, family, '"stored"', '"ok"')) > 0;
    });
    const all = await ask('indexer of 16, everything', everythingOf(wrong, mockers));
    expect(all).toMatchObject({ status: 1, causes: ['block_size_mismatch certain'] });
    expect(all.headline).toMatch(/\b16\b.*\b32\b/);
    expect(all.advice).toMatch(/dynamo\.indexer.*--block-size 32/);

    const log = await ask('indexer of 16, its log', logsOf(wrong));
    expect(log).toMatchObject({ status: 1, causes: ['block_size_mismatch certain'] });
    const page = await ask('indexer of 16, its metrics', metricsOf(wrong));
    expect(page.causes[0] ?? 'none').toMatch(/^(?:block_size_mismatch (?:likely|possible)|none)$/);

    const healthy = await ask('indexer of 32, everything', everythingOf(right, mockers));
    expect(healthy).toMatchObject({ status: 0, causes: [] });
  });
});

describe.skipIf(lacks('dynamo'))('doctor beside real Dynamo workers of two sizes', () => {
  it('names the worker that the frontend rejected, by its log alone; metrics do not name it', async () => {
    const fileKv = dynamoFolder('doctor-two-sizes');
    const frontend = forThisTest(await beginDynamoFrontend(fileKv));
    const first = forThisTest(await startMocker(tinyModel('tiny'), 16, { fileKv }));
    await untilModelListed(frontend);
    const second = forThisTest(await startMocker(tinyModel('tiny'), 32, { fileKv }));
    const { program } = frontend;
    await until('a rejection', () => program.log.includes(REJECTED), { needs: [program] });
    await load(frontend, 'mockers of 16 and of 32', 1);

    const all = await ask('two sizes, everything', everythingOf(frontend, [first, second]));
    expect(all).toMatchObject({ status: 1, verdict: 'findings' });
    expect(all.causes[0]).toBe('workers_rejected certain');
    expect(all.headline).toMatch(/\b16\b.*\b32\b/);

    const log = await ask('two sizes, log of the frontend', logsOf(frontend));
    expect(log).toMatchObject({ status: 1, causes: ['workers_rejected certain'] });

    // Half of the fleet works well, and the frontend counts nothing of the other half.
    const page = await ask('two sizes, metrics of the frontend', metricsOf(frontend));
    expect(page).toMatchObject({ status: 0, causes: [] });
  });
});

describe.skipIf(lacks('dynamo'))('doctor beside real Dynamo mockers whose caches are small', () => {
  it('raises no alarm over a fleet that evicts all the time and still finds what is there', async () => {
    const fileKv = dynamoFolder('doctor-churn');
    const mockers: Mocker[] = [];
    for (let i = 0; i < 2; i += 1)
      mockers.push(forThisTest(await startMocker(tinyModel('tiny'), 32, { fileKv, blocks: 160 })));
    const frontend = await frontendOf(fileKv, 2);
    for (let round = 0; round < 6; round += 1) {
      const few = { conversations: 2, turns: 4, words: 1_500, seed: 100 + round * 10 };
      await converse(frontend, few);
    }
    const family = 'dynamo_component_kv_cache_events_applied';
    const removed = await counterOf(frontend, family, '"removed"');
    console.log(`removals applied: ${removed}`);
    expect(removed).toBeGreaterThan(0);
    for (const [what, flags] of [
      ['everything', everythingOf(frontend, mockers)],
      ['logs', logsOf(frontend, ...mockers)],
      ['metrics', metricsOf(frontend, ...mockers)],
    ] as const) {
      const answer = await ask(`churn, ${what}`, flags);
      expect(answer, what).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
    }

    await mockers[0]?.program.stop();
    await until('one worker in the frontend', async () => (await instancesOf(frontend)) === 1);
    const next = forThisTest(await startMocker(tinyModel('tiny'), 32, { fileKv, blocks: 160 }));
    await until('two workers in the frontend', async () => (await instancesOf(frontend)) === 2);
    await load(frontend, 'after a worker went and another came', 300);
    const workers = [mockers[1], next].flatMap((mocker) => mocker ?? []);
    const answer = await ask('a worker went and another came, everything', everythingOf(frontend, workers));
    expect(answer).toMatchObject({ status: 0, verdict: 'healthy', causes: [] });
  });
});
