import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

const START = [
  'Traceback (most recent call last):',
  '  File "<frozen runpy>", line 198, in _run_module_as_main',
  '  File "/sgl-workspace/sglang/python/sglang/launch_server.py", line 11, in <module>',
  '    server_args = prepare_server_args(sys.argv[1:])',
  '  File "/sgl-workspace/sglang/python/sglang/srt/server_args.py", line 4333, in prepare_server_args',
  '    return ServerArgs.from_cli_args(raw_args)',
  '  File "<string>", line 289, in __init__',
];

function checkOf(sentence: string, file = 'server_args.py'): string {
  return [
    ...START,
    `  File "/sgl-workspace/sglang/python/sglang/srt/${file}", line 5150, in check_server_args`,
    '    assert is_fine, (',
    '           ^^^^^^^',
    sentence,
  ].join('\n');
}

async function read(
  text: string,
): Promise<{ readonly cause: string | undefined; readonly headline: string; readonly cure: string }> {
  const diagnosis = diagnose(joined({ logs: [await summaryOf(`${text}\n`)] }));
  const [first] = diagnosis.assessments;
  return { cause: first?.cause, headline: diagnosis.headline, cure: first?.fixes[0]?.says ?? '' };
}

describe("what the checks of SGLang's arguments refuse", () => {
  it.each([
    ['AssertionError: moe_dense_tp_size only support 1 and None currently', 'Correct --moe-dense-tp-size'],
    ['AssertionError: tp_size must be divisible by number of nodes', 'Correct --tp-size, or --nnodes'],
    [
      'AssertionError: compatibility of lora and radix attention is in progress',
      'without --enable-lora and --lora-paths, or with --disable-radix-cache',
    ],
    [
      'ValueError: Currently standalone speculative decoding does not support dp attention.',
      'without --speculative-algorithm, or without --enable-dp-attention',
    ],
    ['ValueError: Ngram speculative decoding only supports CUDA device.', 'without --speculative-algorithm'],
    [
      "AssertionError: To use priority scheduling, schedule_policy must be 'fcfs' or 'lof'. 'lpm' is not supported.",
      'Correct --schedule-policy',
    ],
    ['AssertionError: fa3, aiter, or triton is required for Llama4 model', 'Correct --attention-backend'],
    [
      'AssertionError: Tokenizer worker num must >= 1',
      'Correct --tokenizer-worker-num in the command of the engine',
    ],
    [
      'AssertionError: FlashInfer backend can significantly degrade the performance of Olmo3 models.',
      "Correct in the command of the engine what this check of SGLang's arguments names",
    ],
  ])('%s', async (sentence, cure) => {
    const said = await read(checkOf(sentence));
    expect(said.cause).toBe('settings_refused');
    expect(said.headline).toContain(sentence.slice(sentence.indexOf(': ') + 2, 90));
    expect(said.cure).toContain(cure);
  });

  it('counts in the files into which later versions divide them', async () => {
    const said = await read(
      checkOf('ValueError: UNO tree mode does not yet support PDMux.', 'arg_groups/speculative_hook.py'),
    );
    expect(said.headline).toContain('SGLang refuses its arguments: UNO tree mode');
    expect(said.cure).toContain('without --enable-pdmux');
  });

  it('counts where the source of an assertion has the setting alone', async () => {
    const said = await read(
      [
        ...START,
        '  File "/opt/sglang/srt/server_args.py", line 405, in check_server_args',
        '    assert self.base_gpu_id >= 0',
        'AssertionError',
      ].join('\n'),
    );
    expect(said.headline).toContain('assert self.base_gpu_id >= 0');
  });

  it('is not what such a check calls and what fails for another reason', async () => {
    const said = await read(
      [
        ...START,
        '  File "/sgl-workspace/sglang/python/sglang/srt/server_args.py", line 5150, in get_model_config',
        '    return ModelConfig.from_server_args(self)',
        '  File "/usr/lib/python3/dist-packages/transformers/utils/hub.py", line 511, in cached_files',
        '    raise OSError(',
        "OSError: /models/qwen does not appear to have a file named config.json. Checkout 'https://huggingface.co//models/qwen/tree/main' for available files.",
      ].join('\n'),
    );
    expect(said.cause).toBe('program_ended');
    expect(said.headline).not.toContain('refuses its arguments');
  });
});

describe('what SGLang demands as it makes its parts', () => {
  const scheduler = (sentence: string) =>
    [
      "[2026-01-05 02:20:01] server_args=ServerArgs(model_path='/models/DeepSeek-R1', port=8080, page_size=64)",
      '[2026-01-05 02:24:45 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      '  File "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py", line 2902, in run_scheduler_process',
      '    scheduler = Scheduler(',
      '  File "/sgl-workspace/sglang/python/sglang/srt/model_executor/model_runner.py", line 891, in init_attention_backend',
      '    assert not self.sliding_window_size, (',
      sentence,
    ].join('\n');

  it.each([
    [
      'AssertionError: Window attention is not supported in the triton attention backend. Please use `--attention-backend flashinfer`.',
      '--attention-backend flashinfer',
    ],
    [
      'AssertionError: PP is not compatible with MTP models.',
      'without --speculative-algorithm, or with --pp-size 1',
    ],
    ['ValueError: Unsupported kv_cache_dtype: fp8_e3m4.', 'Correct --kv-cache-dtype'],
    [
      'ValueError: DFLASH requires target num_hidden_layers in config. Got target=None.',
      'or start it without --speculative-algorithm',
    ],
  ])('%s', async (sentence, cure) => {
    expect((await read(scheduler(sentence))).cure).toContain(cure);
  });

  it('is none of its own faults, whatever argument they are near', async () => {
    const said = await read(scheduler('AssertionError: verify c0.85_loc overflow of page_size: 16 > 16'));
    expect(said.cure).toContain('Run a later version');
  });
});

describe('the last line alone of what SGLang refuses', () => {
  it.each([
    [
      'AssertionError: Currently HybridAttentionBackend does not support speculative decoding.',
      'without --speculative-algorithm',
    ],
    ['AssertionError: moe_dense_tp_size only support 1 and None currently', 'Correct --moe-dense-tp-size'],
    [
      'ValueError: Currently ngram speculative decoding does not support dp attention.',
      'without --enable-dp-attention',
    ],
    ['AssertionError: PP is not compatible with MTP models.', 'with --pp-size 1'],
    [
      'AssertionError: FlashAttention v3 Backend requires SM>=90. Please use `--attention-backend flashinfer`.',
      '--attention-backend flashinfer',
    ],
  ])('%s', async (sentence, cure) => {
    const said = await read(sentence);
    expect(said.cause).toBe('settings_refused');
    expect(said.cure).toContain(cure);
  });

  it.each([
    'ValueError: The prompt must be shorter than chunked_prefill_size of this request',
    'AssertionError: Speculative decoding not yet supported for RayGPU backend.',
    'RuntimeError: enable_dp_attention is on',
  ])('is not %s', async (sentence) => {
    expect((await read(sentence)).headline).not.toContain('SGLang refuses its arguments');
  });
});
