import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import { joined } from '../support/evidence.js';
import { summaryOf } from './summaries.js';

const START =
  "(APIServer pid=1) INFO 06-07 13:18:43 [utils.py:233] non-default args: {'model_tag': 'google/gemma-4-26B-A4B-it'}";
const SERVE = [
  '(APIServer pid=1) Traceback (most recent call last):',
  '(APIServer pid=1)   File "/usr/local/bin/vllm", line 10, in <module>',
  '(APIServer pid=1)     sys.exit(main())',
  '(APIServer pid=1)   File "/usr/local/lib/python3.12/dist-packages/vllm/entrypoints/cli/main.py", line 92, in main',
  '(APIServer pid=1)     args.dispatch_function(args)',
];
const IMPORT = [
  'Traceback (most recent call last):',
  '  File "/usr/lib/python3.12/runpy.py", line 110, in _get_module_details',
  '  File "/opt/venv/lib/python3.12/site-packages/sglang/launch_server.py", line 9, in <module>',
  '    from sglang.srt.server_args import prepare_server_args',
];

async function headlineOf(...lines: readonly string[]): Promise<string> {
  const logs = [await summaryOf(`${lines.join('\n')}\n`)];
  return diagnose(joined({ logs })).headline;
}

describe('an exception that nobody caught', () => {
  it.each([
    ['ValueError: the widget of layer 7 has no colour', 'by an error of its own (ValueError: the widget'],
    ["KeyError: 'qwen9_moe'", "a fault of the program itself (KeyError: 'qwen9_moe')"],
    ["ModuleNotFoundError: No module named 'compressed_tensors.packed'", 'packages do not belong together'],
  ])('has ended the engine whose start it went up to: %s', async (sentence, reason) => {
    expect(await headlineOf(START, ...SERVE, `(APIServer pid=1) ${sentence}`)).toContain(
      `A program does not start or has ended: ${reason}`,
    );
    expect(await headlineOf(...IMPORT, sentence)).toContain(
      `A program does not start or has ended: ${reason}`,
    );
  });

  it('says what it asks for as the cure', async () => {
    const text = [
      START,
      ...SERVE,
      '(APIServer pid=1) ValueError: Too few slots. Please increase max_widgets.',
    ];
    const { advice } = diagnose(joined({ logs: [await summaryOf(`${text.join('\n')}\n`)] }));
    expect(advice).toBe('Do what the error asks for ("Please increase max_widgets").');
  });

  it.each([
    ['Ctrl+C', [...SERVE, '(APIServer pid=1) KeyboardInterrupt']],
    [
      'a client',
      [
        ...SERVE,
        '(APIServer pid=1)   File "/opt/vllm/entrypoints/cli/benchmark/serve.py", line 21, in cmd',
        '(APIServer pid=1) ValueError: Initial test run failed - Please make sure benchmark arguments are correct',
      ],
    ],
    [
      'one request',
      [
        'ERROR 08-18 19:58:43 [serving_chat.py:203] Traceback (most recent call last):',
        'ERROR 08-18 19:58:43 [serving_chat.py:203]   File "/opt/vllm/entrypoints/openai/serving_chat.py", line 186, in create_chat_completion',
        'ERROR 08-18 19:58:43 [serving_chat.py:203] ValueError: the widget of layer 7 has no colour',
      ],
    ],
    [
      'a script of the operator',
      [
        'Traceback (most recent call last):',
        '  File "/work/hicache_load_test.py", line 88, in <module>',
        "KeyError: 'latency_s'",
      ],
    ],
  ])('of %s is no end of an engine', async (_name, lines) => {
    expect(await headlineOf(START, ...lines)).not.toContain('A program does not start or has ended');
  });
});

describe('libraries of CUDA that vLLM looks for on other hardware', () => {
  it('are not why the engine ended', async () => {
    const warning =
      "(EngineCore pid=216) WARNING 06-27 02:06:50 [interface.py:225] Failed to import from vllm._C: ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')";
    const ended = '(EngineCore pid=216) ERROR 06-27 01:58:07 [core.py:1006] EngineCore failed to start.';
    const reason =
      "(EngineCore pid=216) ERROR 06-27 01:58:07 [core.py:1006] KeyError: 'layers.5.self_attn.qkv_proj.v_proj.weight'";
    expect(await headlineOf(warning, ended, reason)).toContain("KeyError: 'layers.5");
  });
});
