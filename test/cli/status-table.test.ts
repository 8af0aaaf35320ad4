import { describe, expect, it } from 'vitest';
import { toAgreement, toMember } from '../../src/aggregator/fleet-messages.js';
import { renderSnapshot } from '../../src/cli/status-table.js';
import { TestFleet } from '../support/fleet.js';

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
  it('shows what is known of each cache, why it is not exact, and how requests are routed', () => {
    const fleet = new TestFleet({ isStaticDiscovery: true });
    fleet.list('w-0', 'w-1', 'w-2', 'w-3');
    for (const target of ['w-0', 'w-1', 'w-2', 'w-3']) fleet.report(target);
    fleet.pictured('w-0', 'exact');
    fleet.pictured('w-1', 'partial', 'unknown before sequence 12');
    fleet.mismatched('w-2', 16);
    const [head, titles, ...rows] = linesOf(fleet);
    expect(head).toBe('tiny: gate open, 32 tokens per block (agreed), epoch 1, ready, routing mixed');
    expect(titles).toMatch(/ REQUESTS +PICTURE +WHY$/);
    expect(rows[0]).toMatch(/^w-0 +conforming .* yes +exact$/);
    expect(rows[1]).toMatch(/^w-1 +conforming .* yes +partial +unknown before sequence 12$/);
    // What keeps it from requests matters more than what is known of its cache.
    expect(rows[2]).toMatch(/^w-2 +dissenting +16 +observed_event .* no +- +Worker w-2 has KV block size/);
    expect(rows[3]).toMatch(/^w-3 +conforming .* yes +-$/);
  });
});
