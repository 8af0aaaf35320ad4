import { counted } from '../counted.js';
import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { blindness, engineReuses, findsBlocks, type Picture } from '../picture.js';
import { isSome } from '../setting-words.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { missingShare, percent } from './shared-clues.js';

/** Model, LoRA adapter or salt differ between request and events. */
export const otherNamespace: Cause = {
  id: 'other_namespace',
  suspect(picture: Picture): Suspicion | undefined {
    const [adapter] = picture.settings('lora_adapters').filter(({ value }) => isSome(value));
    const { stores } = picture;
    const share = missingShare(picture) ?? 0;
    const reused = engineReuses(picture);
    const blind = blindness(picture);
    if (adapter === undefined || reused === undefined || stores === undefined) return undefined;
    if (stores.applied === 0 || share >= 0.05) return undefined;
    const found = findsBlocks(picture);
    const isHalf = found !== undefined && found.share < reused.share / 2;
    if (blind === undefined && !isHalf) return undefined;
    const cluesFor: readonly ClueFor[] = [
      {
        says: `LoRA adapters are loaded (${adapter.value.slice(0, 80)}).`,
        origin: adapter.origin,
        weight: 'sign',
      },
      {
        says: `The router applied ${counted(stores.applied, 'store')} and found ${blind === undefined ? percent(found?.share ?? 0) : 'nothing'}, while engines had ${percent(reused.share)} of prompts in their caches.`,
        origin: reused.origin,
        weight: blind === undefined ? 'sign' : 'signature',
        symptom: 'router_blind',
      },
    ];
    return {
      headline:
        'Another namespace: requests with LoRA adapters, or a salt, are looked up where their blocks are not',
      explanation:
        "An adapter's name (or a salt) is part of a block's hash. When request and events do not carry the same one, blocks are stored under hashes that nobody looks for; nothing warns.",
      cluesFor,
      cluesAgainst: sameNumber(picture),
      explains: ['router_blind'],
      fixes: [
        {
          says: 'Ask once without an adapter and once with it, twice each',
          why: 'If prompts without an adapter are found and those with one are not, the names differ. It changes nothing.',
          disturbs: 'nothing',
          files: [],
          commands: [
            'curl -s http://FRONTEND:8000/v1/models    # the names that requests have to use',
            'curl -s http://FRONTEND:8000/v1/chat/completions -H \'content-type: application/json\' -d \'{"model":"ADAPTER","max_tokens":2,"messages":[{"role":"user","content":"LONG PROMPT"}],"nvext":{"extra_fields":["timing"]}}\'',
          ],
          verify: HIT_CHECKS,
        },
        {
          says: 'Give adapters the same names in requests and on workers, on all workers',
          why: 'The name is what is hashed, not the adapter: two names for one adapter are two namespaces.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            argumentsOf(
              'each worker',
              '--lora-modules NAME=PATH',
              'the same NAME everywhere, and as "model" in requests',
            ),
          ],
          verify: HIT_CHECKS,
        },
      ],
    };
  },
};

function sameNumber({ sizes }: Picture): readonly ClueAgainst[] {
  return sizes.conflicts.some(({ isProof }) => isProof)
    ? [
        {
          says: 'Block sizes differ, which is enough for the router to find nothing.',
          origin: sizes.conflicts[0]?.theirs.origin,
          weight: 'weakens',
        },
      ]
    : [];
}
