import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import type { SettingSighting } from '../evidence.js';
import { hitChecks } from '../fixes/confirm.js';
import { environmentOf } from '../fixes/lines.js';
import { engineLines } from '../fixes/tuning.js';
import { noneFound } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { ownerOf } from '../measurements/sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** Workers or router hash with another seed or algorithm. */
export const hashMismatch: Cause = {
  id: 'hash_mismatch',
  concerns: () => true,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const differences = [
      ...differencesIn(measurements.runtimeSettings('hash_seed'), 'PYTHONHASHSEED'),
      ...differencesIn(measurements.runtimeSettings('hash_algorithm'), 'the hash algorithm'),
    ];
    // Dynamo's router and kv-accord hash the tokens of events themselves: other hashes of engines cannot blind them.
    const isOwnHasher = measurements.seen.dynamo || measurements.seen.kvAccord;
    const shared = measurements.signal('hashes_differ');
    const weight = noneFound(measurements) !== undefined && !isOwnHasher ? 'signature' : 'sign';
    const cluesFor: readonly ClueFor[] = [
      ...when(shared, ({ count, first }) =>
        clueFor(
          'signature',
          `${countOf(count, 'line')} of LMCache: engines share their blocks, and hash them with a seed that is random in each process.`,
          first,
        ),
      ),
      ...differences.map(({ text, origin }) => clueFor(weight, `${text}.`, origin)),
      ...measurements.evidence.findings
        .filter(({ ruleId }) => ruleId.startsWith('hash-'))
        .map((finding) => findingClue(finding, 'sign')),
    ];
    const [first] = differences;
    if (cluesFor.length === 0) return undefined;
    return {
      headline: `Hash mismatch: ${first?.text ?? (shared === undefined ? 'workers of one model hash their blocks in different ways' : 'engines share a cache, and each finds only what it stored itself: PYTHONHASHSEED is not set')}`,
      explanation:
        "The same tokens have another block hash on each worker. Anyone who compares the engines' own hashes (a shared KV store, an index that uses them) finds that workers have nothing in common. Dynamo's router and kv-accord hash the tokens of events themselves and are not concerned.",
      cluesFor,
      cluesAgainst: [
        ...workingRouter(measurements),
        ...when(shared === undefined, () =>
          clueAgainst(
            'noted',
            isOwnHasher
              ? 'The router that was seen hashes the tokens of events itself: these hashes cannot blind it.'
              : "It only matters where something compares the engines' own hashes; no source says whether anything does.",
            undefined,
          ),
        ),
      ],
      explains: ['router_blind'],
      fixes: [
        {
          says:
            shared === undefined
              ? 'Set PYTHONHASHSEED=0 on every worker of the model, and the same hash algorithm'
              : 'Set PYTHONHASHSEED=0 on every engine that shares the cache, its LMCache server and its router, before they start, and the same pre_caching_hash_algorithm',
          why: 'An engine without the variable takes a random seed at each start. The workers that restart lose their caches.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            environmentOf('every worker', 'PYTHONHASHSEED=0'),
            ...engineLines(measurements.seen, ({ hashAlgorithm }) => hashAlgorithm),
          ],
          verify: hitChecks(measurements.seen),
        },
      ],
    };
  },
};

function differencesIn(
  settings: readonly SettingSighting[],
  what: string,
): readonly { readonly text: string; readonly origin: SettingSighting['origin'] }[] {
  const [first, ...others] = settings.filter(({ side }) => side === 'worker');
  const other = others.find(({ value }) => value !== first?.value);
  if (first === undefined || other === undefined) return [];
  const text = `${ownerOf(first)} has ${what} ${first.value}, and ${ownerOf(other)} ${other.value}`;
  return [{ text, origin: other.origin }];
}
