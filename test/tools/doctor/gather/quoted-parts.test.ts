import { describe, expect, it } from 'vitest';
import { QuotedText } from '../../../../src/tools/doctor/gather/quoted-parts.js';
import { sumOf } from '../../../../src/tools/doctor/metrics/metrics-page.js';

async function evidenceOf(...pieces: readonly string[]): ReturnType<QuotedText['evidence']> {
  const quoted = new QuotedText();
  const source = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  for await (const piece of quoted.watch(source)) expect(piece.length).toBeGreaterThan(0);
  return quoted.evidence('issue.txt');
}

describe('what a log quotes beside its lines', () => {
  it('has the counters of an engine, also with their digits in groups', async () => {
    const { metrics = [] } = await evidenceOf(
      'INFO 03-03 10:00:00 [api_server.py:1] ready\n',
      'vllm:prefix_cache_queries_total   442,227\nvllm:prefix_cache_hits_total            0\n',
    );
    const [page] = metrics;
    expect(page?.program).toBe('vllm');
    expect(page && sumOf(page, 'vllm:prefix_cache_queries_total')).toBe(442_227);
  });

  it('has no page where lines only name a counter', async () => {
    const { metrics } = await evidenceOf(
      'vllm:prefix_cache_queries_total is what I look at\nall else is fine\n',
    );
    expect(metrics).toEqual([]);
  });

  it('has settings that nothing reads once, by the whole text or by the one command', async () => {
    const saidBy = async (command: string): Promise<readonly (readonly string[])[]> => {
      const { knownFaults = [], findings = [] } = await evidenceOf(`${command}\n`);
      return [knownFaults.map(({ fault }) => fault.id), findings.map(({ ruleId }) => ruleId)];
    };
    expect(await saidBy('LMCACHE_LOCAL_CPU=True vllm serve m --port 8000')).toEqual([
      ['lmcache_without_connector'],
      [],
    ]);
    expect(await saidBy('FLEXKV_CPU_CACHE_GB=20 vllm serve m --port 8000')).toEqual([
      [],
      ['cache-settings-unread'],
    ]);
  });

  it('has commands that contradict each other', async () => {
    const { findings = [], sizes = [] } = await evidenceOf(
      'python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 16\n',
      'python3 -m dynamo.vllm --model m --block-size 64\n',
    );
    expect(findings.map(({ ruleId }) => ruleId)).toContain('block-size-mismatch');
    expect(sizes.map(({ tokensPerBlock, origin }) => `${tokensPerBlock} ${origin.place}`)).toContain(
      '64 issue.txt:2:47',
    );
  });

  it('is nothing in a log of more than 64 KiB, and in what is no text', async () => {
    const commands =
      'python3 -m dynamo.frontend --router-mode kv --kv-cache-block-size 16\npython3 -m dynamo.vllm --model m --block-size 64\n';
    expect(await evidenceOf(commands, 'INFO a line\n'.repeat(6_000))).toEqual({});
    expect(await evidenceOf(`${commands}\0`)).toEqual({});
  });
});
