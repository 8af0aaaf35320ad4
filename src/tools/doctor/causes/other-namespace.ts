import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import { hitChecks } from '../fixes/confirm.js';
import { engineLines } from '../fixes/tuning.js';
import { blindness, engineReuses, findsBlocks, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { isSome } from '../measurements/setting-values.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, when } from './clues.js';
import { missingShare } from './routing-clues.js';

/** Characters of a list of adapters that a clue quotes. */
const MAX_QUOTED_CHARS = 80;

/** Model, LoRA adapter or salt differ between request and events. */
export const otherNamespace: Cause = {
  id: 'other_namespace',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const [adapter] = measurements.settings('lora_adapters').filter(({ value }) => isSome(value));
    const { stores, sizes } = measurements;
    const reused = engineReuses(measurements);
    const isBlind = blindness(measurements) !== undefined;
    if (adapter === undefined || reused === undefined || stores === undefined) return undefined;
    if (stores.applied === 0 || (missingShare(measurements) ?? 0) >= 0.05) return undefined;
    const found = findsBlocks(measurements);
    const isHalf = found !== undefined && found.share < reused.share / 2;
    if (!isBlind && !isHalf) return undefined;
    const cluesFor: readonly ClueFor[] = [
      clueFor(
        'sign',
        `LoRA adapters are loaded (${adapter.value.slice(0, MAX_QUOTED_CHARS)}).`,
        adapter.origin,
      ),
      clueFor(
        isBlind ? 'signature' : 'sign',
        `The router applied ${countOf(stores.applied, 'store')} and found ${isBlind ? 'nothing' : percent(found?.share ?? 0)}, while engines had ${percent(reused.share)} of prompts in their caches.`,
        reused.origin,
        'router_blind',
      ),
    ];
    return {
      headline:
        'Another namespace: requests with LoRA adapters, or a salt, are looked up where their blocks are not',
      explanation:
        "An adapter's name (or a salt) is part of a block's hash. When request and events do not carry the same one, blocks are stored under hashes that nobody looks for; nothing warns.",
      cluesFor,
      cluesAgainst: when(sizes.conflicts.some(({ isProof }) => isProof) && sizes.conflicts[0], ({ theirs }) =>
        clueAgainst(
          'weakens',
          'Block sizes differ, which is enough for the router to find nothing.',
          theirs.origin,
        ),
      ),
      explains: ['router_blind'],
      fixes: [
        {
          says: 'Send one long prompt to http://FRONTEND:8000 twice without an adapter, and twice with it',
          why: 'If prompts without an adapter are found and those with one are not, the names differ. It changes nothing.',
          disturbs: 'nothing',
          files: [],
          commands: [
            'curl -s http://FRONTEND:8000/v1/models    # the names that requests have to use',
            'curl -s http://FRONTEND:8000/v1/chat/completions -H \'content-type: application/json\' -d \'{"model":"ADAPTER","max_tokens":2,"messages":[{"role":"user","content":"LONG PROMPT"}]}\'',
          ],
          verify: hitChecks(measurements.seen),
        },
        {
          says: 'Start all workers with the same name for each adapter, and use that name in requests',
          why: 'The name is what is hashed, not the adapter: two names for one adapter are two namespaces.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [...engineLines(measurements.seen, ({ adapters }) => adapters)],
          verify: hitChecks(measurements.seen),
        },
      ],
    };
  },
};
