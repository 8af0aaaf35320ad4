import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tokenizerFolder } from '../frontend/tokens/support/tokenizers.js';
import { borrowVllm, type LentProgram } from './support/borrow-engine.js';
import { describeAnswer, doctor } from './support/doctor.js';
import { forThisTest } from './support/for-this-test.js';
import { addressOf } from './support/index-client.js';
import { logLines, type Served, startAggregator, startSidecar } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import type { RunningProgram } from './support/program.js';
import { completeReport } from './support/report.js';
import { run } from './support/run.js';
import { scratchFolder } from './support/scratch.js';
import { modelWithTokenizer, TOOL_FLAGS } from './support/tokenizer-model.js';
import { until } from './support/until.js';
import { startVllm, type Vllm } from './support/vllm.js';

const MAIN = new URL('../../dist/cli/main.js', import.meta.url).pathname;

/** The template of the model, with another system message in front. */
function otherTemplate(): string {
  const file = join(scratchFolder(), 'other.jinja');
  const config = readFileSync(join(tokenizerFolder('chatml'), 'tokenizer_config.json'), 'utf8');
  const { chat_template: own } = JSON.parse(config) as { readonly chat_template: string };
  writeFileSync(file, `Be kind.\n${own}`);
  return file;
}

async function statusOf(served: Served): Promise<string> {
  return (await run(process.execPath, [MAIN, 'status', addressOf(served)])).stdout;
}

describe.skipIf(lacks('vllm', 'grpcurl'))('two real vLLM of one model name', () => {
  let engine: Vllm<LentProgram>;
  let sidecar: Served;

  beforeAll(async () => {
    engine = await borrowVllm({ tokenizer: 'chatml', blockSize: 32, flags: TOOL_FLAGS });
    sidecar = await startSidecar('vllm-0', '--engine', engine.url);
    await completeReport(sidecar);
  });
  afterAll(async () => {
    await sidecar?.program.stop();
    await engine?.program.stop();
  });

  it.each([
    ['chat template', 'message', () => ['--chat-template', otherTemplate()], 'chatml'],
    ['tokenizer', 'text', () => ['--served-model-name', 'tiny-chatml'], 'llama3'],
  ] as const)('of which one has another %s are not said to agree', async (_what, probe, flags, tokenizer) => {
    const other = forThisTest(
      await startVllm({ model: modelWithTokenizer(tokenizer), blockSize: 32, flags: flags() }),
    );
    const odd = forThisTest(await startSidecar('vllm-1', '--engine', other.url));
    const report = await completeReport(odd);
    expect(report.evidence?.find(({ field }) => field === 'model.token_probes')).toMatchObject({
      origin: `POST ${other.url}/tokenize`,
    });
    const aggregator = forThisTest(await startAggregator(`aggregator-${tokenizer}`, [sidecar, odd]));
    const error = await until(
      'the conflict',
      () => logLines(aggregator.program).find(({ level }) => level === 'error'),
      { needs: [aggregator.program] },
    );
    console.log(error.msg);
    expect(error.msg).toContain(`disagree on the tokens of the probe "${probe}"; the gate stays shut`);
    expect(error.msg).toMatch(/token \d+ at position \d+ \(token \d+ in the first line\)/);
    expect(await statusOf(aggregator)).toContain(`the tokens of the probe "${probe}"`);
    const answer = await doctor(addressOf(aggregator));
    console.log(describeAnswer(`another ${probe}`, answer));
    expect(answer).toMatchObject({ status: 1, verdict: 'findings', causes: ['token_mismatch certain'] });
    if (tokenizer === 'chatml') await swapSources(other);
  });

  /** The sidecars of both engines read the events of the other one; the difference in templates is accepted. */
  async function swapSources(other: Vllm): Promise<void> {
    const reading = (name: string, own: Vllm<RunningProgram>, read: Vllm<RunningProgram>): Promise<Served> =>
      startSidecar(name, '--engine', own.url, '--kv-event-sources', `tcp://127.0.0.1:${read.ports.zmq}`);
    const swapped = [
      forThisTest(await reading('swapped-0', engine, other)),
      forThisTest(await reading('swapped-1', other, engine)),
    ];
    for (const one of swapped) await completeReport(one);
    const flags = ['--token-probes', 'ignore'];
    const aggregator = forThisTest(await startAggregator('aggregator-swapped', swapped, ...flags));
    const status = await until(
      'both views to be doubted',
      async () => {
        const text = await statusOf(aggregator);
        return (text.match(/doubted/g) ?? []).length >= 2 && text;
      },
      { needs: [aggregator.program], timeoutMs: 60_000, pollMs: 1_000 },
    );
    console.log(status);
    expect(status).toContain('these are the events of another engine, that of worker');
    const warnings = logLines(aggregator.program).filter(({ level }) => level === 'warn');
    expect(warnings.map(({ msg }) => msg).join('\n')).toMatch(
      /its KV events are read at .* but its engine publishes/,
    );
    expect(warnings.map(({ msg }) => msg).join('\n')).toContain('of the probe "message"');
    expect(swapped[0]?.program.log).toMatch(/KV events of rank 0 are read at .* but the engine says/);
    const answer = await doctor(addressOf(aggregator));
    console.log(describeAnswer('swapped sources and two templates', answer));
    expect(answer.status).toBe(1);
    expect(answer.causes).toEqual(
      expect.arrayContaining(['token_mismatch certain', 'misread_events certain']),
    );
  }
});
