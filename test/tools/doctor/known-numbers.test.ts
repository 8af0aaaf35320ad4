import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/tools/doctor/diagnose.js';
import type { Evidence } from '../../../src/tools/doctor/evidence.js';
import { metricsPart } from '../../../src/tools/doctor/gather/metrics.js';
import {
  decisionsOf,
  findingOf,
  joined,
  logOf,
  memoryOf,
  namesOf,
  settingOf,
  sizeOf,
  tallyOf,
} from './support/evidence.js';

/** A router of which each decision finds an empty tree. */
const blind = logOf([tallyOf('parent_block_not_found', 30)], {
  decisions: decisionsOf({ count: 12, reporting: 12, withoutCache: 12, largestTreeSize: 0 }),
});
const version = (text: string): Partial<Evidence> => ({
  settings: [settingOf('frontend', 'dynamo_version', text), settingOf('worker', 'backend', 'vllm')],
});

describe('numbers that are known', () => {
  it('are in the headline where the engine said its own, before a mismatch without numbers', () => {
    const changed = tallyOf('block_size_changed_by_engine', 1, { values: new Map([['1056', 1]]) });
    const vllm = logOf([changed], { name: 'w.log', programs: new Map([['vllm', 9]]) });
    const found = diagnose(joined({ logs: [blind, vllm] }));
    expect(namesOf(found)[0]).toBe('hybrid_block_size likely');
    expect(found.headline).toContain('1056');
    expect(found.advice).toContain('--block-size 1056');
    // The commands are those of the engine that was seen.
    expect(JSON.stringify(found.assessments)).not.toContain('tokens_per_block');
  });

  it('are in the headline and the advice where the version in the files says that one changes nothing', () => {
    const finding = findingOf('block-size-mismatch', {
      severity: 'note',
      message: 'dynamo.frontend of demo uses a block size of 16 tokens, and dynamo.vllm of demo 64',
    });
    const files = joined(
      { findings: [finding], sizes: [sizeOf('worker', 64, 'configured')] },
      version('1.2.0'),
    );
    const found = diagnose(joined(files, { logs: [blind] }));
    expect(found.headline).toContain('16 tokens, and dynamo.vllm of demo 64');
    expect(found.advice).toBe('Set DYN_KV_CACHE_BLOCK_SIZE=64 on the frontend.');
    expect(found.assessments[0]?.fixes[0]?.why).toContain('what runs may be another version');
    // Where nothing goes wrong it is of no consequence.
    expect(diagnose(files).verdict).toBe('unknown');
  });

  it("name a card's default beside an engine's own file", () => {
    const card = settingOf('worker', 'card_block_size', '32', {
      isDefault: true,
      who: 'dynamo.trtllm of demo',
    });
    const files = (tokens: number): Evidence =>
      joined(
        { settings: [card, settingOf('worker', 'backend', 'trtllm')] },
        { sizes: [sizeOf('worker', tokens, 'configured', '')], logs: [blind] },
      );
    const found = diagnose(files(64));
    expect(found.headline).toBe(
      "Wrong model card: dynamo.trtllm of demo registers a block size of 32 tokens by default, and its engine's file has 64",
    );
    expect(found.advice).toContain('--kv-block-size 64');
    expect(namesOf(diagnose(files(32))).join()).not.toContain('wrong_model_card');
  });
});

describe('one number of two', () => {
  const emptied = logOf([tallyOf('parent_block_not_found', 30, { values: new Map([['num_blocks=0', 30]]) })]);
  const engine = { sizes: [sizeOf('worker', 16, 'in_use')] };

  it('is what a worker has to register, where its publisher leaves stores without their blocks', () => {
    const trtllm = { settings: [settingOf('worker', 'backend', 'trtllm')] };
    const found = diagnose(joined({ logs: [emptied] }, engine, trtllm));
    expect(namesOf(found)).toEqual(['block_size_mismatch likely']);
    expect(found.headline).toContain('the engines use 16');
    expect(found.advice).toContain('dynamo.trtllm worker with --kv-block-size 16');
  });

  it('is said beside the page that has the other one', () => {
    const [ofRouter, ofEngine] = ['add --metrics http://FRONTEND', 'add --metrics http://ENGINE'];
    const known = diagnose(joined({ logs: [blind] }, engine));
    expect(known.headline).toContain('(the engines use 16)');
    expect(known.advice).toContain(ofRouter);
    expect(known.advice).not.toContain('ENGINE:PORT');
    const router = diagnose(joined({ logs: [blind], sizes: [sizeOf('frontend', 32, 'in_use')] }));
    expect(router.headline).toContain('(the router uses 32)');
    expect(router.advice).toContain(ofEngine);
    expect(router.advice).not.toContain('FRONTEND');
  });

  it('is that of the file which lint compares with a card', () => {
    const place = { file: 'graph.yaml', line: 32, column: 25 };
    const declared = sizeOf('worker', 32, 'declared', 'dynamo.trtllm of chat');
    const origin = { place: 'graph.yaml:32:25', text: 'tokens_per_block: 64' };
    const configured = { ...sizeOf('worker', 64, 'configured', 'dynamo.trtllm of chat'), origin };
    const found = diagnose(
      joined(
        {
          findings: [
            findingOf('worker-card-differs', { ...place, message: 'declares 32, and its engine uses 64' }),
          ],
        },
        {
          sizes: [declared, configured],
          settings: [settingOf('worker', 'backend', 'trtllm')],
          logs: [blind],
        },
      ),
    );
    expect(namesOf(found)[0]).toBe('wrong_model_card likely');
    expect(found.advice).toContain('--kv-block-size 64');
  });
});

describe('what is asked of block sizes and memory', () => {
  it('is answered by what workers publish by, and in units that one reads', () => {
    const { checks } = diagnose(
      joined({
        sizes: [sizeOf('worker', 16, 'declared'), sizeOf('worker', 32, 'observed')],
        settings: [
          settingOf('worker', 'program', 'dynamo.trtllm'),
          settingOf('worker', 'kv_cache_bytes', '42595338158'),
        ],
      }),
    );
    const answerOf = (wanted: string): string | undefined => checks.find(({ id }) => id === wanted)?.answer;
    expect(answerOf('router_block_size')).toContain('workers publish by 16');
    expect(answerOf('hash_agreement')).toContain('16 (what a worker registers) and 32 (its engine)');
    expect(answerOf('kv_memory_setting')).toMatch(/^39\.7 GiB/);
  });
});

describe('memory by arithmetic alone', () => {
  const tight = memoryOf({ capacityTokens: 400_000, demandTokens: 200_000_000, largestBatch: 7 });
  const sequences = settingOf('worker', 'max_num_seqs', '256');
  const vllm = settingOf('worker', 'backend', 'vllm');

  it('is no finding of an engine that has served nothing', () => {
    expect(diagnose(joined({ settings: [sequences, vllm] }), [tight]).verdict).toBe('unknown');
  });

  it('does not put fewer sequences first where few run', () => {
    const options = (running: number): readonly string[] =>
      diagnose(
        joined(
          {
            settings: [sequences, vllm],
            logs: [blind],
            sizes: [sizeOf('frontend', 16, 'in_use'), sizeOf('worker', 64, 'in_use')],
          },
          metricsPart('w', `vllm:num_requests_running{engine="0",model_name="m"} ${running}\n`),
        ),
        [tight],
      ).options.map(({ says }) => says);
    expect(options(5)[0]).not.toContain('--max-num-seqs');
    expect(options(40)[0]).toContain('--max-num-seqs 7 (now 256)');
  });
});
