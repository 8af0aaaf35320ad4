import { counted } from '../counted.js';
import { alignFixes } from '../fixes/align-block-size.js';
import { blindness, engineReuses, type Picture } from '../picture.js';
import { isSome } from '../setting-words.js';
import { ownerOf } from '../sizes.js';
import type { ClueAgainst, ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { blindRouter, missingShare, routersNumber, workingRouter } from './shared-clues.js';

/** A worker registered another number than its engine cuts, and nothing says so. */
export const wrongModelCard: Cause = {
  id: 'wrong_model_card',
  suspect(picture: Picture): Suspicion | undefined {
    const isLoud = picture.signal('block_not_published') !== undefined;
    const cards = isLoud ? [] : picture.sizes.conflicts.filter(({ between }) => between === 'own');
    const [card] = cards;
    const inSilence = silence(picture);
    const finding = picture.evidence.findings.find(({ ruleId }) => ruleId === 'worker-card-differs');
    const cluesFor: readonly ClueFor[] = [
      ...cards.flatMap(({ ours, theirs }) => [
        {
          says: `${capital(ownerOf(theirs))} registered blocks of ${ours.tokensPerBlock} tokens.`,
          origin: ours.origin,
          weight: 'proof' as const,
          symptom: 'own_number' as const,
        },
        {
          says: `Its engine cuts ${theirs.tokensPerBlock}.`,
          origin: theirs.origin,
          weight: 'proof' as const,
          symptom: 'own_number' as const,
        },
      ]),
      ...inFiles(picture),
      ...inSilence,
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        card === undefined
          ? `Wrong model card: ${inSilence.length === 0 && finding !== undefined ? finding.message : `stores are applied, nothing is found, and nobody warns; workers seem to register another block size than their engines cut${routersNumber(picture)}`}`
          : `Wrong model card: ${ownerOf(card.theirs)} declares blocks of ${card.ours.tokensPerBlock} tokens and its engine cuts ${card.theirs.tokensPerBlock}`,
      explanation:
        'The router takes the block size from the card that a worker registers, and cuts prompts by it; the worker hashes what its engine stored by the real number. The events are whole and are applied, their hashes are only never those that the router looks for. There is no warning anywhere.',
      cluesFor,
      cluesAgainst: [...workingRouter(picture), ...otherSigns(picture)],
      explains: ['router_blind', 'empty_tree'],
      fixes: alignFixes(picture, {
        engines: card?.theirs.tokensPerBlock,
        side: 'worker',
        isWorkersOwn: true,
      }),
    };
  },
};

function inFiles(picture: Picture): readonly ClueFor[] {
  const isBlind = blindness(picture) !== undefined;
  return picture.evidence.findings
    .filter(({ ruleId }) => ruleId === 'worker-card-differs')
    .map(({ message, severity, file, line, column }) => ({
      says: `${message}.`,
      origin: { place: `${file}:${line}:${column}`, text: '' },
      weight: isBlind || severity === 'error' ? ('signature' as const) : ('sign' as const),
    }));
}

/** Stores without any fault, no hit, and an engine that reuses. */
function silence(picture: Picture): readonly ClueFor[] {
  const { stores } = picture;
  const share = missingShare(picture);
  const isSilent =
    stores !== undefined &&
    share !== undefined &&
    share < 0.01 &&
    picture.signal('parent_block_not_found') === undefined;
  if (!isSilent || blindness(picture) === undefined || engineReuses(picture) === undefined) return [];
  return [
    ...blindRouter(picture, 'signature'),
    {
      says: `The router applied ${counted(stores.applied, 'store')} and lacked no parent: events arrive whole.`,
      origin: stores.origin,
      weight: 'sign',
      symptom: 'router_blind',
    },
  ];
}

function otherSigns(picture: Picture): readonly ClueAgainst[] {
  const { agreed } = picture.sizes;
  const adapters = picture.settings('lora_adapters').filter(({ value }) => isSome(value));
  const [adapter] = adapters;
  return [
    ...(agreed === undefined
      ? []
      : [
          {
            says: `Router and engine run with the same number, ${agreed.tokensPerBlock}.`,
            origin: agreed.origins[1],
            weight: 'refutes' as const,
          },
        ]),
    ...(adapter === undefined
      ? []
      : [
          {
            says: 'LoRA adapters are loaded: requests and events in different namespaces would look the same.',
            origin: adapter.origin,
            weight: 'weakens' as const,
          },
        ]),
  ];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
