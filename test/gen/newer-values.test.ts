import { describe, expect, it } from 'vitest';
import {
  CapabilityReport,
  type EngineKind,
  type EngineRole,
} from '../../src/gen/kvaccord/v1/capabilities.js';
import { type MemberState, Worker } from '../../src/gen/kvaccord/v1/fleet.js';

describe('a value of an enumeration that a newer peer has', () => {
  it('is its number in JSON, as proto3 has it, and takes nothing else away', () => {
    const report = CapabilityReport.fromPartial({
      workerId: 'w-1',
      engine: { kind: 98 as EngineKind, role: 99 as EngineRole },
    });
    const member = { target: 'a:1', state: 97 as MemberState };
    expect(Worker.toJSON(Worker.fromPartial({ group: 'tiny', member, report }))).toMatchObject({
      group: 'tiny',
      member: { target: 'a:1', state: 97 },
      report: { workerId: 'w-1', engine: { kind: 98, role: 99 } },
    });
  });
});
