import { describe, expect, it } from 'vitest';
import { renderReport } from '../../../../src/cli/commands/status/report-table.js';
import {
  SideChannel_State,
  TransferMode,
  TransferRole,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../../support/reports.js';

describe('the transfer of KV blocks in the table of one report', () => {
  it('is a row, and one for each side channel, on one line whatever they hold', () => {
    const table = renderReport({
      ...makeWireReport('prefill-0'),
      transfer: {
        connector: 'nixl',
        role: TransferRole.PRODUCER,
        mode: TransferMode.PULL,
        compatibilityHash: 'c80b58ca062bbae707cb644e',
        sideChannels: [
          { dataParallelRank: 0, address: '10.0.0.1:5600', state: SideChannel_State.ANSWERED, reason: '' },
          {
            dataParallelRank: 1,
            address: '10.0.0.1:5601',
            state: SideChannel_State.SILENT,
            reason: 'no answer\u001b[2J\nworker  evil',
          },
        ],
      },
    });
    expect(table).toMatch(/KV transfer +nixl, producer, pull, hash c80b58ca062b\n/);
    expect(table).toMatch(/side channel +10\.0\.0\.1:5600 answered\n/);
    expect(table).toMatch(/side channel +rank 1: 10\.0\.0\.1:5601 silent: no answer.+worker +evil\n/);
    expect(table).not.toContain('\u001b');
  });

  it('is left out where the report has none', () => {
    expect(renderReport(makeWireReport('worker-0'))).not.toContain('KV transfer');
  });
});
