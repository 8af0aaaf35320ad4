import { describe, expect, it } from 'vitest';
import { CapabilityReport, HashUnit } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { rehashAbility } from '../../../../src/worker/sidecar/kv-events/rehash-ability.js';

type Contract = Parameters<typeof CapabilityReport.fromPartial>[0]['contract'];

function ability(contract: Contract, endpoint = 'tcp://127.0.0.1:5557'): string {
  const report = CapabilityReport.fromPartial({
    contract: { tokensPerBlock: 16, ...contract },
    kvEventSources: [{ transport: 'zmq', endpoint }],
  });
  const { isPossible, reason } = rehashAbility({ from: 'engine' }, report);
  return isPossible ? 'possible' : reason;
}

describe('whether the blocks of an engine can be re-hashed', () => {
  it('is so for one group of full attention whose events are published', () => {
    expect(ability({})).toBe('possible');
    expect(ability({ hashUnit: HashUnit.TOKEN, hitAlignmentTokens: 16, dropsLastHitBlock: false })).toBe(
      'possible',
    );
  });

  it('is not so where hits depend on more than whole blocks of the prompt, and the reason says on what', () => {
    expect(ability({ cacheGroups: [{ index: 0 }, { index: 1 }] })).toContain('KV cache groups');
    expect(ability({ hashUnit: HashUnit.BIGRAM })).toContain('pairs of tokens');
    expect(ability({ dropsLastHitBlock: true })).toContain('takes the last block off every hit');
    expect(ability({ speculativeDecoding: true })).toContain('decodes speculatively');
    expect(ability({ hitAlignmentTokens: 64 })).toContain('multiples of 64 tokens');
  });

  it('is not so where the events are not read, or could not be read once more', () => {
    expect(rehashAbility(undefined, CapabilityReport.fromPartial({}))).toEqual({
      isPossible: false,
      reason: 'its sidecar reads no KV events (--kv-event-sources off)',
    });
    expect(rehashAbility({ from: 'engine' }, CapabilityReport.fromPartial({})).reason).toContain(
      'names no source',
    );
    const bound = { kind: 'zmq', rank: 0, endpoint: '@tcp://*:5557', topic: '' } as const;
    const settings = { from: 'operator', sources: [bound] } as const;
    expect(rehashAbility(settings, CapabilityReport.fromPartial({})).reason).toContain(
      'bound by its sidecar',
    );
  });
});
