import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Evidence, FleetSighting } from '../../../../src/tools/doctor/evidence.js';
import { statusCommand } from '../../../../src/tools/doctor/fixes/status-command.js';
import { seenIn } from '../../../../src/tools/doctor/measurements/seen.js';
import { CASES } from '../support/cases.js';
import { joined, settingOf } from '../support/evidence.js';

const ADDRESS = '10.0.0.9:7000';

function askedAt(place: string, routingMode?: string): FleetSighting {
  return {
    group: 'tiny',
    state: routingMode === undefined ? 'reported' : 'agreed',
    gateOpen: true,
    tokensPerBlock: 16,
    routingMode,
    reasons: [],
    members: [
      { worker: 'w-1', state: 'reported', reason: '', tokensPerBlock: 16, declaredTokensPerBlock: undefined },
    ],
    origin: { place, text: 'asked' },
  };
}

/** Each line of the cures that shows a `kv-accord status`. */
function shownBy(evidence: Evidence): readonly string[] {
  return diagnose(evidence)
    .assessments.flatMap(({ fixes }) => fixes)
    .flatMap(({ says, commands, verify }) => [says, ...commands, ...verify])
    .filter((text) => text.includes('kv-accord status'));
}

describe('kv-accord status in a cure', () => {
  it('names the address of the aggregator that was asked, whatever the cause', () => {
    const shown = CASES.flatMap(({ evidence }) =>
      shownBy({ ...evidence, fleets: [askedAt('10.0.0.8:50061'), askedAt(ADDRESS, 'load_only')] }),
    ).filter((text) => !text.includes('kv-accord status 10.0.0.8:50061    # canary'));
    expect(new Set(shown).size).toBeGreaterThan(5);
    expect(shown.filter((text) => !/kv-accord status (?:--\w+ )?10\.0\.0\.9:7000/.test(text))).toEqual([]);
  });

  it('names the sidecar whose canary failed, where that one was asked', () => {
    const canary = { settings: [settingOf('worker', 'canary', 'failed', { who: 'w-1' })] };
    expect(shownBy(joined(canary, { fleets: [askedAt(ADDRESS)] }))).toContain(
      `kv-accord status ${ADDRESS}    # canary: passed`,
    );
    expect(shownBy(joined(canary, { fleets: [askedAt(ADDRESS, 'exact')] }))).toContain(
      'kv-accord status SIDECAR    # canary: passed',
    );
  });

  it('names none of several sidecars, and nothing where nobody was asked', () => {
    for (const fleets of [[], [askedAt('a:1'), askedAt('b:1')]])
      expect(statusCommand(seenIn(joined({ fleets })))).toBe('kv-accord status');
  });

  it('is one command of a shell, whatever the address has', () => {
    expect(statusCommand({ statusAddress: '[::1]:7000' }, '--routing')).toBe(
      "kv-accord status --routing '[::1]:7000'",
    );
    expect(statusCommand({ statusAddress: 'unix:/run/a b' })).toBe("kv-accord status 'unix:/run/a b'");
  });
});
