import { describe, expect, it } from 'vitest';
import {
  CONTRACT_FIELDS,
  contractKey,
  contractValuesOf,
  firstDifference,
  mergeContracts,
  unverifiedFields,
} from '../../../src/core/contract/contract-values.js';
import { CapabilityReport, HashUnit } from '../../../src/gen/kvaccord/v1/capabilities.js';

describe('the values that are compared', () => {
  it('are those that the report states, and no others', () => {
    expect(contractValuesOf(CapabilityReport.fromPartial({}))).toEqual({});
    const report = CapabilityReport.fromPartial({
      contract: { tokensPerBlock: 32, hashUnit: HashUnit.BIGRAM, hashSeed: '' },
      model: { revision: 'main' },
    });
    expect(contractValuesOf(report)).toEqual({
      tokens_per_block: 32,
      hash_unit: 'bigram',
      model_revision: 'main',
    });
  });

  it('name the GPU products of a worker in one order, each once', () => {
    const gpus = ['H200', 'A100', 'H200', ''].map((productName) => ({ productName }));
    expect(contractValuesOf(CapabilityReport.fromPartial({ topology: { gpus } }))).toEqual({
      gpu_product: 'A100 + H200',
    });
  });

  it('differ only where both sides know (A5)', () => {
    const a = { tokens_per_block: 32, hash_seed: 'x' };
    expect(firstDifference(a, { tokens_per_block: 32 }, CONTRACT_FIELDS)).toBeUndefined();
    expect(firstDifference(a, { tokens_per_block: 16 }, CONTRACT_FIELDS)).toBe('tokens_per_block');
    expect(firstDifference(a, { hash_seed: 'y' }, CONTRACT_FIELDS)).toBe('hash_seed');
  });

  it('tell the fields that one side cannot say', () => {
    const reference = { tokens_per_block: 32, hash_seed: 'x' };
    expect(unverifiedFields({ tokens_per_block: 32 }, reference, CONTRACT_FIELDS)).toEqual(['hash_seed']);
  });

  it('merge with the first side winning', () => {
    expect(mergeContracts({ tokens_per_block: 32 }, { tokens_per_block: 16, hash_seed: 'x' })).toEqual({
      tokens_per_block: 32,
      hash_seed: 'x',
    });
  });

  it('have one key for each set, in which a number is not the text of it', () => {
    const key = contractKey({ hash_seed: '0' }, CONTRACT_FIELDS);
    expect(contractKey({ hash_seed: '0' }, CONTRACT_FIELDS)).toBe(key);
    expect(contractKey({ hash_seed: 0 }, CONTRACT_FIELDS)).not.toBe(key);
    expect(contractKey({ hash_algorithm: '0' }, CONTRACT_FIELDS)).not.toBe(key);
  });
});
