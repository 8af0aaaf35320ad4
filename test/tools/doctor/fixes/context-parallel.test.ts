import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const dropped = (ours: number, theirs: number): string =>
  `2026-06-03T10:01:00.000100Z  WARN dynamo_kv_router::zmq_wire::convert: Block not published. Block size must be ${ours} tokens to be published. Block size is: ${theirs}\n`.repeat(
    3,
  );
const vllm = (ranks: number): string =>
  `2026-06-03T10:00:00.000100Z  INFO core.__init__: Initializing a V1 LLM engine (v0.22.0) with config: model='m', tensor_parallel_size=8, decode_context_parallel_size=${ranks}, enable_prefix_caching=True\n`;
const sglang = `[2026-06-03 10:00:00] server_args=ServerArgs(model_path='m', page_size=64, tp_size=8, dcp_size=2, disable_radix_cache=False, kv_events_config='{"publisher":"zmq"}')\n`;

async function ofLog(text: string): Promise<Diagnosis> {
  const log = await summaryOf(text);
  return diagnose(joined({ logs: [log], sizes: log.sizes, settings: log.settings }));
}

describe('blocks that decode context parallelism makes wider than what a worker registers', () => {
  it('are not cured by another block size, which is multiplied as well', async () => {
    const { advice, assessments } = await ofLog(vllm(2) + dropped(16, 32));
    expect(advice).toContain('dynamo.vllm worker without --decode-context-parallel-size 2');
    expect(advice).not.toContain('--block-size 32');
    expect(assessments[0]?.fixes[0]?.why).toContain('blocks of 16 × 2 = 32 tokens');
  });

  it('are registered by later workers of SGLang', async () => {
    expect((await ofLog(sglang + dropped(64, 128))).advice).toMatch(
      /Dynamo 1\.6 or later.*dynamo\.sglang worker without/,
    );
  });

  it('are no reason where the numbers differ by another factor, or there is one rank', async () => {
    expect((await ofLog(vllm(2) + dropped(16, 64))).advice).toContain('--block-size 64');
    expect((await ofLog(vllm(1) + dropped(16, 32))).advice).toContain('--block-size 32');
  });
});

describe('who drops blocks of another size', () => {
  const engine = `(APIServer pid=1) INFO 06-03 10:00:00 [utils.py:233] non-default args: {'model': 'm', 'block_size': 64}\n`;
  const reading =
    '2026-06-03T10:02:00.000100Z  INFO loggers.log: Engine 000: Avg prompt throughput: 91.4 tokens/s, Avg generation throughput: 38.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.1%, Prefix cache hit rate: 40.0%\n';

  it('may be any reader of events beside an engine that is started by itself', async () => {
    const [picker, server] = await Promise.all([summaryOf(dropped(16, 64)), summaryOf(engine)]);
    const { settings, sizes } = joined(
      ...[picker, server].map(({ sizes: s, settings: t }) => ({ sizes: s, settings: t })),
    );
    const { advice } = diagnose(joined({ logs: [picker, server], settings, sizes }));
    expect(advice).toContain('DYN_KV_CACHE_BLOCK_SIZE=64 for an endpoint picker');
    expect(advice).not.toContain('dynamo.vllm');
  });

  it('is the worker in whose log an engine reports, also where its start is cut off', async () => {
    expect((await ofLog(dropped(16, 32) + reading)).advice).toContain(
      'dynamo.vllm worker with --block-size 32',
    );
  });

  it('is given a size that an engine computed, with what to do where its flag does not take it', async () => {
    const changed =
      '2026-06-03T10:00:01.000100Z  INFO interface.update: Setting attention block size to 2096 tokens to ensure that attention page size is >= mamba page size.\n';
    const { assessments } = await ofLog(vllm(1) + changed + dropped(16, 2096));
    const [first] = assessments[0]?.fixes ?? [];
    expect(first?.says).toContain('--block-size 2096');
    expect(first?.commands.join()).toContain('powers of two up to 256');
  });
});
