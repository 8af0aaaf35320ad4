import { type ContractField, firstDifference } from '../../../core/contract/contract-values.js';
import {
  isTextProbe,
  probeOf,
  TOKEN_FIELDS,
  type TokenField,
  whereAnswersDiffer,
} from '../../../core/contract/tokens/token-answers.js';
import { countOf } from '../../../core/text/lists.js';
import type { TokenSighting } from '../evidence.js';
import { argumentsOf } from '../fixes/lines.js';
import { statusCommand } from '../fixes/status-command.js';
import { engineLines } from '../fixes/tuning.js';
import { resultsComeTrue } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';

/** Two workers of one model that make other tokens of one prompt. */
interface Difference {
  readonly one: TokenSighting;
  readonly other: TokenSighting;
  readonly field: TokenField;
}

/** Workers of one model have different tokenizers or chat templates. */
export const tokenMismatch: Cause = {
  id: 'token_mismatch',
  concerns: ({ kvAccord }) => kvAccord,
  contradictedBy: ({ evidence }) => {
    const workers = differencesIn(evidence.tokens).flatMap(({ one, other }) => [one.who, other.who]);
    return resultsComeTrue(evidence.metrics, workers);
  },
  suspect(measurements: Measurements): Suspicion | undefined {
    const differences = differencesIn(measurements.evidence.tokens);
    const logged = measurements.signal('accord_tokens');
    const [first] = differences;
    if (first === undefined && logged === undefined) return undefined;
    const isTokenizer = first !== undefined && isTextProbe(probeOf(first.field));
    const what =
      first === undefined ? 'tokenizer or chat template' : isTokenizer ? 'tokenizer' : 'chat template';
    return {
      headline:
        first === undefined
          ? 'Tokens differ: kv-accord saw other tokens of the same prompts'
          : `Tokens differ: workers ${first.one.who} and ${first.other.who} of "${first.one.group}" have another ${what}`,
      explanation:
        'Blocks are blocks of tokens. A router that asks one engine for the tokens of a prompt, or makes them itself, looks for blocks that an engine with another tokenizer or chat template never has: what it predicts for that engine is wrong, and nothing at run time says so. Answers of the model differ as well.',
      cluesFor: [
        ...differences.map((difference) => clueFor('proof', sentenceOf(difference), difference.other.origin)),
        ...when(logged, ({ count, first: origin }) =>
          clueFor(
            'signature',
            `kv-accord compared the tokens of fixed prompts and found a difference (${countOf(count, 'line')}).`,
            origin,
          ),
        ),
      ],
      cluesAgainst: [],
      explains: ['router_blind'],
      fixes: [
        {
          says: `Start ${first === undefined ? 'all workers of a model' : `all workers of "${first.one.group}"`} with the same ${isTokenizer ? 'tokenizer revision' : first === undefined ? what : 'chat template (--chat-template FILE)'}`,
          why: 'Which of them is right only you can know: compare their command lines and the revision of the model that each has loaded.',
          disturbs: 'one_worker_at_a_time',
          files: [],
          commands: [
            ...(isTokenizer
              ? engineLines(measurements.seen, ({ tokenizer }) => tokenizer)
              : [argumentsOf('every worker', '--chat-template FILE')]),
          ],
          verify: [
            `${statusCommand(measurements.seen)}    # every worker conforming or verified, no reason about tokens`,
          ],
        },
      ],
    };
  },
};

/** Each set of answers beside the first of its group. */
function differencesIn(sightings: readonly TokenSighting[]): readonly Difference[] {
  const fields: readonly ContractField[] = TOKEN_FIELDS;
  return sightings.flatMap((other, at) => {
    for (const one of sightings.slice(0, at)) {
      if (one.group !== other.group || one.who === other.who) continue;
      const field = firstDifference(one.values, other.values, fields);
      if (field !== undefined) return [{ one, other, field: field as TokenField }];
    }
    return [];
  });
}

function sentenceOf({ one, other, field }: Difference): string {
  const name = probeOf(field);
  const [mine, theirs] = [one, other].map(({ answers }) => answers.find((answer) => answer.name === name));
  if (mine === undefined || theirs === undefined)
    return `Workers ${one.who} and ${other.who} make other tokens of the probe "${name}".`;
  if (mine.isRefused || theirs.isRefused) {
    const [refuser, taker] = mine.isRefused ? [one, other] : [other, one];
    return `Worker ${refuser.who} refuses the probe "${name}", and ${taker.who} takes it.`;
  }
  const where = whereAnswersDiffer(mine, theirs);
  const at =
    where === undefined
      ? ''
      : `; at position ${where.position} it is ${where.one ?? 'none'} and ${where.other ?? 'none'}`;
  return `Of the probe "${name}" worker ${one.who} makes ${mine.tokenCount} tokens and ${other.who} ${theirs.tokenCount}${at}.`;
}
