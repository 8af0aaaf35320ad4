import { describe, expect, it } from 'vitest';
import { Capacity } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { Agreement, AgreementState, Member, MemberState } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { fleetPart, sidecarPart } from '../../../../src/tools/doctor/gather/fleet.js';
import { makeWireReport } from '../../../support/reports.js';

const ADDRESS = '10.0.0.1:50060';

describe('a live fleet', () => {
  it('reports which worker keeps no prefix cache', () => {
    const report = makeWireReport('a');
    report.capacity = Capacity.fromPartial({ ...report.capacity, prefixCaching: false });
    expect(sidecarPart(ADDRESS, report).settings).toContainEqual(
      expect.objectContaining({ side: 'worker', who: 'a', name: 'prefix_caching', value: 'false' }),
    );
    expect(sidecarPart(ADDRESS, makeWireReport('a')).settings).not.toContainEqual(
      expect.objectContaining({ name: 'prefix_caching' }),
    );
  });

  it('reports its agreement, its members and the sizes of their reports', () => {
    const agreement = Agreement.create({
      group: 'tiny',
      state: AgreementState.CONFLICT,
      reasons: [{ code: 'x', text: 'A4: two sizes, token=hf_secretsecret' }],
      members: [
        Member.create({
          target: '10.0.0.2:50061',
          workerId: 'a',
          state: MemberState.DISSENTING,
          tokensPerBlock: 32,
        }),
        Member.create({
          target: '10.0.0.3:50061',
          state: MemberState.LOST,
          reason: 'no route',
        }),
      ],
      routingMode: 'closed',
    });
    const worker = { group: 'tiny', member: undefined, report: makeWireReport('a', { declares: 16 }) };
    const part = fleetPart(ADDRESS, [agreement], [worker]);
    expect(part.source).toMatchObject({ kind: 'fleet', name: ADDRESS, status: 'read' });
    expect(part.fleets).toMatchObject([
      {
        group: 'tiny',
        state: 'conflict',
        gateOpen: false,
        tokensPerBlock: undefined,
        routingMode: 'closed',
        members: [
          { worker: 'a', state: 'dissenting', tokensPerBlock: 32 },
          { worker: '10.0.0.3:50061', state: 'lost', reason: 'no route' },
        ],
      },
    ]);
    expect(part.sizes?.map(({ who, tokensPerBlock, basis }) => [who, tokensPerBlock, basis])).toEqual([
      ['a', 32, 'in_use'],
      ['a', 16, 'declared'],
    ]);
    expect(JSON.stringify(part)).not.toContain('hf_secret');
  });

  it('of one sidecar is its report', () => {
    const part = sidecarPart('10.0.0.2:50061', makeWireReport('w-7', { declares: 16 }));
    expect(part.fleets).toMatchObject([
      {
        state: 'reported',
        tokensPerBlock: 32,
        routingMode: undefined,
        members: [{ worker: 'w-7', tokensPerBlock: 32, declaredTokensPerBlock: 16 }],
      },
    ]);
    expect(part.source.detail).toBe('sidecar of w-7, 32 tokens per block');
  });
});
