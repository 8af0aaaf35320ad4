/**
 * Events per second of the agreement, at fleets of several sizes. What an
 * event costs must not grow with the fleet; the last column says by how much
 * it does, against the smallest fleet of the same run.
 */

import { reduce } from '../src/core/agreement/reduce.js';
import type { AgreementEvent } from '../src/core/agreement/state/events.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../src/core/agreement/state/options.js';
import { createAgreement } from '../src/core/agreement/state/state.js';
import { seededRandom } from '../src/edge/platform/random.js';
import { makeReport } from '../test/support/fleet.js';

const EVENTS = 200_000;
const FLEETS = [100, 1_000, 10_000];

/** What a running fleet sends: mostly heartbeats and duplicates, some news, some blips, a few dissenters. */
function makeEvents(targets: readonly string[], random: () => number): AgreementEvent[] {
  const instances = new Map<string, number>();
  const revisions = new Map<string, number>();
  return Array.from({ length: EVENTS }, () => {
    const target = targets[Math.floor(random() * targets.length)] as string;
    const dice = random();
    if (dice < 0.3) return { type: 'alive', target };
    if (dice < 0.35) return { type: 'broken', target, reason: 'connection reset' };
    if (dice < 0.4) instances.set(target, (instances.get(target) ?? 1) + 1);
    const revision = (revisions.get(target) ?? 1) + (dice < 0.7 ? 1 : 0);
    revisions.set(target, revision);
    const instance = `${target}-${instances.get(target) ?? 1}`;
    // Whether it dissents belongs to the instance, as in a fleet with some workers set up wrongly.
    const size = (instances.get(target) ?? 1) % 10 === 0 ? 64 : 32;
    return { type: 'report', target, report: makeReport(target, { size, instance, revision }) };
  });
}

function measure(size: number): { perSecond: number; agreeMs: number } {
  const targets = Array.from({ length: size }, (_, index) => `worker-${index}`);
  const events = makeEvents(targets, seededRandom(42).fraction);
  const state = createAgreement({ ...DEFAULT_AGREEMENT_OPTIONS, isStaticDiscovery: true });
  const reports = targets.map((target) => makeReport(target, {}));

  const collectStart = performance.now();
  reduce(state, { type: 'listed', members: targets.map((target) => ({ target, draining: false })) }, 0);
  for (const [index, target] of targets.entries()) {
    reduce(state, { type: 'report', target, report: reports[index] as (typeof reports)[number] }, 1);
  }
  const agreeMs = performance.now() - collectStart;
  if ([...state.groups.values()][0]?.phase.state !== 'agreed') throw new Error('the fleet did not agree');

  const start = performance.now();
  for (const [index, event] of events.entries()) {
    const nowMs = 2 + index / 100;
    reduce(state, event, nowMs);
  }
  return { perSecond: EVENTS / ((performance.now() - start) / 1_000), agreeMs };
}

measure(100); // warms the code up
let smallest: number | undefined;
console.log('agreement reducer, 200,000 mixed events, seed 42');
for (const size of FLEETS) {
  const { perSecond, agreeMs } = measure(size);
  smallest ??= perSecond;
  console.log(
    `${String(size).padStart(6)} members: ${Math.round(perSecond).toLocaleString('en-US').padStart(10)} events/s, ` +
      `${(smallest / perSecond).toFixed(2)}x the cost per event at ${FLEETS[0]} members; from the list to agreement ${agreeMs.toFixed(1)} ms`,
  );
}
