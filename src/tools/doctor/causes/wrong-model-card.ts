import { capitalised } from '../../../core/text/capitalised.js';
import { countOf } from '../../../core/text/lists.js';
import type { Finding } from '../../manifests/lint/findings/finding.js';
import type { ClueAgainst, ClueFor } from '../confidence.js';
import { alignFixes } from '../fixes/align-block-size.js';
import { blindness, noneFound, percent } from '../measurements/cache-hits.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import { isSome } from '../measurements/setting-values.js';
import { ownerOf } from '../measurements/sizes.js';
import type { Cause, Suspicion } from './cause.js';
import { clueAgainst, clueFor, findingClue, when } from './clues.js';
import {
  hasOwnIndex,
  knownNumber,
  partOfWorkers,
  sameSize,
  silence,
  workingRouter,
} from './routing-clues.js';

/** A worker registered another number than its engine uses, and no message says so. */
export const wrongModelCard: Cause = {
  id: 'wrong_model_card',
  concerns: ({ router, dynamo, kvAccord }) => router || dynamo || kvAccord,
  contradictedBy: (measurements) => {
    if (measurements.blindModels.length > 0) return [];
    const cards = measurements.sizes.conflicts.filter(({ between }) => between === 'own');
    const workers = cards.map(({ theirs }) => theirs.who);
    return findsWhatEnginesHave(measurements, { concerned: partOfWorkers(measurements, workers) });
  },
  suspect(measurements: Measurements): Suspicion | undefined {
    const isLoud = measurements.signal('block_not_published') !== undefined;
    const cards = isLoud ? [] : measurements.sizes.conflicts.filter(({ between }) => between === 'own');
    const [card] = cards;
    const silent = hasOwnIndex(measurements.seen) ? [] : silence(measurements);
    const byDefault = defaultCard(measurements);
    const findings = measurements.evidence.findings.filter(({ ruleId }) => ruleId === 'worker-card-differs');
    const isBlind = blindness(measurements) !== undefined;
    const cluesFor: readonly ClueFor[] = [
      ...cards.flatMap(({ ours, theirs }) => [
        clueFor(
          'proof',
          `${capitalised(ownerOf(theirs))} registered a block size of ${ours.tokensPerBlock} tokens.`,
          ours.origin,
          'own_number',
        ),
        clueFor('proof', `Its engine uses ${theirs.tokensPerBlock}.`, theirs.origin, 'own_number'),
      ]),
      ...findings.map((finding) =>
        findingClue(finding, isBlind || finding.severity === 'error' ? 'signature' : 'sign'),
      ),
      ...(byDefault?.clues ?? []),
      ...silent,
      ...ofSomeModels(measurements),
    ];
    if (cluesFor.length === 0) return undefined;
    const [finding] = findings;
    const inferred =
      silent.length === 0 && finding !== undefined
        ? finding.message
        : byDefault !== undefined
          ? byDefault.text
          : silent.length === 0 && measurements.blindModels.length > 0
            ? modelsText(measurements)
            : `stores are applied, nothing is found, and nothing warns; workers seem to register another block size than their engines use${knownNumber(measurements)}`;
    const engines =
      card?.theirs.tokensPerBlock ?? byDefault?.engines ?? numberInFiles(measurements, findings);
    return {
      headline: `Wrong model card: ${
        card === undefined
          ? inferred
          : `${ownerOf(card.theirs)} declares a block size of ${card.ours.tokensPerBlock} tokens and its engine uses ${card.theirs.tokensPerBlock}`
      }`,
      explanation:
        'The router takes the block size from the card that a worker registers, and splits prompts by it; the worker hashes what its engine stored by the real number. The events are whole and are applied, but their hashes are never those that the router looks for. There is no warning anywhere.',
      cluesFor,
      cluesAgainst: [
        ...(measurements.blindModels.length > 0 ? [] : workingRouter(measurements)),
        ...otherSigns(measurements),
      ],
      explains: ['router_blind', 'empty_tree'],
      fixes: alignFixes(measurements, { engines, side: 'worker', isWorkersOwn: true }),
      isVague: engines === undefined,
    };
  },
};

/** Of one model nothing is found, of the others much: a card is that of a model. */
function ofSomeModels({ blindModels }: Measurements): readonly ClueFor[] {
  return blindModels.map(({ model, decisions, reused, others, origin }) =>
    clueFor(
      'signature',
      `Of model ${model} the router found no block in ${countOf(decisions, 'decision')}, while engines had ${percent(reused)} of its prompt tokens in their caches; of the other models ${percent(others)} of the decisions found some.`,
      origin,
      'router_blind',
    ),
  );
}

/** `nothing is found of model org/b (the router uses 16 for it), while other models are found`. */
function modelsText({ blindModels, sizes }: Measurements): string {
  const named = blindModels.map(({ model }) => {
    const row = sizes.rows.find(
      ({ side, models, basis }) =>
        side !== 'worker' && basis === 'in_use' && models.includes(model.toLowerCase()),
    );
    return row === undefined ? model : `${model} (the router uses ${row.tokensPerBlock} for it)`;
  });
  return `nothing is found of model ${named.join(', ')}, while other models are; its workers seem to register another block size than their engines use`;
}

/** A card that has its default, since nothing sets it, beside an engine's own file with another number. */
function defaultCard(
  measurements: Measurements,
): { readonly clues: readonly ClueFor[]; readonly text: string; readonly engines: number } | undefined {
  const { sizes, settings, decisions } = measurements;
  const [card, ...cards] = settings('card_block_size');
  const engines = sizes.rows.filter(({ side, basis }) => side === 'worker' && basis === 'configured');
  const [engine, ...others] = engines;
  if (card === undefined || cards.some(({ value }) => value !== card.value)) return undefined;
  if (engine === undefined || others.length > 0 || String(engine.tokensPerBlock) === card.value)
    return undefined;
  const isBroken =
    noneFound(measurements) !== undefined &&
    (decisions?.largestTreeSize === 0 || measurements.signal('parent_block_not_found') !== undefined);
  const text = `${card.who === '' ? 'a worker' : card.who} registers a block size of ${card.value} tokens by default, and its engine's file has ${engine.tokensPerBlock}`;
  return {
    clues: [
      clueFor(isBroken ? 'signature' : 'sign', `${capitalised(text)}.`, engine.origin, 'own_number'),
      clueFor(
        'sign',
        `No flag sets what it registers: ${card.value} is the default.`,
        card.origin,
        'own_number',
      ),
    ],
    text,
    engines: engine.tokensPerBlock,
  };
}

/** What the files of engines say that `lint` compares with what workers declare, where it is one number. */
function numberInFiles({ sizes }: Measurements, findings: readonly Finding[]): number | undefined {
  const places = findings.map(({ file, line, column }) => `${file}:${line}:${column}`);
  const numbers = sizes.rows
    .flatMap(({ otherwise, ...row }) => [row, ...otherwise])
    .filter(({ basis, origin }) => basis === 'configured' && places.includes(origin.place))
    .map(({ tokensPerBlock }) => tokensPerBlock);
  return new Set(numbers).size === 1 ? numbers[0] : undefined;
}

function otherSigns(measurements: Measurements): readonly ClueAgainst[] {
  const [adapter] = measurements.settings('lora_adapters').filter(({ value }) => isSome(value));
  return [
    ...sameSize(measurements, 1),
    ...when(adapter, ({ origin }) =>
      clueAgainst(
        'weakens',
        'LoRA adapters are loaded: requests and events in different namespaces would look the same.',
        origin,
      ),
    ),
  ];
}
