import { describe, expect, it } from 'vitest';
import { quotedSettings } from '../../../../src/tools/doctor/gather/quoted-settings.js';
import { filled } from '../../../../src/tools/doctor/known-faults/known-fault.js';
import { SETTING_FAULTS } from '../../../../src/tools/doctor/known-faults/setting-faults.js';
import { KNOWN_FAULTS } from '../support/known-faults.js';

async function foundIn(...lines: readonly string[]): Promise<readonly string[]> {
  const found = await quotedSettings({ file: 'issue.txt', text: lines.join('\n') });
  return found.map(({ fault, first }) => `${fault.id} ${first.place}`);
}

const LMCACHE = 'LMCACHE_LOCAL_CPU=True LMCACHE_MAX_LOCAL_CPU_SIZE=20';
const VLLM = 'vllm serve Qwen/Qwen3-8B --port 8000';
const CONNECTOR = `--kv-transfer-config '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'`;
const SGLANG = 'python3 -m sglang.launch_server --model-path Qwen/Qwen3-8B';

/** Each with the row that it shows and the line, and what takes it back. */
const CASES: readonly (readonly [id: string, lines: readonly string[], cure: (line: string) => string])[] = [
  ['lmcache_without_connector issue.txt:1', [`${LMCACHE} ${VLLM}`], (line) => `${line} ${CONNECTOR}`],
  [
    'lmcache_without_connector issue.txt:2',
    [
      'INFO - worker - With image: runner:vllm0.13.0, arguments: [vllm serve /models/Qwen3-8B --port 40060], envs:',
      'LMCACHE_MAX_LOCAL_CPU_SIZE=30',
      'OMP_NUM_THREADS=1',
    ],
    (line) => line.replace('40060]', `40060 ${CONNECTOR}]`),
  ],
  [
    'lmcache_without_connector issue.txt:3',
    [
      '      image: vllm/vllm-openai:v0.11.0',
      '      args: ["--model", "Qwen/Qwen3-8B"]',
      '        - name: LMCACHE_REMOTE_URL',
      '          value: "redis://redis:6379"',
    ],
    (line) => line.replace('"--model"', '"--kv-transfer-config", "$(CONFIG)", "--model"'),
  ],
  [
    'lmcache_without_connector issue.txt:2',
    [
      "INFO 09-10 03:11:22 [utils.py:253] non-default args: {'model': 'Qwen/Qwen3-8B', 'kv_transfer_config': None}",
      'export LMCACHE_CHUNK_SIZE=256',
    ],
    (line) => line.replace('None', 'KVTransferConfig()'),
  ],
  [
    'kvbm_without_connector issue.txt:1',
    ['export DYN_KVBM_CPU_CACHE_GB=20', 'python3 -m dynamo.vllm --model Qwen/Qwen3-0.6B'],
    (line) => line.replace('python3', 'DYN_CONNECTOR=kvbm python3').replace('0.6B', '0.6B --connector kvbm'),
  ],
  [
    'hicache_not_switched_on issue.txt:1',
    [`${SGLANG} --hicache-storage-backend mooncake`],
    (line) => `${line} --enable-hierarchical-cache`,
  ],
  [
    'kv_offloading_without_size issue.txt:1',
    [`${VLLM} --kv-offloading-backend native`],
    (line) => `${line} --kv-offloading-size 32`,
  ],
  [
    'kv_events_not_enabled issue.txt:2',
    [`${VLLM} \\`, `  --kv-events-config '{"publisher": "zmq", "endpoint": "tcp://*:5557"}'`],
    (line) => line.replace('"publisher"', '"enable_kv_cache_events": true, "publisher"'),
  ],
  [
    'lmcache_disk_without_size issue.txt:3',
    ['chunk_size: 256', 'local_cpu: true', 'local_disk: "file:///mnt/nvme/lmcache"'],
    (line) => line.replace('local_cpu: true', 'local_cpu: true\nmax_local_disk_size: 50'),
  ],
  [
    'lmcache_disk_without_size issue.txt:1',
    [`LMCACHE_LOCAL_DISK=/mnt/kv LMCACHE_MAX_LOCAL_DISK_SIZE=0`],
    (line) => line.replace('SIZE=0', 'SIZE=50'),
  ],
  [
    'lmcache_keeps_nothing issue.txt:2',
    ['chunk_size: 256', 'local_cpu: false', 'max_local_cpu_size: 5', 'remote_url: null'],
    (line) => line.replace('null', '"lm://10.0.0.4:65432"'),
  ],
  [
    'dynamo_prefill_stays_local issue.txt:4',
    ['VllmWorker:', '  model: Qwen/Qwen2-7B', '  router: kv', '  conditional-disagg: true', 'PrefillWorker:'],
    (line) => line.replace('  router: kv', '  remote-prefill: true'),
  ],
  [
    'kv_events_of_no_cache issue.txt:3',
    [
      `${VLLM} \\`,
      `  --kv-events-config '{"enable_kv_cache_events": true, "publisher": "zmq"}' \\`,
      '  --no-enable-prefix-caching',
    ],
    (line) => line.replace('--no-enable', '--enable'),
  ],
  [
    'kv_events_of_no_cache issue.txt:1',
    [`${SGLANG} --disable-radix-cache --kv-events-config '{"publisher": "zmq"}'`],
    (line) => line.replace('--disable-radix-cache ', ''),
  ],
  [
    'frontend_routes_in_turn issue.txt:1',
    [
      'python3 -m dynamo.frontend --http-port 8000',
      `python3 -m dynamo.vllm --model m --kv-events-config '{"enable_kv_cache_events":true,"publisher":"zmq"}'`,
    ],
    (line) => line.replace('--http-port', '--router-mode kv --http-port'),
  ],
  [
    'v1_connector_on_v0 issue.txt:1',
    [`VLLM_USE_V1=0 ${VLLM} ${CONNECTOR}`],
    (line) => line.replace('VLLM_USE_V1=0', 'VLLM_USE_V1=1'),
  ],
  [
    'kv_events_without_block_reuse issue.txt:3',
    [
      'python3 -m dynamo.trtllm --model m --publish-events-and-metrics',
      'kv_cache_config:',
      '  enable_block_reuse: false',
    ],
    (line) => line.replace('false', 'true'),
  ],
  [
    'ucx_without_gpus issue.txt:1',
    [`UCX_TLS=tcp,self ${VLLM} ${CONNECTOR.replace('LMCacheConnectorV1', 'NixlConnector')}`],
    (line) => line.replace('tcp,self', 'tcp,self,cuda_copy'),
  ],
  [
    'ucx_without_gpus issue.txt:3',
    ['args: ["--kv-transfer-config", "NixlConnector"]', '  - name: UCX_TLS', '    value: "rc,tcp"'],
    (line) => line.replace('"rc,tcp"', 'all'),
  ],
];

describe('settings that a text quotes', () => {
  it.each(CASES)('do nothing without the one that is missing: %s', async (id, lines, cured) => {
    expect(await foundIn(...lines)).toEqual([id]);
    expect(await foundIn(cured(lines.join('\n')))).toEqual([]);
  });

  it('are those of the rows, each of which has a case', () => {
    expect(new Set(CASES.map(([id]) => id.split(' ')[0]))).toEqual(
      new Set(SETTING_FAULTS.map(({ fault }) => fault.id)),
    );
  });

  it('are quiet where they are comments, or only words of a sentence', async () => {
    expect(await foundIn(`# ${LMCACHE} ${VLLM}`)).toEqual([]);
    expect(await foundIn(VLLM, 'I have read of LMCACHE_LOCAL_CPU and of --hicache-ratio')).toEqual([]);
  });

  it('are quiet where a log speaks of a program or of a variable, and none is started or set', async () => {
    expect(
      await foundIn(
        'INFO dynamo.frontend: ready',
        "INFO [args.py:1] KVEventsConfig(enable_kv_cache_events=True, publisher='zmq')",
      ),
    ).toEqual([]);
    expect(
      await foundIn(`${VLLM} ${CONNECTOR}`, 'set VLLM_USE_V1=0 to go on with the former engine'),
    ).toEqual([]);
  });

  it('are quiet in a command that is cut, and in one whose words are known only as it runs', async () => {
    expect(await foundIn(`${LMCACHE} ${VLLM} \\`)).toEqual([]);
    for (const words of ['$EXTRA_ARGS', '"$@"', '${' + 'KV_OPTS[@]}'])
      expect(await foundIn(`${LMCACHE} ${VLLM} ${words}`)).toEqual([]);
  });

  it('are those of a text alone: where LMCache speaks in the log, it is loaded', async () => {
    const line =
      '(EngineCore_0 pid=7) [2026-03-03 10:00:00,000] LMCache INFO: Loading (config.py:1:lmcache.v1.config)';
    expect(await foundIn(`${LMCACHE} ${VLLM}`, line)).toEqual([]);
  });

  it('hold nothing up in a long text of such words', async () => {
    const text = `${LMCACHE} `.repeat(2_000) + 'local_disk: /a '.repeat(2_000);
    expect(await foundIn(text, VLLM, `--kv-events-config {${' '.repeat(20_000)}`)).toBeDefined();
  });
});

describe('what their rows say', () => {
  it('is what is wrong, why, and one thing to do, under ids of their own', () => {
    const ids = [...KNOWN_FAULTS, ...SETTING_FAULTS.map(({ fault }) => fault)].map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { fault } of SETTING_FAULTS) {
      expect(`${fault.id} ${filled(fault.says, ['A_NAME']).length <= 160}`).toBe(`${fault.id} true`);
      expect(`${fault.id}: ${fault.says}`).toMatch(/[^.]$/);
      expect(`${fault.id}: ${fault.why}`).toMatch(/\.$/);
      expect(`${fault.id}: ${fault.cure}`).toMatch(/^\w+: [A-Z].*[^.]$/s);
    }
  });
});
