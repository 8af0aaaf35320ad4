import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readReport } from '../../../src/core/contract/worker-report.js';
import { CapabilityReport, EvidenceSource } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { makeWireReport } from '../../support/reports.js';

/** Later than any date: seconds as the wire carries them. */
const NEVER = new Date(Number.NaN);

/** The same bytes again, as those have them who read a report. */
function sent(report: CapabilityReport): CapabilityReport {
  return CapabilityReport.decode(CapabilityReport.encode(report).finish());
}

describe('a report from outside', () => {
  it('is believed as sidecars send it', () => {
    expect(readReport(sent(makeWireReport('w-1', {})))).toMatchObject({ workerId: 'w-1', usable: true });
  });

  it.each([
    ['observed_at', (report: CapabilityReport) => ({ ...report, observedAt: NEVER })],
    [
      'evidence.observed_at',
      (report: CapabilityReport) => ({
        ...report,
        evidence: report.evidence.map((entry) => ({ ...entry, observedAt: NEVER })),
      }),
    ],
  ])('is refused with a time that no clock shows in %s', (field, change) => {
    const report = change(sent(makeWireReport('w-1', {})));
    expect(readReport(report)).toEqual({ problems: [`${field} is no time that there is`] });
  });

  it.each([
    [EvidenceSource.OBSERVED_EVENT, EvidenceSource.DECLARED, 16],
    [EvidenceSource.OBSERVED_EVENT, EvidenceSource.ENGINE_CONFIG, 16],
    [EvidenceSource.OBSERVED_EVENT, EvidenceSource.ENGINE_HTTP, undefined],
    [EvidenceSource.ENGINE_METRICS, EvidenceSource.DECLARED, 16],
    [EvidenceSource.ENGINE_METRICS, EvidenceSource.ENGINE_CONFIG, undefined],
  ])('V4: kept by source %d against source %d declares %d', (keptSource, otherSource, declares) => {
    const report = makeWireReport('w-1', { declares: 16 });
    const conflicts = report.conflicts.map((conflict) => ({ ...conflict, keptSource, otherSource }));
    expect(readReport(sent({ ...report, conflicts }))).toMatchObject({
      declared: declares === undefined ? undefined : { tokensPerBlock: declares, origin: 'its model card' },
    });
  });

  it('can be written and shown again once it is believed, whatever bytes it came in', () => {
    const good = CapabilityReport.encode(makeWireReport('w-1', {})).finish();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat({ max: good.length - 1 }), fc.nat({ max: 255 })), { maxLength: 4 }),
        fc.uint8Array({ maxLength: 40 }),
        (changes, more) => {
          const bytes = Buffer.concat([good, more]);
          for (const [at, value] of changes) bytes[at] = value;
          let report: CapabilityReport;
          try {
            report = CapabilityReport.decode(bytes);
          } catch {
            return; // No message at all: gRPC ends such a stream.
          }
          if ('problems' in readReport(report)) return;
          CapabilityReport.encode(report).finish();
          JSON.stringify(CapabilityReport.toJSON(report));
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
