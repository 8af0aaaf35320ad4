import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../../../support/cli-process.js';
import { DynamoFolder, workerName } from '../../../support/dynamo-folder.js';
import { OpenThings } from '../../../support/open-things.js';
import { batchOf, FakePublisher } from '../../../worker/kv-events/support/fake-publisher.js';

const open = new OpenThings();
afterEach(() => open.close());

const ONE = '4f163da561a23766';
const TWO = 'e624f07d6a5899e9';
const FREE_PORTS = ['--listen', '127.0.0.1:0', '--http-listen', '127.0.0.1:0'];
const QUICK = ['--settle', '50ms'];

/** What a worker's engine publishes when it caches a block of 32 tokens. */
const BLOCK_OF_32 = {
  type: 'BlockStored',
  block_hashes: [1],
  parent_block_hash: null,
  token_ids: Array.from({ length: 32 }, (_, at) => at),
  block_size: 32,
};

function begin(args: readonly string[]): CliProcess {
  const cli = new CliProcess(args);
  open.add(() => cli.stop());
  return cli;
}

async function wait(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const cli = begin(['wait', ...QUICK, ...args]);
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

/** Begins an aggregator, and resolves with where it serves. */
async function aggregator(args: readonly string[]): Promise<{ cli: CliProcess; grpc: string; http: string }> {
  const cli = begin(['aggregator', ...FREE_PORTS, ...QUICK, ...args]);
  await cli.log.until((text) => text.includes('watches'));
  const line = cli.log.text.split('\n').find((text) => text.includes('watches')) ?? '{}';
  const { grpc, http } = JSON.parse(line) as { grpc: string; http: string };
  return { cli, grpc, http };
}

async function publisher(): Promise<FakePublisher> {
  const made = await FakePublisher.start();
  open.add(() => made.stop());
  return made;
}

describe('a Dynamo fleet without sidecars', () => {
  it('is waited for by its model cards', async () => {
    const folder = await DynamoFolder.create(open);
    await folder.register(ONE);
    await folder.register(TWO, { systemPort: '127.0.0.1:27010' });
    expect(await wait(...folder.workers, '--min-workers', '2')).toEqual({
      code: 0,
      stdout: '32\n',
      stderr: '',
    });
  });

  it('is waited for until the last one has registered', async () => {
    const folder = await DynamoFolder.create(open);
    const cli = begin(['wait', ...QUICK, ...folder.workers, '--min-workers', '2']);
    await cli.log.until((text) => text.includes('no worker has registered a model there yet'));
    await folder.register(ONE);
    await folder.register(TWO);
    expect(await cli.ended).toBe(0);
    expect(cli.stdout.text).toBe('32\n');
  });

  it('of two block sizes is a conflict that names both workers and their cards', async () => {
    const folder = await DynamoFolder.create(open);
    await folder.register(ONE, { size: 16 });
    await folder.register(TWO, { size: 32 });
    const { code, stdout, stderr } = await wait(...folder.workers, '--min-workers', '2');
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' });
    expect(stderr).toContain('Workers of "tiny" disagree on the KV block size');
    expect(stderr).toContain(`16: ${workerName(ONE)} (Dynamo; engine_config, file ${folder.path}/v1/mdc/`);
    expect(stderr).toContain(`32: ${workerName(TWO)} (Dynamo; engine_config, file ${folder.path}/v1/mdc/`);
  });

  it('with a card that cannot be read is not agreed on, and the reason is given', async () => {
    const folder = await DynamoFolder.create(open);
    await folder.register(ONE);
    await folder.register(TWO, '{"type":');
    const { code, stderr } = await wait(...folder.workers, '--timeout', '500ms');
    expect(code).toBe(3);
    expect(stderr).toContain(`${workerName(TWO)} (file ${folder.path}/v1/mdc/`);
    expect(stderr).toContain('expected a JSON object');
  });

  it('in a folder that is not there cannot be reached', async () => {
    const folder = await DynamoFolder.create(open);
    const { code, stderr } = await wait('--workers', `dynamo-file://${folder.path}/no`, '--timeout', '300ms');
    expect(code).toBe(5);
    expect(stderr).toContain(`the folder ${folder.path}/no does not exist`);
  });

  it('is followed by an aggregator as workers come and go', async () => {
    const folder = await DynamoFolder.create(open);
    await folder.register(ONE);
    const { cli, http } = await aggregator(folder.workers);
    await cli.log.until((text) => text.includes('"code":"agreed"'));
    const workers = async (): Promise<string[]> => {
      const answer = (await (await fetch(`http://${http}/api/v1/workers`)).json()) as {
        workers: { member: { target: string; state: string } }[];
      };
      return answer.workers.map(({ member }) => `${member.target} ${member.state}`);
    };
    await expect.poll(workers).toEqual([`${workerName(ONE)} MEMBER_STATE_CONFORMING`]);
    await folder.register(TWO, { size: 16 });
    await expect
      .poll(workers, { timeout: 5_000 })
      .toEqual([`${workerName(ONE)} MEMBER_STATE_CONFORMING`, `${workerName(TWO)} MEMBER_STATE_DISSENTING`]);
    await folder.leave(TWO);
    await expect.poll(workers, { timeout: 5_000 }).toEqual([`${workerName(ONE)} MEMBER_STATE_CONFORMING`]);
    expect(await cli.stop('SIGTERM')).toBe(0);
  }, 20_000);
});

describe('a Dynamo fleet whose events can be read', () => {
  it('V4, V5: is a conflict where a card says 16 and its engine uses 32, for every frontend that goes by cards', async () => {
    const folder = await DynamoFolder.create(open);
    const engine = await publisher();
    await folder.register(ONE, { size: 16 });
    const { cli, grpc } = await aggregator([
      ...folder.workers,
      ...['--kv-event-sources', `${ONE}=${engine.endpoint}`],
    ]);
    await cli.log.until((text) => text.includes('"code":"agreed"'));
    expect(await wait('--aggregator', grpc, '--frontend-uses', 'declared')).toMatchObject({
      code: 0,
      stdout: '16\n',
    });
    await expect
      .poll(
        async () => {
          await engine.publish(batchOf(BLOCK_OF_32));
          return cli.log.text;
        },
        { timeout: 10_000 },
      )
      .toContain('Frontend KV block size (16) does not match worker block size (32).');
    expect(cli.log.text).toContain(
      `Worker ${ONE} declares 16 but its engine uses 32: set --kv-block-size=32 on the worker.`,
    );
    const { code, stderr } = await wait('--aggregator', grpc, '--frontend-uses', 'declared');
    expect(code).toBe(4);
    // In other words once the aggregator, which goes by events, has begun another epoch with 32.
    expect(stderr).toContain(`declares 16 (file ${folder.path}/v1/mdc/`);
    expect(stderr).toContain('set --kv-block-size=32 on the worker');
  }, 20_000);

  it('V5: is refused by wait itself, which reads events and keeps no index, before any frontend is started', async () => {
    const folder = await DynamoFolder.create(open);
    const engine = await publisher();
    await engine.publish(batchOf(BLOCK_OF_32));
    await folder.register(ONE, { size: 16 });
    const { endpoint, replayEndpoint = '' } = engine;
    const events = [
      ...['--kv-event-sources', `${ONE}=${endpoint}`],
      ...['--kv-replay-sources', `${ONE}=${replayEndpoint}`],
    ];
    const { code, stderr } = await wait(
      ...[...folder.workers, ...events, '--settle', '1s', '--frontend-uses', 'declared'],
    );
    expect(code).toBe(4);
    expect(stderr).toContain('declare another KV block size than their engines use');
    expect(stderr).toContain(`Worker ${ONE} declares 16 (file ${folder.path}/v1/mdc/`);
    await folder.register(ONE, { size: 32 });
    expect(await wait(...folder.workers, ...events, '--frontend-uses', 'declared')).toMatchObject({
      code: 0,
      stdout: '32\n',
    });
  }, 20_000);

  it('is waited for without discovery too, by its events alone', async () => {
    const engine = await publisher();
    await engine.publish(batchOf(BLOCK_OF_32));
    const { endpoint, replayEndpoint = '' } = engine;
    const events = ['--kv-event-sources', `w=${endpoint}`, '--kv-replay-sources', `w=${replayEndpoint}`];
    expect(await wait(...events, '--model', 'tiny')).toMatchObject({ code: 0, stdout: '32\n' });
    expect(await wait(...events)).toMatchObject({ code: 2 });
    // With 3 where a worker answered, with 5 where none did.
    const silent = await publisher();
    const both = ['--kv-event-sources', `w=${endpoint},s=${silent.endpoint}`, ...events.slice(2)];
    const alone = ['--kv-event-sources', `s=${silent.endpoint}`];
    const hurried = ['--model', 'tiny', '--timeout', '1s'];
    expect(await wait(...both, ...hurried)).toMatchObject({ code: 3 });
    expect(await wait(...alone, ...hurried)).toMatchObject({
      code: 5,
      stderr: expect.stringMatching(/nobody could be reached after 1 s: \S/),
    });
    const { code, stderr } = await wait('--aggregator', '127.0.0.1:9', ...events, '--model', 'tiny');
    expect(code).toBe(2);
    expect(stderr).toContain('give them to the aggregator');
  }, 20_000);

  it('is verified where card and events say the same, by the address of its system port as well', async () => {
    const folder = await DynamoFolder.create(open);
    const engine = await publisher();
    await engine.publish(batchOf(BLOCK_OF_32));
    await folder.register(ONE, { systemPort: '127.0.0.1:9090' });
    await folder.register(TWO, { systemPort: '127.0.0.1:9091' });
    const { endpoint, replayEndpoint = '' } = engine;
    const { http } = await aggregator([
      ...folder.workers,
      ...['--kv-event-sources', `127.0.0.1:9090=${endpoint}`],
      ...['--kv-replay-sources', `127.0.0.1:9090=${replayEndpoint}`],
    ]);
    const workers = async (): Promise<unknown> => {
      const answer = (await (await fetch(`http://${http}/api/v1/workers`)).json()) as {
        workers: { member: { target: string; state: string; instanceId: string } }[];
      };
      return answer.workers.map(({ member }) => [member.target, member.instanceId, member.state].join(' '));
    };
    await expect
      .poll(workers, { timeout: 10_000 })
      .toEqual([
        `127.0.0.1:9090 ${ONE} MEMBER_STATE_VERIFIED`,
        `${workerName(TWO)} ${TWO} MEMBER_STATE_CONFORMING`,
      ]);
  }, 20_000);

  it('says which name is unknown, and which means several', async () => {
    const folder = await DynamoFolder.create(open);
    await folder.register(ONE);
    await folder.register(TWO);
    const { cli, http } = await aggregator([
      ...folder.workers,
      ...['--kv-event-sources', `127.0.0.1:27011=tcp://127.0.0.1:9,nobody=tcp://127.0.0.1:8`],
    ]);
    await cli.log.until((text) => text.includes('is the name of 2 workers'));
    expect(cli.log.text).toContain(
      `127.0.0.1:27011 is the name of 2 workers (${workerName(ONE)}, ${workerName(TWO)}); name the one that is meant as it stands here`,
    );
    await expect
      .poll(async () => (await fetch(`http://${http}/readyz?verbose`)).text())
      .toContain('nobody (discovery does not list it, so its model is not known');
  });

  it('needs no --model for what cards say, and does for anything else', async () => {
    const cli = begin(['aggregator', ...FREE_PORTS, '--kv-event-sources', 'w=tcp://127.0.0.1:9']);
    expect(await cli.ended).toBe(2);
    expect(cli.stderr.text).toContain("engines' events do not name their model");
  });
});
