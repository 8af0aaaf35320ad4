import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/edge/platform/data/json-object.js';
import { readModelCard } from '../../../src/engines/dynamo/model-card.js';
import { EngineRole, EvidenceSource, TransferRole } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { fieldValues } from '../probing/probe-run.js';
import { recording } from '../probing/recorded-engine.js';

function read(text: string) {
  return readModelCard(JSON.parse(text) as JsonObject, {
    source: EvidenceSource.DECLARED,
    origin: 'file card',
    observedAtMs: 0,
    instanceId: 'a1',
    adapters: [],
  });
}

describe('the transfer of KV blocks in recorded cards of Dynamo 1.6.1', () => {
  it('is the role of a prefill worker, and where its bootstrap server is', () => {
    const { facts, warnings } = read(recording('dynamo-1.6.1/model-card.prefill.json'));
    expect(fieldValues(facts, 'engine.role')).toEqual([EngineRole.PREFILL]);
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.PRODUCER]);
    expect(fieldValues(facts, 'transfer.connector')).toEqual([]);
    expect(fieldValues(facts, 'transfer.side_channels')).toMatchObject([[{ address: '127.0.0.1:28998' }]]);
    expect(warnings).toEqual([]);
  });

  it('is the role alone of a decode worker, and nothing of one that computes all', () => {
    const { facts } = read(recording('dynamo-1.6.1/model-card.decode.json'));
    expect(fieldValues(facts, 'transfer.role')).toEqual([TransferRole.CONSUMER]);
    expect(fieldValues(facts, 'transfer.side_channels')).toEqual([]);
    const whole = read(recording('dynamo-1.6.1/model-card.verbatim.json'));
    expect(fieldValues(whole.facts, 'transfer.role')).toEqual([]);
  });

  it('has no address that none can be', () => {
    const text = recording('dynamo-1.6.1/model-card.prefill.json').replace('28998', '70000');
    const { facts, warnings } = read(text);
    expect(fieldValues(facts, 'transfer.side_channels')).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining('bootstrap_port: 70000')]);
  });
});
