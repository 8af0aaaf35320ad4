import { describe, expect, it } from 'vitest';
import { renderSnapshot } from '../../../../src/cli/commands/status/workers-table.js';
import { UNKNOWN_SHARE } from '../../../../src/core/contract/topology/unknown-share.js';
import { toAgreement, toMember } from '../../../../src/fleet/aggregator/service/fleet-messages.js';
import { CapabilityReport, EngineRole } from '../../../../src/gen/kvaccord/v1/capabilities.js';
import { Agreement, MemberOffer, MemberState, Worker } from '../../../../src/gen/kvaccord/v1/fleet.js';
import { TestFleet } from '../../../support/fleet.js';

/** What `status` prints of a fleet that a test drives by hand. */
function linesOf(fleet: TestFleet): string[] {
  const view = fleet.group();
  const workers = view.members.map((member) => ({
    group: view.group,
    member: toMember(member),
    report: undefined,
  }));
  return renderSnapshot({ type: 'aggregator', agreements: [toAgreement(view, 0)], workers }).split('\n');
}

describe('the table of a fleet', () => {
  // Worst first: w-2, which gets no requests, is on top.
  it('shows what is known of each cache, why it is not exact, and how requests are routed', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-0', 'w-1', 'w-2', 'w-3');
    for (const target of ['w-0', 'w-1', 'w-2', 'w-3']) fleet.report(target);
    fleet.cacheViewChanged('w-0', 'exact');
    fleet.cacheViewChanged('w-1', 'partial', 'unknown before sequence 12');
    fleet.mismatched('w-2', 16);
    const [head, titles, ...rows] = linesOf(fleet);
    expect(head).toBe('tiny: gate open, 32 tokens per block (agreed), epoch 1, ready, routing mixed');
    expect(titles).toMatch(/ REQUESTS +CACHE VIEW +WHY$/);
    expect(rows[1]).toMatch(/^w-0 +conforming .* yes +exact$/);
    expect(rows[2]).toMatch(/^w-1 +conforming .* yes +partial +unknown before sequence 12$/);
    // What keeps it from requests matters more than what is known of its cache.
    expect(rows[0]).toMatch(/^w-2 +dissenting +16 +observed_event .* no +- +Worker w-2 has KV block size/);
    expect(rows[3]).toMatch(/^w-3 +conforming .* yes +-$/);
  });
});

describe('the table of a fleet of many', () => {
  const cure = `${'Its block size contradicts the fleet. '.repeat(20)}Restart it with --block-size 32.`;
  const fleetOf = (count: number, bad: readonly string[]): Worker[] =>
    Array.from({ length: count }, (_, at) => {
      const target = `w-${String(at).padStart(3, '0')}`;
      const isBad = bad.includes(target);
      return Worker.fromPartial({
        member: isBad
          ? {
              target,
              state: MemberState.DISSENTING,
              reason: cure,
              offer: MemberOffer.NONE,
            }
          : { target, state: MemberState.CONFORMING, offer: MemberOffer.FULL },
      });
    });
  const render = (columns?: number): string =>
    renderSnapshot(
      {
        type: 'aggregator',
        agreements: [Agreement.fromPartial({})],
        workers: fleetOf(500, ['w-499', 'w-250']),
      },
      columns,
    );

  it('has those first that are kept out, and never shortens what to do about it', () => {
    const rows = render().trimEnd().split('\n').slice(2);
    expect(rows).toHaveLength(500);
    expect(rows.slice(0, 3).map((row) => row.split(' ')[0])).toEqual(['w-250', 'w-499', 'w-000']);
    expect(rows[0]).toContain(cure);
  });

  it.each([40, 60, 80, 120])('fits %i columns, with the whole reason below its worker', (columns) => {
    const lines = render(columns).split('\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines[2]).toMatch(/^w-250 +dissenting/);
    expect(lines.join(' ').replace(/\s+/g, ' ')).toContain(cure);
  });
});

describe('the GPUs of a worker', () => {
  const gpusOf = (...notes: string[]): string =>
    renderSnapshot({
      type: 'sidecar',
      report: CapabilityReport.fromPartial({
        topology: { gpus: [{ productName: 'H100' }, { productName: 'H100' }], notes },
      }),
    });

  it('are some of those that are seen, where it is not known which, and the note says what to do', () => {
    const note = `${UNKNOWN_SHARE}; --engine-devices`;
    expect(gpusOf(note)).toMatch(/^GPUs +some of 2 x H100$/m);
    expect(gpusOf(note)).toContain(`topology: ${note}`);
    expect(gpusOf()).toMatch(/^GPUs +2 x H100$/m);
  });
});

describe('the role of a worker', () => {
  const workerOf = (workerId: string, role: EngineRole | undefined): Worker =>
    Worker.fromPartial({
      member: { target: workerId },
      report: { workerId, engine: role === undefined ? {} : { role } },
    });
  const rowsOf = (...workers: Worker[]): string[] =>
    renderSnapshot({ type: 'aggregator', agreements: [Agreement.fromPartial({})], workers })
      .trimEnd()
      .split('\n')
      .slice(1);

  it('is shown for all workers as soon as one computes only a part of each request', () => {
    const [titles, ...rows] = rowsOf(
      workerOf('a', EngineRole.PREFILL),
      workerOf('b', EngineRole.AGGREGATED),
      workerOf('c', undefined),
    );
    const column = titles?.indexOf('ROLE') ?? -1;
    expect(rows.map((row) => row.slice(column).split(' ')[0])).toEqual(['prefill', 'aggregated', '-']);
  });

  it('is left out where all compute whole requests', () => {
    const [titles] = rowsOf(workerOf('a', EngineRole.AGGREGATED), workerOf('b', undefined));
    expect(titles).not.toContain('ROLE');
  });

  it("is in a sidecar's own report where it is none of the usual", () => {
    const of = (role: EngineRole): string =>
      renderSnapshot({ type: 'sidecar', report: CapabilityReport.fromPartial({ engine: { role } }) });
    expect(of(EngineRole.DECODE)).toMatch(/^role +decode$/m);
    expect(of(EngineRole.AGGREGATED)).not.toMatch(/^role/m);
  });
});
