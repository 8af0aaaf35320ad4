import { describe, expect, it } from 'vitest';
import { EngineKind } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { SourceResult } from '../../../../src/worker/sidecar/probing/probe-round.js';
import { EMPTY_MEMORY, rememberRound } from '../../../../src/worker/sidecar/probing/source-memory.js';

const result = (origin: string, outcome: SourceResult['outcome']): SourceResult => ({
  probe: 'scripted',
  origin,
  engineKind: EngineKind.VLLM,
  durationMs: 1,
  outcome,
});
const answered: SourceResult['outcome'] = { type: 'answered', facts: [], warnings: [] };
const failed: SourceResult['outcome'] = { type: 'failed', code: 'bad_answer', message: 'no gRPC' };
const HTTP = result('GET http://127.0.0.1:8000/metrics', answered);

describe("an engine's gRPC that was named", () => {
  it('is warned of where nothing answers there, though the engine says all by HTTP', () => {
    const { warnings } = rememberRound(EMPTY_MEMORY, [
      HTTP,
      result('gRPC 127.0.0.1:50051/vllm.a.A', failed),
      result('gRPC 127.0.0.1:50051/vllm.b.B', { ...failed, code: 'not_here' }),
    ]);
    expect(warnings).toEqual([
      "nothing that an engine's gRPC answers came from 127.0.0.1:50051; name the engine's own gRPC by --engine-grpc, or leave it out",
    ]);
  });

  it('may have one service of several, or be named nowhere', () => {
    const one = [
      HTTP,
      result('gRPC 127.0.0.1:50051/vllm.a.A', failed),
      result('gRPC 127.0.0.1:50051/vllm.b.B', answered),
    ];
    expect(rememberRound(EMPTY_MEMORY, one).warnings).toEqual([]);
    expect(rememberRound(EMPTY_MEMORY, [HTTP]).warnings).toEqual([]);
  });

  it('that fell silent is said to be silent, and not asked to be another address', () => {
    const at = 'gRPC 127.0.0.1:50051/vllm.b.B';
    const { memory } = rememberRound(EMPTY_MEMORY, [HTTP, result(at, answered)]);
    expect(rememberRound(memory, [HTTP, result(at, failed)]).warnings).toEqual([
      `scripted (${at}) did not answer lately; what was last known is kept for now`,
    ]);
  });
});
