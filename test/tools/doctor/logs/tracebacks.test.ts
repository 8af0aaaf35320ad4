import { describe, expect, it } from 'vitest';
import { summaryOf } from './summaries.js';

const SCHEDULER = 'ERROR 08-04 09:48:15 [core.py:1332] ';

function traceback(path: string, place: string, source: string, last: string, lead = ''): readonly string[] {
  return [
    `${lead}Traceback (most recent call last):`,
    `${lead}  File "/usr/lib/python3.12/threading.py", line 1010, in run`,
    `${lead}    self._target(*self._args, **self._kwargs)`,
    `${lead}  File "/opt/venv/lib/python3.12/site-packages/${path}", line 865, in ${place}`,
    `${lead}    ${source}`,
    `${lead}    ^^^^^^^^^^^^^^^^`,
    ...(last === '' ? [] : [`${lead}${last}`]),
  ];
}

async function signsOf(lines: readonly string[]): Promise<Record<string, string[]>> {
  const { signals } = await summaryOf(lines.map((line) => `${line}\n`).join(''));
  return Object.fromEntries([...signals].map(([signal, { values }]) => [signal, [...values.keys()]]));
}

describe('tracebacks through files that move or keep KV blocks', () => {
  it('are followed through the scheduler where it handles finished transfers', async () => {
    const [path, place] = ['vllm/v1/core/sched/scheduler.py', '_update_from_kv_xfer_finished'];
    const assertion = 'assert req_id in self.requests';
    expect(
      (await signsOf(traceback(path, place, assertion, 'AssertionError', SCHEDULER)))['connector_crashed'],
    ).toEqual([`${path} in ${place}: AssertionError: ${assertion}`]);
  });

  it('are followed through what vLLM calls of a connector of somebody else', async () => {
    const [path, place] = ['mine/cache.py', 'start_load_kv'];
    const lines = traceback(path, place, 'assert ids % chunk == 0', 'AssertionError', SCHEDULER);
    expect((await signsOf(lines))['connector_crashed']).toEqual([
      'site-packages/mine/cache.py in start_load_kv: AssertionError: assert ids % chunk == 0',
    ]);
  });

  it('are refused settings where an assertion without words compares two sizes of blocks', async () => {
    const [path, place] = ['vllm/v1/kv_offload/spec.py', '__init__'];
    const assertion = 'assert offloaded_block_size_int % gpu_block_size == 0';
    expect((await signsOf(traceback(path, place, assertion, 'AssertionError')))['settings_refused']).toEqual([
      'offloaded_block_size must be a multiple of gpu_block_size (vllm/v1/kv_offload/spec.py in __init__)',
    ]);
    const ofRequest = traceback(path, place, 'assert num_tokens % block_size == 0', 'AssertionError');
    expect((await signsOf(ofRequest))['settings_refused']).toBeUndefined();
  });

  it('are known by their place and their last line', async () => {
    const lines = traceback('vllm/v1/core/kv_cache_manager.py', 'allocate', 'x = y[0]', "KeyError: 'cmpl-1'");
    expect((await signsOf(lines))['connector_crashed']).toEqual([
      "vllm/v1/core/kv_cache_manager.py in allocate: KeyError: 'cmpl-1'",
    ]);
  });

  it('have what an assertion without words asserts', async () => {
    const path = 'vllm/distributed/kv_transfer/kv_connector/v1/offloading/scheduler.py';
    const lines = traceback(path, '_build_store_jobs', 'assert a == b', 'AssertionError', SCHEDULER);
    expect((await signsOf(lines))['connector_crashed']).toEqual([
      `${path} in _build_store_jobs: AssertionError: assert a == b`,
    ]);
  });

  it('are named by their innermost place of that kind, wherever the exception itself comes from', async () => {
    const lines = [
      ...traceback('sglang/srt/mem_cache/radix_cache.py', 'insert', 'a.cat(b)', ''),
      '  File "/opt/venv/lib/python3.12/site-packages/torch/_ops.py", line 9, in __call__',
      '    return self._op(*args)',
      'IndexError: index 7 is out of range',
    ];
    expect((await signsOf(lines))['connector_crashed']).toEqual([
      'sglang/srt/mem_cache/radix_cache.py in insert: IndexError: index 7 is out of range',
    ]);
  });

  it('of two processes that write at the same time are not mixed up', async () => {
    const path = 'vllm/v1/core/block_pool.py';
    const one = traceback(path, 'touch', 'a', "KeyError: 'one'", '(EngineCore_0 pid=1) ');
    const other = traceback(path, 'touch', 'a', "KeyError: 'other'", '(EngineCore_1 pid=2) ');
    const mixed = one.flatMap((line, at) => [line, other[at] ?? '']);
    expect((await signsOf(mixed))['connector_crashed']).toEqual([`${path} in touch: KeyError: 'one'`]);
  });

  it('that are cut off count where there is no whole one', async () => {
    const cut = traceback('sglang/srt/disaggregation/decode.py', 'event_loop', 'a', '');
    const whole = traceback('sglang/srt/disaggregation/decode.py', 'add', 'b', 'TypeError: no');
    expect((await signsOf(cut))['connector_crashed']).toEqual([
      'sglang/srt/disaggregation/decode.py in event_loop',
    ]);
    expect((await signsOf([...whole, ...cut]))['connector_crashed']).toEqual([
      'sglang/srt/disaggregation/decode.py in add: TypeError: no',
    ]);
    const away = [
      ...cut,
      ...Array.from({ length: 40 }, (_, at) => `INFO line ${at}`),
      'TypeError: elsewhere',
    ];
    expect((await signsOf(away))['connector_crashed']).toEqual([
      'sglang/srt/disaggregation/decode.py in event_loop',
    ]);
  });

  it('have the reason of the line above them where they lack their last line', async () => {
    const lead = 'ERROR 05-16 11:31:36 [mooncake_connector.py:466] ';
    const lines = [
      `${lead}Failed to transfer KV cache for request cmpl-1: list index out of range`,
      ...traceback('vllm_ascend/distributed/mooncake_connector.py', '_send', 'a[0]', '', lead),
    ];
    expect((await signsOf(lines))['connector_crashed']).toEqual([
      'vllm_ascend/distributed/mooncake_connector.py in _send: list index out of range',
    ]);
  });

  it('have the exception above them, as some programs write it first', async () => {
    const [path, place] = [
      'kvbm/trtllm_integration/connector/kvbm_connector_worker.py',
      'bind_connector_meta',
    ];
    const frames = ['', 'Stack trace:', `  File "/opt/${path}", line 108, in ${place}`, '    ...'];
    for (const sentence of ['Exception: expected value at line 1 column 1', "KeyError: 'cmpl-1'"])
      expect((await signsOf([sentence, ...frames]))['connector_crashed']).toEqual([
        `${path} in ${place}: ${sentence}`,
      ]);
    const header = 'Traceback (most recent call last):';
    const ofOther = ["KeyError: 'of another one'", '', header, ...frames.slice(2)];
    expect((await signsOf(ofOther))['connector_crashed']).toEqual([`${path} in ${place}`]);
  });

  it('keep no secret and no prompt', async () => {
    const last = 'ValueError: token=hf_abcdefghijkl prompt: tell me';
    const lines = traceback('sglang/srt/mem_cache/radix_cache.py', 'insert', 'a', last);
    expect(JSON.stringify(await signsOf(lines))).not.toMatch(/hf_abc|tell me/);
  });
});

describe('classes of such tracebacks', () => {
  it.each([
    [
      'conn.py',
      '__init__',
      'self.prefill_tp_size, self.dp = (',
      'TypeError: cannot unpack non-iterable NoneType object',
    ],
    [
      'common/conn.py',
      'init',
      "port = bootstrap_info['rank_port']",
      "TypeError: 'NoneType' object is not subscriptable",
    ],
  ])('None where the answer of a peer should be: %s in %s', async (file, place, source, last) => {
    const signs = await signsOf(traceback(`sglang/srt/disaggregation/mooncake/${file}`, place, source, last));
    expect(signs['transfer_unreachable']).toEqual(['no answer of the bootstrap server']);
    expect(signs['connector_crashed']).toBeUndefined();
  });

  it('None elsewhere in that file is a crash', async () => {
    const last = "TypeError: 'NoneType' object is not subscriptable";
    const lines = traceback('sglang/srt/disaggregation/mooncake/conn.py', 'send', 'a = chunk[0]', last);
    expect((await signsOf(lines))['transfer_unreachable']).toBeUndefined();
  });

  it.each([
    ['assert self.enable_controller', 'enable_controller must be set'],
    ['assert self.p2p_host is not None', 'p2p_host must be set'],
    ['assert not self.enable_p2p', 'enable_p2p must be off'],
    ['assert config.pd_role in ["sender", "receiver"]', 'pd_role must be set'],
  ])('a configuration that is refused by %s', async (source, words) => {
    const lines = traceback('lmcache/v1/config.py', '_validate_config', source, 'AssertionError');
    const signs = await signsOf(lines);
    expect(signs['settings_refused']).toEqual([`${words} (lmcache/v1/config.py in _validate_config)`]);
    expect(signs['connector_crashed']).toBeUndefined();
  });

  it('KV caches of layers that do not fit together, also where the last line has no words', async () => {
    const path = 'vllm/v1/core/kv_cache_utils.py';
    const source = 'assert new_spec.page_size_bytes == max_page_size';
    const signs = await signsOf(traceback(path, 'unify_kv_cache_spec_page_size', source, 'AssertionError'));
    expect(signs['settings_refused']).toEqual([
      "the KV caches of the model's layers cannot be brought to one page size",
    ]);
    const off = traceback(path, 'get_kv_cache_groups', 'unify_hybrid_kv_cache_specs(kv_cache_spec)', '');
    expect((await signsOf(off))['settings_refused']?.[0]).toContain('hybrid KV cache manager is disabled');
  });
});
