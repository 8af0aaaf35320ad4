import { afterEach, describe, expect, it } from 'vitest';
import { CliProcess } from '../support/cli-process.js';
import { say } from '../support/kv-events.js';
import { OpenThings } from '../support/open-things.js';

const open = new OpenThings();
afterEach(() => open.close());

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const cli = new CliProcess(['status', '--index', ...args]);
  open.add(() => cli.stop());
  const code = await cli.ended;
  return { code, stdout: cli.stdout.text, stderr: cli.stderr.text };
}

describe('status --index', () => {
  it('is a table of who holds how many blocks, and every entry as JSON for programs', async () => {
    const kvEvents = () => [say.start(), say.part([1, 2, 3]), say.part([2], 0, 'host'), say.end()];
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker]);
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.picture === 'exact');

    const table = await run(harness.grpc);
    expect([table.code, table.stderr]).toEqual([0, '']);
    const [headline, head, row] = table.stdout.split('\n');
    expect(headline).toBe('tiny: 1 holder, 32 tokens per block, epoch 1');
    expect(head?.split(/ +/)).toEqual(['WORKER', 'RANK', 'PICTURE', 'DEVICE', 'HOST', 'DISK', 'EXTERNAL']);
    expect(row?.split(/ +/)).toEqual([worker.address, '0', 'exact', '3', '1', '0', '0']);

    const lines = (await run(harness.grpc, '--json')).stdout.trim().split('\n');
    const [start, ...entries] = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(start).toEqual({
      group: 'tiny',
      epoch: '1',
      tokensPerBlock: 32,
      holders: [
        {
          holder: 0,
          target: worker.address,
          dataParallelRank: 0,
          picture: 'PICTURE_EXACT',
          deviceBlocks: '3',
          hostBlocks: '1',
          diskBlocks: '0',
          externalBlocks: '0',
        },
      ],
    });
    expect(entries.map(({ tier, sequenceHash }) => `${tier} ${sequenceHash}`).sort()).toEqual([
      'device 1',
      'device 2',
      'device 3',
      'host 2',
    ]);
  });

  it('says in the words of the aggregator why there is no index yet', async () => {
    const [a, b] = [await open.sidecar('a'), await open.sidecar('b', { size: 64 })];
    const harness = await open.aggregator([a, b]);
    await harness.untilView(({ groups }) => groups[0]?.state === 'conflict');
    const { code, stdout, stderr } = await run(harness.grpc);
    expect([code, stdout]).toEqual([5, '']);
    expect(stderr).toContain('disagree on the KV block size');
  });

  it('says that a sidecar has none', async () => {
    const sidecar = await open.sidecar('a');
    const { code, stderr } = await run(sidecar.address);
    expect(code).toBe(5);
    expect(stderr).toContain('holds no index');
  });
});
