import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { summaryOf } from '../logs/summaries.js';
import { joined } from '../support/evidence.js';

async function diagnosisOf(...lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(`${lines.join('\n')}\n`)] }));
}

const INFO = 'INFO 07-08 11:49:03 [engine.py:458] all is as it should be';
const ODD = 'ERROR 07-08 11:49:04 [engine.py:459] the frobnicator of block 7 is out of tune';

describe('errors that no rule knows', () => {
  it('are quoted with their place, and nothing else is claimed', async () => {
    const { verdict, headline, advice, unknowns, assessments } = await diagnosisOf(INFO, ODD);
    expect(verdict).toBe('unknown');
    expect(assessments).toEqual([]);
    expect(headline).toBe(`No cause is known: no rule knows 1 line at error level; the first is "${ODD}"`);
    expect(advice).toContain('Look at some.log:2');
    expect(unknowns[0]).toContain('some.log:2');
  });

  it('are named by their most frequent kind too, whatever numbers it has', async () => {
    const often = (block: number): string =>
      `ERROR 07-08 11:49:05 [other.py:1] block ${block} has lost its label`;
    const { headline, unknowns } = await diagnosisOf(ODD, often(1), INFO, often(22), often(333));
    expect(headline).toContain('4 lines at error level');
    expect(headline).toContain('out of tune');
    expect(unknowns[0]).toContain('The most frequent, 3 times: "ERROR');
    expect(unknowns[0]).toContain('lost its label');
  });

  it('are quoted without secrets and without the text of prompts', async () => {
    const { headline } = await diagnosisOf(
      'ERROR 07-08 11:49:04 [a.py:1] odd call api_key=sk-0123456789abcdef prompt: "my diary"',
    );
    expect(headline).toContain('odd call');
    expect(headline).not.toMatch(/0123456789abcdef|diary/);
  });

  it('are followed by what the line itself says to do', async () => {
    const { verdict, advice } = await diagnosisOf(
      INFO,
      'ERROR 07-08 11:49:04 [a.py:1] The frobnicator has no oil. Please set FROBNICATOR_OIL=1 and restart. See docs.',
    );
    expect(verdict).toBe('unknown');
    expect(advice).toContain('("Please set FROBNICATOR_OIL=1 and restart"): see some.log:2');
  });

  it('are counted where their message stands in the next line, unless a rule reads it', async () => {
    const header = 'ERROR 07-08 11:49:04 [engine.py:459]';
    const { headline } = await diagnosisOf(INFO, header, 'the frobnicator is out of tune', INFO);
    expect(headline).toContain(`the first is "${header} the frobnicator is out of tune"`);
    const known = await diagnosisOf(INFO, header, "ModuleNotFoundError: No module named 'nixl'", INFO);
    expect(known.assessments[0]?.cause).toBe('library_missing');
    expect(known.unknowns.join()).not.toContain('at error level');
    expect((await diagnosisOf(INFO, header, INFO)).headline).toMatch(/^Nothing wrong was seen/);
    const record = { level: 'error', time: '2026-07-08T11:49:04Z', message: '\nout of tune' };
    expect((await diagnosisOf(JSON.stringify(record))).headline).toContain('the first is "out of tune');
  });

  it('are followed by how to do without the part of LMCache that wrote them, where it is optional', async () => {
    const of = (module: string): string =>
      `[2026-07-08 11:49:04,100] LMCache ERROR: odd block (${module.split('.').at(-1)}.py:12:${module})`;
    const backend = 'lmcache.v1.storage_backend';
    const disk = await diagnosisOf(of(`${backend}.local_disk_backend`));
    expect(disk.verdict).toBe('unknown');
    expect(disk.advice).toContain('search the issues of LMCache');
    expect(disk.advice).toContain('start the engine without local_disk (LMCACHE_LOCAL_DISK)');
    const worker = await diagnosisOf(of('lmcache.v1.cache_controller.worker'));
    expect(worker.advice).toContain('LMCACHE_ENABLE_CONTROLLER=False');
    const needed = await diagnosisOf(of('lmcache.v1.cache_engine'));
    expect(needed.advice).not.toContain('to do without');
  });

  it('are no reason to doubt a log without any', async () => {
    const { headline } = await diagnosisOf(INFO, INFO);
    expect(headline).toMatch(/^Nothing wrong was seen/);
  });

  it('leave what a rule understood to its cause', async () => {
    const known = "ModuleNotFoundError: No module named 'nixl'";
    const { verdict, assessments } = await diagnosisOf(ODD, known);
    expect(verdict).toBe('findings');
    expect(assessments[0]?.cause).toBe('library_missing');
  });

  it('do not grow with the log', async () => {
    const lines = Array.from(
      { length: 7_000 },
      (_, at) => `ERROR 07-08 11:49:05 [o.py:1] odd${'x'.repeat(at % 90)} ${at}`,
    );
    const { unexplainedErrors } = await summaryOf(lines.join('\n'));
    expect(unexplainedErrors).toMatchObject({ count: 5_000, isMore: true });
  });
});

describe('what is asked for', () => {
  it.each([
    [
      'vllm-router',
      '2026-01-15 02:30:17 INFO vllm_router_rs::server: src/server.rs:1: Router ready | workers: ["http://a:8000"]',
      /vllm_router_cache_hits_total/,
      /http:\/\/ROUTER:29000\/metrics/,
    ],
    [
      "SGLang's gateway",
      '2025-10-11 05:54:14  INFO sglang_router_rs::server: src/server.rs:863: Starting router on 0.0.0.0:30000',
      /smg_engine_cache_hit_rate/,
      /GATEWAY:29000/,
    ],
    [
      "the production stack's router",
      '[2025-07-18 02:15:20,301] INFO: Scraping metrics from 0 serving engine(s) (engine_stats.py:146:vllm_router.stats.engine_stats)',
      /kvaware/,
      /--log-level debug/,
    ],
    [
      "AIBrix's gateway",
      'I0319 08:24:09.856693       7 hash.go:57] using default prefix cache block size: 16',
      /aibrix_prefix_cache_routing_decisions_total/,
      /8080/,
    ],
    [
      "llm-d's picker",
      '{"level":"info","ts":"2025-06-01T18:38:47Z","caller":"scorer/prefix_aware.go:154","msg":"Prefix aware scorer cleanup started"}',
      /llm_d_epp_prefix_indexer_hit_ratio/,
      /9090/,
    ],
  ])('of %s is named in its own words', async (_name, line, metric, ask) => {
    const { advice, unknowns, verdict } = await diagnosisOf(line);
    expect(verdict).toBe('unknown');
    expect(unknowns.join('\n')).toMatch(metric);
    expect(advice).toMatch(ask);
    expect(`${advice}\n${unknowns.join('\n')}`).not.toMatch(/dynamo|Add the router|FRONTEND/);
  });

  it('beside a lone store is the log of an engine', async () => {
    const { advice } = await diagnosisOf(
      'I20251222 16:16:55.948599 281473300762656 master.cpp:373] Master service started on port 50052',
    );
    expect(advice).toContain("these lines are of Mooncake's master");
    expect(advice).toContain('--logs ENGINE.log');
  });

  it('of Dynamo stays in the words of Dynamo', async () => {
    const { unknowns } = await diagnosisOf(
      '2026-02-16T14:38:53.000000Z  INFO dynamo_llm::kv_router: KV routing enabled',
    );
    expect(unknowns.join('\n')).toContain('dynamo_component_router_kv_hit_rate');
  });
});
