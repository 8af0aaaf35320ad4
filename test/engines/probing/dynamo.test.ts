import { describe, expect, it } from 'vitest';
import { dynamoModelCard } from '../../../src/engines/dynamo/model-card-probe.js';
import { dynamoSystemHealth, dynamoSystemMetrics } from '../../../src/engines/dynamo/system-status-probe.js';
import { identifyEngine } from '../../../src/engines/probing/identify-engine.js';
import type { ProbeTarget } from '../../../src/engines/probing/probe.js';
import { EngineKind, EngineRole, EngineState, HashUnit } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues, probeFailure, probeModules, runProbe, sizeLines } from './probe-run.js';
import { type RecordedAnswer, recording, serveRecordings } from './recorded-engine.js';

const file = (name: string): string => recording(`dynamo-1.6.1/${name}`);

/** Modules whose file system holds these files. */
function folderOf(files: Readonly<Record<string, string>>): ReturnType<typeof probeModules> {
  const missing = (): Error => Object.assign(new Error('ENOENT'), { code: 'ENOENT' });
  return probeModules({
    listFiles: async (folder) => {
      const names = Object.keys(files).filter((path) => path.startsWith(`${folder}/`));
      if (names.length === 0) throw missing();
      return names.map((path) => path.slice(folder.length + 1));
    },
    readFile: async (path) => {
      const text = files[path];
      if (text === undefined) throw missing();
      return text;
    },
  });
}

const card = (instance: string): string => `/kv/v1/mdc/dynamo%2Fbackend%2Fgenerate%2F${instance}`;
const twoWorkers = Object.fromEntries(
  (JSON.parse(file('model-cards.two-workers.json')) as { path: string; content: object }[]).map(
    ({ path, content }) => [`/kv/${path}`, JSON.stringify(content)],
  ),
);

describe('the model card of a Dynamo worker', () => {
  const target: ProbeTarget = { dynamoFileKv: '/kv/' };

  it('as recorded is what the worker declares', async () => {
    const files = { [card('4f163da561a23766')]: file('model-card.verbatim.json') };
    const { facts, warnings } = await runProbe(dynamoModelCard, target, folderOf(files));
    expect(warnings).toEqual([]);
    expect(sizeLines(facts)).toEqual(['requested 32 declared contract']);
    expect(new Set(facts.map(({ evidence }) => evidence.origin))).toEqual(
      new Set([`file ${card('4f163da561a23766')}`]),
    );
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.DYNAMO]);
    expect(fieldValues(facts, 'model.served_names')).toEqual([['tiny']]);
    expect(fieldValues(facts, 'model.root')).toEqual(['/models/tiny-model']);
    // A length of 0 is "not set" in a card.
    expect(fieldValues(facts, 'model.max_model_len')).toEqual([]);
    expect(fieldValues(facts, 'capacity.total_kv_blocks')).toEqual([8192]);
    expect(fieldValues(facts, 'contract.hash_unit')).toEqual([HashUnit.TOKEN]);
    expect(fieldValues(facts, 'parallelism.data_parallel_rank')).toEqual([0]);
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.AGGREGATED]);
  });

  it.each([
    ['prefill', [EngineRole.PREFILL], []],
    ['decode', [EngineRole.DECODE], []],
    ['encode', [], [expect.stringContaining('worker_type: "encode"')]],
  ])(
    'of a worker_type of %s has that role, and a warning where it is not known',
    async (type, roles, expected) => {
      const text = file('model-card.verbatim.json').replace(
        '"worker_type":"aggregated"',
        `"worker_type":"${type}"`,
      );
      const { facts, warnings } = await runProbe(dynamoModelCard, target, folderOf({ [card('aa')]: text }));
      expect(fieldValues(facts, 'engine.role')).toEqual(roles);
      expect(warnings).toEqual(expected);
    },
  );

  it('keeps the instance id exact, which no JSON number can', async () => {
    const files = { [card('e624f07d6a5899e9')]: file('model-card.vllm-dp2-32.json') };
    const { facts } = await runProbe(dynamoModelCard, target, folderOf(files));
    expect(fieldValues(facts, 'engine.start_marker')).toEqual(['e624f07d6a5899e9']);
    expect(fieldValues(facts, 'parallelism.data_parallel_size')).toEqual([2]);
  });

  it('of a TensorRT-LLM worker has the default that nobody measured, and is as declared as any', async () => {
    const files = { [card('aa')]: file('model-card.trtllm-default.json') };
    const { facts } = await runProbe(dynamoModelCard, target, folderOf(files));
    expect(sizeLines(facts)).toEqual(['requested 32 declared contract']);
  });

  it('is distinguished from the others in the folder by the system port', async () => {
    const of = async (httpBaseUrl: string): Promise<unknown> => {
      const { facts } = await runProbe(dynamoModelCard, { ...target, httpBaseUrl }, folderOf(twoWorkers));
      return fieldValues(facts, 'engine.start_marker');
    };
    expect(await of('http://127.0.0.1:27010')).toEqual(['e624f07d6a5899e9']);
    expect(await of('http://127.0.0.1:27011')).toEqual(['4f163da561a23766']);
    expect(await of('http://localhost:27011')).toEqual(['4f163da561a23766']);
  });

  it('is not guessed among several', async () => {
    const failure = await probeFailure(dynamoModelCard, target, folderOf(twoWorkers));
    expect(failure.message).toContain('4f163da561a23766 at http://127.0.0.1:27011');
    expect(failure.message).toContain('DYN_SYSTEM_PORT');
  });

  it('names the LoRA adapters that have a card of their own', async () => {
    const verbatim = file('model-card.verbatim.json');
    const files = {
      [card('aa')]: verbatim,
      [`${card('aa')}%2Ffrench`]: verbatim,
      [`${card('bb')}%2Fgerman`]: verbatim,
    };
    const { facts } = await runProbe(dynamoModelCard, target, folderOf(files));
    expect(fieldValues(facts, 'model.lora_adapters')).toEqual([['french']]);
  });

  it('half written is reported beside those that can be read', async () => {
    const files = {
      [card('aa')]: file('model-card.verbatim.json').slice(0, 300),
      [card('bb')]: file('model-card.verbatim.json'),
    };
    const { facts, warnings } = await runProbe(dynamoModelCard, target, folderOf(files));
    expect(sizeLines(facts)).toEqual(['requested 32 declared contract']);
    expect(warnings).toEqual([expect.stringContaining('cut off')]);
  });

  it.each<[string, Record<string, string>, string]>([
    ['the folder is missing', { '/elsewhere/x': '' }, 'not_here'],
    ['no worker has registered', { '/kv/v1/mdc/readme': 'x' }, 'not_ready'],
    ['a name is no encoded path', { '/kv/v1/mdc/%E0%A4%A': 'x' }, 'not_ready'],
    ['the only card is no JSON', { [card('aa')]: '<html>' }, 'bad_answer'],
    ['the only card has no card_json', { [card('aa')]: '{}' }, 'bad_answer'],
  ])('gives an error when %s', async (_name, files, code) => {
    expect((await probeFailure(dynamoModelCard, target, folderOf(files))).code).toBe(code);
  });
});

describe('the system port of a Dynamo worker', () => {
  const worker = (health: RecordedAnswer): Record<string, RecordedAnswer> => ({
    '/live': health,
    '/metrics': file('mocker-metrics.block-32.txt'),
  });

  it.each<[string, RecordedAnswer, EngineState]>([
    ['ready as recorded', file('mocker-health.ready.json'), EngineState.READY],
    [
      '"notready" for ever although its endpoints are',
      { status: 503, body: file('mocker-health.notready.json') },
      EngineState.READY,
    ],
    [
      'waiting for an endpoint',
      { status: 503, body: '{"status":"notready","endpoints":{"generate":"notready"}}' },
      EngineState.STARTING,
    ],
    [
      'without any endpoint yet',
      { status: 503, body: '{"status":"notready","endpoints":{}}' },
      EngineState.STARTING,
    ],
  ])('is read by its endpoints: %s', async (_name, health, state) => {
    await using engine = await serveRecordings(worker(health));
    const { facts } = await runProbe(dynamoSystemHealth, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'engine.state')).toEqual([state]);
    expect(fieldValues(facts, 'engine.kind')).toEqual([EngineKind.DYNAMO]);
  });

  it('gives the instance as start marker, and no block size, because it has none', async () => {
    await using engine = await serveRecordings(worker(file('mocker-health.ready.json')));
    const { facts, warnings } = await runProbe(dynamoSystemMetrics, { httpBaseUrl: engine.url });
    expect(fieldValues(facts, 'engine.start_marker')).toEqual(['4ce07b1f8ece6045']);
    expect(sizeLines(facts)).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it("gives the engine's own metrics where the worker passes them on", async () => {
    await using engine = await serveRecordings({
      ...worker(file('mocker-health.ready.json')),
      '/metrics': `${file('mocker-metrics.block-32.txt')}\n${recording('vllm-0.32.0/metrics.b32.txt')}`,
    });
    const { facts } = await runProbe(dynamoSystemMetrics, { httpBaseUrl: engine.url });
    expect(sizeLines(facts)[0]).toBe('effective_attention 32 engine_metrics contract');
  });

  it('is distinguished from the frontend of Dynamo, which is no worker', async () => {
    await using frontend = await serveRecordings({ '/v1/models': file('frontend-models.json') });
    const modules = probeModules();
    const found = await identifyEngine({ httpBaseUrl: frontend.url }, modules, new AbortController().signal);
    expect(found.kind).toBe(EngineKind.OTHER);
    expect(found.reason).toContain('give the address of the worker');
  });
});
