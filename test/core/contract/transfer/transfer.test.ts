import { describe, expect, it } from 'vitest';
import { transferOf } from '../../../../src/core/contract/transfer/transfer.js';
import { readReport } from '../../../../src/core/contract/worker-report.js';
import {
  type CapabilityReport,
  EvidenceSource,
  SideChannel_State,
  type Transfer,
  TransferMode,
  TransferRole,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../../support/reports.js';

function reportWith(transfer: Partial<Transfer>): CapabilityReport {
  return { ...makeWireReport('prefill-0'), transfer: { connector: '', sideChannels: [], ...transfer } };
}

describe('how an engine exchanges KV blocks, read from its report', () => {
  it('is nothing where the report says nothing', () => {
    expect(transferOf(makeWireReport('worker-0'))).toBeUndefined();
  });

  it('takes what is said, with what was asked for it, and leaves the rest absent', () => {
    const report = reportWith({
      connector: 'nixl',
      role: TransferRole.PRODUCER,
      mode: TransferMode.PULL,
      dtype: 'bfloat16',
      tokensPerBlock: 32,
      attentionBackend: '',
      sideChannels: [
        { dataParallelRank: 1, address: '10.0.0.1:5601', state: SideChannel_State.ANSWERED, reason: '' },
        {
          dataParallelRank: 0,
          address: '10.0.0.1:5600',
          state: SideChannel_State.SILENT,
          reason: 'silent\n5 s',
        },
      ],
    });
    report.evidence.push({
      field: 'transfer.dtype',
      source: EvidenceSource.ENGINE_HTTP,
      origin: 'GET http://10.0.0.1:8000/server_info',
      raw: 'dtype: torch.bfloat16',
      observedAt: new Date(0),
    });
    expect(transferOf(report)).toEqual({
      values: { connector: 'nixl', role: 'producer', mode: 'pull', dtype: 'bfloat16', tokens_per_block: 32 },
      sideChannels: [
        { dataParallelRank: 0, address: '10.0.0.1:5600', state: 'silent', reason: 'silent 5 s' },
        { dataParallelRank: 1, address: '10.0.0.1:5601', state: 'answered', reason: '' },
      ],
      origins: { dtype: 'GET http://10.0.0.1:8000/server_info' },
    });
  });

  it('takes no meaning from words of a newer peer', () => {
    const report = reportWith({
      role: 9 as TransferRole,
      mode: 9 as TransferMode,
      sideChannels: [{ dataParallelRank: 0, address: 'a:1', state: 9 as SideChannel_State, reason: '' }],
    });
    expect(transferOf(report)).toMatchObject({ values: {}, sideChannels: [{ state: 'unknown' }] });
  });

  it.each([
    ['a name that is too long', { connector: 'n'.repeat(513) }, 'transfer.connector has 513 characters'],
    [
      'a name with control characters',
      { engineId: 'a\u001b[2J' },
      'transfer.engine_id holds control characters',
    ],
    [
      'an address that is empty',
      { sideChannels: [{ dataParallelRank: 0, address: '', state: 1, reason: '' }] },
      'transfer.side_channels.address is empty',
    ],
    [
      'too many side channels',
      {
        sideChannels: Array.from({ length: 1_025 }, (_, dataParallelRank) => ({
          dataParallelRank,
          address: 'a:1',
          state: 1,
          reason: '',
        })),
      },
      'transfer.side_channels has 1025 entries',
    ],
    [
      'a reason that is too long',
      { sideChannels: [{ dataParallelRank: 0, address: 'a:1', state: 3, reason: 'r'.repeat(4_097) }] },
      'transfer.side_channels.reason has a text of 4097 characters',
    ],
  ] as [string, Partial<Transfer>, string][])('refuses a report with %s', (_what, transfer, problem) => {
    expect(readReport(reportWith(transfer))).toMatchObject({
      problems: [expect.stringContaining(problem)],
    });
  });
});
