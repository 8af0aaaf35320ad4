import { afterEach, describe, expect, it } from 'vitest';
import { CacheGroupKind } from '../../src/gen/kvaccord/v1/capabilities.js';
import { CliProcess } from '../support/cli-process.js';
import { pack, say } from '../support/kv-events.js';
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
  it('names the KV cache groups of a hybrid model', async () => {
    const cacheGroups = [
      {
        index: 0,
        kind: CacheGroupKind.SLIDING_WINDOW,
        tokensPerBlock: 32,
        windowTokens: 128,
      },
      { index: 1, kind: CacheGroupKind.FULL_ATTENTION, tokensPerBlock: 32 },
    ];
    const start = say.start();
    for (const rank of start.payload?.$case === 'start' ? start.payload.value.ranks : [])
      rank.cacheGroups = cacheGroups.map((group) => ({ ...group, engineKind: '' }));
    const part = { dataParallelRank: 0, tier: 1, tokensPerBlock: 32, sequenceHashes: pack([3]) } as const;
    const groupPart = { $case: 'groupSnapshotPart', value: { cacheGroup: 0, part } } as const;
    const kvEvents = () => [start, say.part([1, 2, 3]), { payload: groupPart }, say.end()];
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker]);
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.cacheView === 'exact');
    const [, head, ...rows] = (await run(harness.grpc)).stdout.trim().split('\n');
    expect(head?.split(/ {2,}/).slice(0, 5)).toEqual(['WORKER', 'RANK', 'GROUP', 'CACHE VIEW', 'DEVICE']);
    expect(rows.map((row) => row.split(/ {2,}/).slice(1, 5))).toEqual([
      ['0', 'main', 'exact', '3'],
      ['0', '0', 'exact', '1'],
    ]);
  });

  it('is a table of who holds how many blocks, and every entry as JSON for programs', async () => {
    const kvEvents = () => [say.start(), say.part([1, 2, 3]), say.part([2], 0, 'host'), say.end()];
    const worker = await open.sidecar('w-1', {}, { kvEvents });
    const harness = await open.aggregator([worker]);
    await harness.untilView(({ groups }) => groups[0]?.members[0]?.cacheView === 'exact');

    const table = await run(harness.grpc);
    expect([table.code, table.stderr]).toEqual([0, '']);
    const [headline, head, row] = table.stdout.split('\n');
    expect(headline).toBe('tiny: 1 holder, 32 tokens per block, epoch 1');
    expect(head?.split(/ {2,}/)).toEqual([
      'WORKER',
      'RANK',
      'CACHE VIEW',
      'DEVICE',
      'HOST',
      'DISK',
      'EXTERNAL',
    ]);
    expect(row?.split(/ {2,}/)).toEqual([`w-1 (${worker.address})`, '0', 'exact', '3', '1', '0', '0']);

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
          workerId: 'w-1',
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
