import type { ClueFor } from '../confidence.js';
import { hitChecks } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { engineReuses, findsBlocks, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse, isTrue } from '../measurements/setting-values.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import { closeRouter } from './routing-clues.js';

/** The router is configured not to use the events that workers publish. */
export const eventsIgnored: Cause = {
  id: 'events_ignored',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { evidence, engineHits, routerHits } = measurements;
    const [off] = measurements.runtimeSettings('router_uses_events').filter(({ value }) => isFalse(value));
    const [publisher] = measurements
      .runtimeSettings('publishes_kv_events')
      .filter(({ value }) => isTrue(value));
    const findings = evidence.findings.filter(({ ruleId }) => ruleId === 'events-ignored');
    const foundShare = findsBlocks(measurements)?.share ?? 0;
    const reused = engineReuses(measurements);
    const isWorse = reused !== undefined && foundShare < reused.share / 2 && routerHits.length > 0;
    const cluesFor: readonly ClueFor[] = [
      ...when(publisher !== undefined && off, ({ origin }) => [
        clueFor(isWorse ? 'proof' : 'signature', 'The router is configured not to read KV events.', origin),
        clueFor('sign', 'Workers publish them.', publisher?.origin),
      ]),
      ...findings.map((finding) => findingClue(finding, isWorse ? 'signature' : 'sign')),
      ...when(isWorse && (off !== undefined || findings.length > 0) && reused, ({ share, origin }) =>
        clueFor(
          'sign',
          `The router expects ${percent(foundShare)} to be cached, and engines have ${percent(share)}.`,
          origin,
          'router_blind',
        ),
      ),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline: 'KV events are ignored: workers publish them, and the router is configured to guess',
      explanation:
        'The router takes what it sent to a worker for what the worker holds, for a fixed time. It never learns what was evicted, nor what others sent.',
      cluesFor,
      cluesAgainst: when(closeRouter(measurements, 0.7), ({ share, origin }) =>
        clueAgainst(
          'refutes',
          `It guesses well: ${percent(share)}${engineHits === undefined ? '' : ` against ${percent(engineHits.share)} that engines had`}.`,
          origin,
        ),
      ),
      explains: ['router_blind', 'no_stores', 'empty_tree'],
      fixes: [
        {
          says: 'Start the frontend with --router-kv-events, in place of --no-router-kv-events',
          why: 'What workers publish already is exact. Only the frontend restarts.',
          disturbs: 'frontend',
          files: [],
          commands: [
            argumentsOf(
              'dynamo.frontend',
              '--router-kv-events',
              'or DYN_ROUTER_USE_KV_EVENTS=true; DYN_KV_EVENTS=true before 1.0',
            ),
          ],
          verify: hitChecks(measurements.seen),
        },
      ],
    };
  },
};
