import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const sized = (tokens: number): string =>
  `INFO 04-23 10:00:00 [config.py:281] Setting attention block size to ${tokens} tokens to ensure that attention page size is >= mamba page size.\n`;
const hits = (rate: string): string =>
  `INFO 04-23 10:05:00 [loggers.py:127] Engine 000: Avg prompt throughput: 90.0 tokens/s, Avg generation throughput: 8.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: ${rate}%\n`;
const headlineOf = async (log: string): Promise<string> =>
  diagnose(joined({ logs: [await summaryOf(log)] })).headline;

describe('blocks that an engine made long for a hybrid model', () => {
  it('are named, as prompts may have less than one in common', async () => {
    expect(await headlineOf(sized(528))).toContain(
      'blocks 528 tokens long for this model, and prompts that have less than that in common find nothing',
    );
    expect(await headlineOf(sized(528) + hits('0.0'))).toContain('528 tokens');
  });

  it('are not named where something was found, or where they are of a usual size', async () => {
    expect(await headlineOf(sized(528) + hits('40.0'))).not.toContain('528');
    expect(await headlineOf(sized(64))).not.toContain('64');
  });
});
