import { describe, expect, it } from 'vitest';
import {
  probeAnswersOf,
  TOKEN_FIELDS,
  tokenValuesOf,
  whereAnswersDiffer,
} from '../../../../src/core/contract/tokens/token-answers.js';
import {
  PROBE_PROMPTS,
  packTokenIds,
  unpackTokenIds,
} from '../../../../src/core/contract/tokens/token-probes.js';
import {
  type CapabilityReport,
  EngineKind,
  type TokenProbe,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../../support/reports.js';

function probe(name: string, ids: readonly number[], more: Partial<TokenProbe> = {}): TokenProbe {
  const tokenIds = Buffer.from(packTokenIds(Uint32Array.from(ids)));
  const sha256 = Buffer.alloc(32, ids.length + 1);
  return { name, sha256, tokenCount: ids.length, tokenIds, isRefused: false, isUndated: false, ...more };
}

function reportOf(probes: TokenProbe[], kind: EngineKind = EngineKind.VLLM): CapabilityReport {
  const report = makeWireReport('w');
  if (report.engine !== undefined) report.engine.kind = kind;
  if (report.model !== undefined) report.model.tokenProbes = probes;
  return report;
}

describe('the tokens of fixed prompts in a contract', () => {
  it('pack and unpack as they were', () => {
    const ids = [0, 1, 255, 70_000, 2 ** 32 - 1];
    expect([...unpackTokenIds(packTokenIds(Uint32Array.from(ids)))]).toEqual(ids);
    expect([...unpackTokenIds(new Uint8Array([1, 0, 0, 0, 9]))]).toEqual([1]);
  });

  it('have a name each, and prompts that are not empty', () => {
    const names = PROBE_PROMPTS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((name) => /^[a-z_]+$/.test(name))).toBe(true);
    expect(new Set(TOKEN_FIELDS).size).toBe(TOKEN_FIELDS.length);
  });

  it('are compared between kinds of engines where no engine shapes the prompt, and within a kind else', () => {
    const probes = [probe('message', [1, 2]), probe('tools', [3])];
    const vllm = tokenValuesOf(reportOf(probes));
    const sglang = tokenValuesOf(reportOf(probes, EngineKind.SGLANG));
    expect(Object.keys(vllm)).toEqual([
      'tokens.message',
      'tokens.message.vllm',
      'tokens.tools',
      'tokens.tools.vllm',
    ]);
    expect(sglang['tokens.message']).toBe(vllm['tokens.message']);
    const compared = Object.keys(sglang).filter((field) => TOKEN_FIELDS.includes(field as never));
    expect(compared).toEqual(['tokens.message', 'tokens.message.sglang', 'tokens.tools.sglang']);
  });

  it('are unknown where nothing was said, where a probe is not known here, and where a digest is none', () => {
    expect(tokenValuesOf(reportOf([]))).toEqual({});
    expect(tokenValuesOf(reportOf([probe('of_a_later_version', [1])]))).toEqual({});
    expect(tokenValuesOf(reportOf([probe('message', [1], { sha256: Buffer.from('short') })]))).toEqual({});
  });

  it('of a refusal say so for engines of the same kind alone', () => {
    const refused = tokenValuesOf(reportOf([probe('message', [], { isRefused: true })]));
    expect(refused).toEqual({ 'tokens.message.vllm': 'refused' });
  });

  it('of a template that writes the date are no tokens of one that does not', () => {
    const one = tokenValuesOf(reportOf([probe('message', [1])]));
    const other = tokenValuesOf(reportOf([probe('message', [1], { isUndated: true })]));
    expect(other['tokens.message']).not.toBe(one['tokens.message']);
  });

  it('differ at the first position that is known of both', () => {
    const of = (
      ids: readonly number[],
      more: Partial<TokenProbe> = {},
    ): ReturnType<typeof probeAnswersOf>[number] =>
      probeAnswersOf(reportOf([probe('text', ids, more)]))[0] as never;
    expect(whereAnswersDiffer(of([1, 2, 3]), of([1, 5, 3]))).toEqual({ position: 1, one: 2, other: 5 });
    expect(whereAnswersDiffer(of([1, 2]), of([1, 2, 3]))).toEqual({ position: 2, one: undefined, other: 3 });
    expect(whereAnswersDiffer(of([1, 2]), of([1, 2]))).toBeUndefined();
    // Cut off on both sides before they differ.
    const cut = { tokenCount: 5_000 };
    expect(whereAnswersDiffer(of([1, 2], cut), of([1, 2], { tokenCount: 6_000 }))).toBeUndefined();
    expect(whereAnswersDiffer(of([1]), of([], { isRefused: true }))).toBeUndefined();
    expect(whereAnswersDiffer(of([1]), of([2], { isUndated: true }))).toBeUndefined();
  });
});
