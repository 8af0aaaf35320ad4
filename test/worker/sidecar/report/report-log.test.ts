import { describe, expect, it } from 'vitest';
import { buildReport } from '../../../../src/core/contract/build-report.js';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import { observedFacts } from '../../../../src/core/contract/evidence/observed-size.js';
import {
  type CapabilityReport,
  EngineKind,
  EngineState,
  EvidenceSource,
  ServingAddress_Protocol,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { EngineView } from '../../../../src/worker/sidecar/probing/engine-watch.js';
import { ReportLog } from '../../../../src/worker/sidecar/report/report-log.js';
import { RecordingLogger } from '../../../support/recording-logger.js';
import { blockSize, declared, observedSize, servedModel } from '../support/scripted-probe.js';
import { downView, readyView } from '../support/views.js';

function reportOf(view: EngineView): CapabilityReport {
  return buildReport({
    workerId: 'w-1',
    instanceId: view.instanceId,
    revision: 1n,
    observedAtMs: 0,
    sidecarVersion: '',
    engineState: view.state,
    engineProblem: view.problems,
    facts: view.facts,
    warnings: view.warnings,
    topology: undefined,
    probes: [],
  });
}

const http = {
  source: EvidenceSource.ENGINE_HTTP,
  origin: 'GET v',
  raw: '',
  observedAtMs: 0,
};
const vllm = [
  fieldFact('engine.kind', EngineKind.VLLM, http),
  fieldFact('engine.version', '0.32.0', http),
  fieldFact(
    'engine.serving_addresses',
    [{ protocol: ServingAddress_Protocol.OPENAI_HTTP, address: 'http://127.0.0.1:8000' }],
    http,
  ),
];

/** Everything that was said, as `level: sentence`. */
function logged(...views: readonly EngineView[]): string[] {
  const logger = new RecordingLogger();
  const log = new ReportLog({ logger });
  for (const view of views) log.log(reportOf(view), view.restart);
  return logger.lines.map((line) => `${line.level}: ${line.message}`);
}

describe('the log of a sidecar', () => {
  it('says the truth about the engine once, with its evidence', () => {
    const view = readyView([...vllm, blockSize(32), servedModel()]);
    expect(logged(view, view, view)).toEqual([
      'info: Engine vLLM 0.32.0 at http://127.0.0.1:8000 uses KV blocks of 32 tokens ' +
        '(engine_metrics: effective_attention_block_size="32")',
    ]);
  });

  it('says of an engine that is only declared that it is another one', () => {
    const other = [fieldFact('engine.kind', EngineKind.OTHER, http), ...vllm.slice(2)];
    expect(logged(readyView([...other, blockSize(32), servedModel()]))).toEqual([
      'info: Engine (other) at http://127.0.0.1:8000 uses KV blocks of 32 tokens ' +
        '(engine_metrics: effective_attention_block_size="32")',
    ]);
  });

  it('says once that it waits, that it lost the engine, and the truth again when it is back', () => {
    const ready = readyView();
    expect(logged(downView(), downView(), ready, downView(), downView(), ready)).toEqual([
      'info: Waiting for the engine: cannot reach the engine at http://e:1: connection refused.',
      'info: Engine uses KV blocks of 32 tokens (engine_metrics: effective_attention_block_size="32")',
      'warn: Lost the engine: cannot reach the engine at http://e:1: connection refused.',
      'info: Engine uses KV blocks of 32 tokens (engine_metrics: effective_attention_block_size="32")',
    ]);
  });

  it('waits for no engine where none is asked', () => {
    const none = {
      ...readyView([declared(blockSize(16)), declared(servedModel())]),
      state: EngineState.UNSPECIFIED,
    };
    expect(logged(none).join()).not.toContain('Waiting');
    expect(logged({ ...none, facts: [] })).toEqual([
      expect.stringMatching(/^warn: Incomplete: no source could say tokens_per_block/),
    ]);
  });

  it('says that the engine restarted, and with which size', () => {
    const next = {
      ...readyView([blockSize(64), servedModel()]),
      restart: 'its start marker changed (GET x)',
    };
    expect(logged(readyView(), next).slice(1)).toEqual([
      'info: The engine was restarted: its start marker changed (GET x).',
      'info: Engine uses KV blocks of 64 tokens (engine_metrics: effective_attention_block_size="64")',
    ]);
  });

  it('warns once of a value that differs from a declared one', () => {
    const view = readyView([blockSize(32), declared(blockSize(16)), servedModel()]);
    expect(logged(view, view).slice(1)).toEqual([
      'warn: Sources differ for contract.tokens_per_block: 32 (engine_metrics) is used, ' +
        '16 (declared, GET metrics) is not.',
    ]);
  });

  it('says once that events prove the size', () => {
    const view = readyView([...vllm, blockSize(32), servedModel()]);
    const proven = { ...view, facts: [...view.facts, ...observedFacts([observedSize(32)])] };
    expect(logged(view, proven, proven)).toEqual([
      expect.stringContaining('uses KV blocks of 32 tokens (engine_metrics'),
      'info: Tokens per block 32 proven by KV events of tcp://e:5557: block_size=32.',
    ]);
    expect(logged(proven)).toEqual([
      'info: Engine vLLM 0.32.0 at http://127.0.0.1:8000 uses KV blocks of 32 tokens (observed_event: block_size=32)',
    ]);
  });

  it('warns of a declared value that events contradict, with both and the cure, and of nothing twice', () => {
    const view = readyView([blockSize(32), declared(blockSize(16)), servedModel()]);
    const proven = { ...view, facts: [...view.facts, ...observedFacts([observedSize(64)])] };
    expect(logged(view, proven, proven).slice(2)).toEqual([
      'info: Tokens per block 64 proven by KV events of tcp://e:5557: block_size=64.',
      'warn: the engine uses a block size of 64 tokens (KV events of tcp://e:5557: block_size=64), but GET metrics ' +
        '(engine_metrics) says 32; correct it there: a router that uses this value computes other blocks than the engine.',
      'warn: the engine uses a block size of 64 tokens (KV events of tcp://e:5557: block_size=64), but GET metrics ' +
        '(declared) says 16; correct it there: a router that uses this value computes other blocks than the engine.',
    ]);
  });

  it('warns once why a report cannot be used', () => {
    const view = readyView([servedModel()]);
    expect(logged(view, view)).toEqual([
      expect.stringMatching(/^warn: Incomplete: no source could say tokens_per_block/),
    ]);
  });

  it('warns of a silent source once for the time that it is silent', () => {
    const silent = { ...readyView(), warnings: ['metrics did not answer lately'] };
    expect(logged(readyView(), silent, silent)).toHaveLength(2);
  });
});
