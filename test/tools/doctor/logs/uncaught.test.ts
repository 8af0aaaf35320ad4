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

describe('the exception below a line that says that a program ended', () => {
  it('is the reason whatever its name, without a level in front', async () => {
    const lines = [
      '[2026-05-25 17:55:45 TP0] Scheduler hit an exception: Traceback (most recent call last):',
      '  File "/opt/sglang/srt/models/qwen3_5.py", line 1110, in load_weights',
      '    param = params_dict[name]',
      "KeyError: 'experts.w2_qweight'",
      '',
      '[2026-05-25 17:55:45] Received sigquit from a child process. It usually means the child failed.',
    ];
    expect(await headlineOf(...lines)).toContain("KeyError: 'experts.w2_qweight'");
  });

  it('is not what the program only warned of', async () => {
    const warning =
      "(EngineCore pid=189) WARNING 06-11 01:28:03 [import_utils.py:408] ImportError: cannot import name '_C' from partially initialized module 'vllm.third_party.deep_gemm'";
    const ended = '(EngineCore pid=189) ERROR 06-11 01:28:40 [core.py:1165] EngineCore failed to start.';
    const reason =
      '(EngineCore pid=189) ERROR 06-11 01:28:40 [core.py:1165] ValueError: the widget of layer 7 has no colour';
    expect(await headlineOf(warning, ended, reason)).toContain('the widget of layer 7');
  });

  it('is none where somebody has stopped the server', async () => {
    const lines = [
      '(APIServer pid=1770) INFO 07-06 09:43:07 [launcher.py:100] [shutdown] API server: shutdown triggered',
      '(EngineCore pid=1833) INFO 07-06 09:43:07 [core.py:1178] [shutdown] EngineCore: trigger received signal=SIGTERM',
      '(APIServer pid=1770) ERROR 07-06 09:43:07 [async_llm.py:704] AsyncLLM output_handler failed.',
      '(APIServer pid=1770) ERROR 07-06 09:43:07 [async_llm.py:704] vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.',
    ];
    expect(await headlineOf(START, ...lines)).not.toContain('A program does not start or has ended');
  });
});

describe("what ends the loop of TensorRT-LLM's executor", () => {
  it('is the reason, whatever its sentence; in its KV cache manager it is that one', async () => {
    const line =
      '[09/03/2026-12:00:01] [TRT-LLM] [RANK 4] [E] Error in event loop: the widget of layer 7 has no colour';
    expect(await headlineOf(line)).toContain('by an error of its own (the widget of layer 7 has no colour)');
    const frame = (path: string): string =>
      `  File "/usr/local/lib/python3.12/dist-packages/tensorrt_llm/_torch/pyexecutor/${path}", line 31, in update_resources`;
    expect(
      await headlineOf(
        line,
        'Traceback (most recent call last):',
        frame('resource_manager.py'),
        "KeyError: 'a'",
      ),
    ).toContain("TensorRT-LLM's own KV cache manager ends a program with an exception");
  });
});

describe('a module that Python is to run', () => {
  it('is missing in the environment whose Python it is', async () => {
    expect(await headlineOf('/opt/dynamo/venv/bin/python3: No module named dynamo.vllm')).toContain(
      "packages do not belong together (ModuleNotFoundError: No module named 'dynamo.vllm')",
    );
  });
});

describe('a model that Triton does not load', () => {
  it('has its reason behind the version', async () => {
    expect(
      await headlineOf(
        "E1103 02:59:01.152656 81041 model_lifecycle.cc:622] failed to load 'ensemble' version 1: Internal: the widget has no colour",
      ),
    ).toContain('by an error of its own (Internal: the widget has no colour)');
  });
});

describe('a plugin that does not load', () => {
  it('is not why an engine refuses its settings', async () => {
    const lines = [
      'ERROR 03-10 10:47:27 [__init__.py:64] Failed to load plugin register_models',
      'ERROR 03-10 10:47:27 [__init__.py:64] Traceback (most recent call last):',
      "ERROR 03-10 10:47:27 [__init__.py:64] ModuleNotFoundError: No module named 'langchain.docstore'",
      START,
      ...SERVE,
      '(APIServer pid=1) pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig',
      '(APIServer pid=1)   Value error, the widget of layer 7 has no colour [type=value_error, input_value=ArgsKwargs(), input_type=ArgsKwargs]',
    ];
    expect(await headlineOf(...lines)).toContain('the widget of layer 7');
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
