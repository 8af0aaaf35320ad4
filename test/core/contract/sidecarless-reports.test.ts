import { describe, expect, it } from 'vitest';
import { fieldFact } from '../../../src/core/contract/evidence/facts.js';
import {
  type SidecarlessKnowledge,
  SidecarlessReports,
} from '../../../src/core/contract/sidecarless-reports.js';
import { BlockSizeKind, EngineState, EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';

/** What is known of a ready worker of one block size; `raw` is the words that proved it. */
function known(
  sizeTokens: number,
  instanceId = 'i-1',
  raw = `block_size: ${sizeTokens}`,
): SidecarlessKnowledge {
  const evidence = { source: EvidenceSource.ENGINE_CONFIG, origin: 'card', raw, observedAtMs: 0 };
  const size = { kind: BlockSizeKind.KV_EVENT, sizeTokens };
  return {
    instanceId,
    problem: undefined,
    facts: [
      fieldFact('model.served_names', ['tiny'], evidence),
      { type: 'block_size', size, forContract: true, evidence },
    ],
    warnings: [],
  };
}

function reports(knowledge: SidecarlessKnowledge): SidecarlessReports {
  return new SidecarlessReports({ workerId: 'w-1', sidecarVersion: '' }, knowledge, 5);
}

/** `instance revision size` of the report to give. */
function seen({ current }: SidecarlessReports): string {
  return [current.instanceId, current.revision, current.contract?.tokensPerBlock].join(' ');
}

describe('the reports of a worker without a sidecar', () => {
  it('begin at revision 1, with the time at which the first was made', () => {
    const made = reports(known(16));
    expect(seen(made)).toBe('i-1 1 16');
    expect(made.current.observedAt).toEqual(new Date(5));
  });

  it('have another revision when the substance changes, and none for the same in other words', () => {
    const made = reports(known(16));
    const first = made.current;
    expect(made.renew(known(16), 6)).toBe(false);
    expect(made.renew(known(16, 'i-1', 'the same in other words'), 7)).toBe(false);
    expect(made.current).toBe(first);
    expect(made.renew(known(32), 8)).toBe(true);
    expect(seen(made)).toBe('i-1 2 32');
    expect(made.renew(known(16), 9)).toBe(true);
    expect(seen(made)).toBe('i-1 3 16');
  });

  it('begin again with another instance, even if that one is the same otherwise', () => {
    const made = reports(known(16));
    made.renew(known(32), 6);
    expect(made.renew(known(32, 'i-2'), 7)).toBe(true);
    expect(seen(made)).toBe('i-2 1 32');
  });

  it('say that the engine starts, and why, as long as there is a problem', () => {
    const made = reports({ ...known(16), problem: 'no card' });
    expect(made.current.engine?.state).toBe(EngineState.STARTING);
    expect(made.current.completeness?.reasons).toEqual(['no card']);
    expect(made.renew(known(16), 6)).toBe(true);
    expect(made.current.engine?.state).toBe(EngineState.READY);
    expect(made.current.completeness?.reasons).toEqual([]);
  });
});
