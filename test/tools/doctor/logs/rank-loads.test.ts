import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { joined } from '../support/evidence.js';
import { summaryOf } from './summaries.js';

function lineOf(rank: number, running: number, waiting: number, hitRate = '41.0'): string {
  return `(APIServer pid=1) INFO 03-03 10:00:00 [loggers.py:127] Engine 00${rank}: Avg prompt throughput: 120.1 tokens/s, Avg generation throughput: 310.2 tokens/s, Running: ${running} reqs, Waiting: ${waiting} reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: ${hitRate}%\n`;
}

async function answerOf(id: string, log: string): Promise<string> {
  const { checks } = diagnose(joined({ logs: [await summaryOf(log)] }));
  const check = checks.find((one) => one.id === id);
  return check?.answer ?? check?.missing ?? '';
}

describe('data-parallel ranks of one engine', () => {
  it('are said not to share requests where one waits while another has none, again and again', async () => {
    const moment = lineOf(0, 0, 0) + lineOf(1, 64, 40);
    expect(await answerOf('real_load', moment.repeat(5))).toContain(
      'rank 1 had up to 40 waiting while rank 0 had none, 5 times',
    );
    expect(await answerOf('real_load', moment.repeat(4))).not.toContain('do not share');
  });

  it('share them where all wait, where few wait, and where one is alone', async () => {
    for (const moment of [
      lineOf(0, 64, 12) + lineOf(1, 64, 40),
      lineOf(0, 0, 0) + lineOf(1, 8, 3),
      lineOf(1, 64, 40),
    ])
      expect(await answerOf('real_load', moment.repeat(20))).not.toContain('do not share');
  });
});

describe('blocks that are longer than many a prefix', () => {
  const set =
    'INFO 03-03 10:00:00 [config.py:300] Setting attention block size to 640 tokens to ensure that attention page size is >= mamba page size.\n';
  const args =
    "INFO 03-03 10:00:00 [utils.py:233] non-default args: {'model': 'm', 'enable_prefix_caching': True}\n";

  it('are named where an engine finds nothing', async () => {
    expect(await answerOf('prefix_caching', args + set + lineOf(0, 4, 0, '0.0').repeat(3))).toContain(
      'blocks 640 tokens long',
    );
  });

  it('are not where it finds something', async () => {
    expect(await answerOf('prefix_caching', args + set + lineOf(0, 4, 0).repeat(3))).not.toContain('640');
  });
});
