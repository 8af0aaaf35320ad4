import { describe, expect, it } from 'vitest';
import { programEnded } from '../../../../src/tools/doctor/causes/program-ended.js';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { repairFor } from '../../../../src/tools/doctor/fixes/program-errors.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function diagnosisOf(log: string) {
  return diagnose(joined({ logs: [await summaryOf(log)] }));
}

describe('what repairs a program that ended', () => {
  it('is of the GPU where an error passes the sentence of PyTorch on without its name', async () => {
    const { headline } = await diagnosisOf(
      '[10/01/2025-10:00:00] [TRT-LLM] [E] Error in event loop: CUDA out of memory. Tried to allocate 1.20 GiB. GPU 0 has a total capacity of 79.11 GiB of which 0.44 GiB is free.\nINFO: next',
    );
    expect(headline).toContain('its GPU has no memory left');
  });

  it.each([
    [
      'Value error, Total number of attention heads (28) must be divisible by tensor parallel size (8).',
      '--tensor-parallel-size 4',
    ],
    ["ModuleNotFoundError: No module named 'vllm._C'", 'outside of a folder named vllm'],
  ])('reads the error alone that a log ends with: %s', async (error, cure) => {
    const { headline, advice } = await diagnosisOf(error);
    expect(headline).toContain('does not start or has ended');
    expect(advice).toContain(cure);
    const goesOn = Array.from({ length: 20 }, () => 'INFO 05-06 10:00:00 [launcher.py:30] ready').join('\n');
    expect((await diagnosisOf(`${error}\n${goesOn}`)).verdict).toBe('unknown');
  });

  it.each([
    ['vllm', 'no more than the rest of it: --gpu-memory-utilization 0.20', 'of the whole GPU'],
    ['sglang', 'a smaller part of what they leave (--mem-fraction-static)', 'free as the engine started'],
    ['trtllm', '(free_gpu_memory_fraction in kv_cache_config)', 'free once the weights were loaded'],
    [undefined, 'vLLM: --gpu-memory-utilization 0.20, SGLang: less --mem-fraction-static', 'has not ended'],
  ])('leaves the GPU to others by what the part of %s is of', (engine, says, why) => {
    const sentence =
      'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.19 GiB of which 1.00 GiB is free. Including non-PyTorch memory, this process has 17.00 GiB memory in use.';
    const fix = repairFor('gpu_memory', sentence, { copiesToHost: false, engine });
    expect(fix.says).toContain(says);
    expect(fix.why).toContain(why);
  });

  it.each([
    [
      "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
      'Free port 8000',
    ],
    ["zmq.error.ZMQError: Address already in use (addr='tcp://*:5557')", 'Free port 5557'],
    [
      'torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE',
      'MASTER_PORT',
    ],
    ['OSError: [Errno 98] Address already in use', 'a port of its own'],
  ])('frees the port that is in use: %s', (sentence, says) => {
    expect(repairFor('port_in_use', sentence).says).toContain(says);
  });

  it('builds an extension against the PyTorch that is there, where its symbol is of another', () => {
    const file = '/usr/local/lib/python3.12/dist-packages/flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so';
    const { says } = repairFor(
      'versions',
      `ImportError: ${file}: undefined symbol: _ZN3c105ErrorC2ENS_14Sour`,
    );
    expect(says).toContain('--no-build-isolation --no-binary flash-attn flash-attn');
    expect(repairFor('versions', `ImportError: ${file}: undefined symbol: foo`).says).not.toContain(
      'flash-attn',
    );
  });

  it.each([
    [
      'internal',
      "KeyError: 'invalid tool call parser: hermess (chose from { hermes,mistral })'",
      'hermes,mistral',
    ],
    [
      'internal',
      'AssertionError: There is a bug in block_size 16 support. Please avoid this combination by passing --block-size 32.',
      'passing --block-size 32',
    ],
    [
      undefined,
      'ValueError: max_capture_size and compilation_config.max_capture_size are mutually exclusive',
      'only one of max_capture_size and compilation_config.max_capture_size',
    ],
  ] as const)('asks for what an error of kind %s says itself: %s', (kind, sentence, said) => {
    expect(repairFor(kind, sentence).says).toContain(said);
  });

  it('begins with what to do, and where, for each kind', () => {
    const kinds = [
      'gpu_memory',
      'host_memory',
      'shared_memory',
      'disk_full',
      'gpu_fault',
      'gpu_driver',
      'kernel_build',
      'other_rank',
      'collective',
      'port_in_use',
      'model_files',
      'model_unsupported',
      'parallel_sizes',
      'versions',
      'stalled',
      'worker_lost',
      'internal',
      undefined,
    ] as const;
    for (const kind of kinds) {
      const { says, verify } = repairFor(kind, 'RuntimeError: a');
      expect(says).toMatch(/^(?:Compare|Give|Have|Run|Set|Start) /);
      expect(says).toMatch(/--\w|[A-Z]=|\w: \w|=\d|kubectl/);
      expect(verify).not.toEqual([]);
    }
  });

  it('asks for the first error where the log has none', async () => {
    const { assessments } = await diagnosisOf(
      'CRITICAL 02-25 11:11:34 launcher.py:101] MQLLMEngine is already dead, terminating server process\n',
    );
    expect(assessments[0]).toMatchObject({ cause: programEnded.id, confidence: 'likely' });
    expect(assessments[0]?.fixes[0]?.says).toContain('from its start');
  });

  it('is no part of a KV connector where the GPU has no memory left', async () => {
    const { assessments } = await diagnosisOf(
      [
        '(EngineCore_0 pid=7) ERROR 07-20 11:15:01 [core.py:1332] EngineCore encountered a fatal error.',
        '(EngineCore_0 pid=7) ERROR 07-20 11:15:01 [core.py:1332]   File "/vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py", line 9, in a',
        '(EngineCore_0 pid=7) ERROR 07-20 11:15:01 [core.py:1332] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.',
        '',
      ].join('\n'),
    );
    expect(assessments.map(({ cause }) => cause)).toEqual(['program_ended']);
  });

  it('says no secret of the sentence', async () => {
    const { assessments } = await diagnosisOf(
      [
        '[2026-03-03 10:00:00 TP0] Scheduler hit an exception: Traceback (most recent call last):',
        "OSError: [Errno 28] No space left on device: '/a?api_key=abcdefgh12345678'",
        '',
      ].join('\n'),
    );
    expect(assessments[0]?.headline).toContain('a disk is full');
    expect(JSON.stringify(assessments)).not.toContain('abcdefgh12345678');
  });
});
