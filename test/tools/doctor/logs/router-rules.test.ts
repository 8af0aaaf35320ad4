import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { joined } from '../support/evidence.js';
import { settingsOf, signalsOf, summaryOf } from './summaries.js';

async function diagnosisOf(text: string): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(text)] }));
}

describe('a router that does not start', () => {
  it.each([
    ['Error starting router: PD disaggregation mode requires --decode', '--decode http'],
    [
      'Error: ValidationFailed { reason: "PD disaggregation mode requires --prefill and --decode URLs when not using service discovery" }',
      '--prefill http',
    ],
    [
      'Error: ValidationFailed { reason: "Regular mode requires --worker-urls when not using service discovery" }',
      '--worker-urls http',
    ],
  ])('by what it refuses gets the flags: %s', async (line, flag) => {
    const { assessments } = await diagnosisOf(`${line}\n`);
    expect(assessments[0]?.cause).toBe('settings_refused');
    expect(assessments[0]?.fixes[0]?.says).toContain(flag);
  });

  it('by an error of its own has ended', async () => {
    const { assessments } = await diagnosisOf(
      'Error starting router: [Errno 98] error while attempting to bind: address already in use\n',
    );
    expect(assessments[0]?.cause).toBe('program_ended');
  });

  it('is none where a text only has the words', async () => {
    const { signals } = await summaryOf('INFO the reason for errors when starting a router is in the log\n');
    expect(signals.size).toBe(0);
  });
});

describe("the production stack's router in its mode kvaware", () => {
  const at = (second: number): string => `[2025-07-18 02:15:${20 + second},301] `;
  const hit = (second: number): string =>
    `${at(second)}INFO: Routing request to engine_a found by kvaware router (routing_logic.py:426:vllm_router.routers.routing_logic)\n`;
  const routed = (second: number): string =>
    `${at(second)}INFO: Routing request 7f with session id None to http://10.0.0.1:8000 at 175.1, process time = 0.0010 (request.py:600:vllm_router.services.request_service.request)\n`;
  const START = `${at(0)}INFO: Initializing kvaware routing logic (routing_logic.py:687:vllm_router.routers.routing_logic)\n`;

  it('has a decision for each request, with and without a hit', async () => {
    const { decisions } = await summaryOf(
      `${START}${routed(1)}${hit(2)}${routed(2)}${routed(3)}${hit(4)}${routed(4)}`,
    );
    expect(decisions).toMatchObject({ count: 4, reporting: 4, withoutCache: 2 });
  });

  it('counts misses of the debug level once', async () => {
    const miss = `${at(1)}DEBUG: Matched instance url None (routing_logic.py:262:vllm_router.routers.routing_logic)\n`;
    const { decisions } = await summaryOf(`${START}${miss}${routed(1)}${miss}${routed(2)}`);
    expect(decisions).toMatchObject({ count: 2, withoutCache: 2 });
  });

  it('has no share of hits where the other lines are not there', async () => {
    const hits = Array.from({ length: 30 }, (_, second) => hit(second)).join('');
    expect((await summaryOf(hits)).decisions).toMatchObject({ count: 30, reporting: 0 });
    expect((await diagnosisOf(hits)).verdict).toBe('unknown');
  });

  it('has one from the first request on whose line is there', async () => {
    const lines = `${hit(1)}${routed(1)}${hit(2)}${routed(2)}${routed(3)}`;
    expect((await summaryOf(lines)).decisions).toMatchObject({ count: 2, reporting: 2, withoutCache: 1 });
  });

  it('has none in another mode', async () => {
    const start = START.replace('kvaware', 'round-robin');
    expect((await summaryOf(`${start}${routed(1)}${routed(2)}`)).decisions).toBeUndefined();
  });
});

describe('block sizes by which routers guess', () => {
  it.each([
    'I0319 08:24:09.856693       7 hash.go:57] using default prefix cache block size: 16\n',
    'I0319 08:24:09.856693       7 hash.go:102] "prefix_cache_hash_table_configurations" prefix_cache_hash_seed=1 prefix_cache_block_size=16\n',
  ])('are said and compared with nothing: %s', async (line) => {
    const summary = await summaryOf(line);
    expect(summary.sizes).toEqual([]);
    expect(settingsOf(summary)).toContain('guess_block_size=16');
  });

  it("of llm-d's first picker too", async () => {
    const summary = await summaryOf(
      '{"level":"info","ts":"2025-06-01T18:38:47Z","logger":"setup","caller":"env/env.go:18","msg":"Environment variable not set, using default value","key":"PREFIX_SCORER_BLOCK_SIZE","defaultValue":256}\n',
    );
    expect(summary.sizes).toEqual([]);
    expect(settingsOf(summary)).toContain('guess_block_size=256');
  });
});

describe("what llm-d's picker lacks", () => {
  const line = (msg: string, error: string): string =>
    `${JSON.stringify({ level: 'error', ts: 1, caller: 'requestcontrol/director.go:326', msg, error })}\n`;
  const NO_INFO = `${JSON.stringify({ level: 'error', ts: 1, caller: 'prefix/plugin.go:113', msg: 'PrefixCacheMatchInfo not found for endpoint, assigning score 0', key: 'PrefixCacheMatchInfoDataKey/precise-prefix-cache-producer' })}\n`;

  it.each([
    ['DataProducer execution timed out: context deadline exceeded', /more replicas/],
    ['unsupported request body type, skipping tokenization', /\/v1\/chat\/completions/],
    [
      'tokenization failed: dial tcp 10.0.0.1:8000: connect: connection refused',
      /startupProbe|Service of its own/,
    ],
  ])('is cured by the line that names it: %s', async (error, says) => {
    const { assessments } = await diagnosisOf(
      `${line('failed to prepare per request data', error)}${NO_INFO}`,
    );
    expect(assessments[0]?.cause).toBe('prompts_not_scored');
    expect(assessments[0]?.fixes[0]?.says).toMatch(says);
  });

  it('is a tokenizer that is not there yet, and no configuration', async () => {
    const { assessments } = await diagnosisOf(
      line(
        'Failed to parse configuration',
        "failed to initialize UDS tokenizer for 'token-producer' plugin - dial unix /tmp/tokenizer/tokenizer-uds.socket: connect: no such file or directory",
      ),
    );
    expect(assessments.map(({ cause }) => cause)).not.toContain('settings_refused');
    expect(assessments[0]?.fixes[0]?.says).toContain('startupProbe');
  });
});

describe('hit rates that lines report', () => {
  it('are those of the line where earlier chunks count as cached', async () => {
    const { engine } = await summaryOf(
      '[2024-11-29 10:28:29 TP0] Prefill batch. #new-seq: 2, #new-token: 2048, #cached-token: 888, cache hit rate: 0.00%, token usage: 0.11, #running-req: 69, #queue-req: 130\n',
    );
    expect(engine).toMatchObject({ cachedTokens: 0, prefixHitRate: { max: 0 } });
  });

  it('are not zero where another engine had it all', async () => {
    const of = async (external: string): Promise<unknown> =>
      (
        await summaryOf(
          `INFO 01-13 06:31:36 [loggers.py:248] Engine 000: Avg prompt throughput: 1.2 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, Prefix cache hit rate: 0.0%, External prefix cache hit rate: ${external}%\n`,
        )
      ).engine?.prefixHitRate;
    expect(await of('100.0')).toBeUndefined();
    expect(await of('0.0')).toMatchObject({ max: 0 });
  });
});

describe('routers without an engine', () => {
  it.each([
    '2026-01-15 02:30:17 ERROR smg::routers::grpc: worker_selection.rs:105: No available workers for model',
  ])('say so: %s', async (text) => {
    expect(signalsOf(await summaryOf(`${text}\n`))).toMatchObject({ role_missing: 1 });
  });
});
