import type { ClueFor } from '../confidence.js';
import { hitChecks } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { findsBlocks, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { isFalse, isTrue } from '../measurements/setting-values.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';

/** Several frontends or routers, none of which knows what the others sent where. */
export const unsyncedFrontends: Cause = {
  id: 'unsynced_frontends',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const { evidence, engineHits } = measurements;
    const [replicas] = measurements.settings('frontend_replicas').filter(({ value }) => Number(value) > 1);
    const pages = evidence.metrics.filter(({ program }) => program === 'dynamo-frontend');
    const count = Math.max(pages.length, Number(replicas?.value ?? 0));
    const sync = measurements.settings('router_replica_sync');
    if (count < 2 || sync.some(({ value }) => isTrue(value))) return undefined;
    const [off] = sync.filter(({ value }) => isFalse(value));
    const [guess] = measurements.settings('router_uses_events').filter(({ value }) => isFalse(value));
    const where = replicas?.origin ?? { place: pages[1]?.name ?? '', text: '' };
    const cluesFor: readonly ClueFor[] = [
      clueFor(
        guess !== undefined ? 'signature' : 'sign',
        `${count} frontends, and ${off === undefined ? 'nothing informs them of each other (--router-replica-sync is off by default)' : '--router-replica-sync is off'}.`,
        off?.origin ?? where,
      ),
      ...when(guess, ({ origin }) =>
        clueFor(
          'sign',
          'Each of them guesses from its own decisions what workers hold, as they do not read KV events.',
          origin,
        ),
      ),
    ];
    const found = findsBlocks(measurements);
    const isLow = found !== undefined && engineHits !== undefined && found.share < engineHits.share / 2;
    return {
      headline: `${count} frontends do not know of each other's requests`,
      explanation:
        'Each router counts the load and, without KV events, the blocks of the requests that it sent itself. A conversation that meets another frontend than before is new to it, and workers are loaded unevenly.',
      cluesFor,
      cluesAgainst: when(!isLow && found, ({ share, origin }) =>
        clueAgainst('weakens', `The routers find blocks nevertheless (${percent(share)}).`, origin),
      ),
      explains: ['uneven_decisions'],
      fixes: [
        {
          says: 'Start each frontend with --router-replica-sync',
          why: 'They exchange what is running where. Only frontends restart, one after the other.',
          disturbs: 'frontend',
          files: [],
          commands: [
            argumentsOf('each dynamo.frontend', '--router-replica-sync', 'or DYN_ROUTER_REPLICA_SYNC=true'),
          ],
          verify: hitChecks(measurements.seen),
        },
        {
          says: 'Send each conversation to the same frontend: sessionAffinity ClientIP on the Service of the frontends',
          why: 'A Service with sessionAffinity does so by the address of the client, where clients do not come through one proxy.',
          disturbs: 'nothing',
          files: [],
          commands: ['kubectl patch service FRONTEND -p \'{"spec":{"sessionAffinity":"ClientIP"}}\''],
          verify: hitChecks(measurements.seen),
        },
      ],
    };
  },
};
