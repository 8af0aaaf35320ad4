import type { ClueFor } from '../confidence.js';
import { statusCommand } from '../fixes/status-command.js';
import { DOUBTED_GAUGE, type WorkerResults, workerResults } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

/** What engines report as cached is not what kv-accord's router predicted of their caches. */
export const resultsContradict: Cause = {
  id: 'results_contradict',
  concerns: ({ kvAccord }) => kvAccord,
  contradictedBy: () => [],
  suspect({ evidence, seen }: Measurements): Suspicion | undefined {
    const cluesFor = workerResults(evidence.metrics)
      .filter(({ isDoubted, hasGap }) => isDoubted || hasGap)
      .map(clueOf);
    if (cluesFor.length === 0) return undefined;
    return {
      headline: 'What engines report as cached is not what was predicted of their caches',
      explanation:
        'kv-accord compares the cached tokens of each answer with what the KV events of its worker promised. A difference that nothing known explains means that the events are not those of that engine, that some are lost, or that the prompts that are looked up are not those that the engine gets.',
      cluesFor,
      cluesAgainst: [],
      explains: ['router_blind'],
      fixes: [
        {
          says: `Run ${statusCommand(seen, '--routing')}, and compare event endpoint, prefix cache, tokenizer and chat template of the workers that it doubts`,
          why: 'kv-accord status has the numbers of each and the likeliest cause. More predicted than reported: swapped event endpoints, a prefix cache that is off. Less: lost events, another chat template or tokenizer. Their requests are routed by load meanwhile.',
          disturbs: 'nothing',
          files: [],
          commands: [statusCommand(seen, '--routing')],
          verify: [
            `${statusCommand(seen, '--routing')}    # nobody is doubted, OVER and UNDER stay as they are`,
          ],
        },
      ],
    };
  },
};

function clueOf({ worker, page, predicted, reported, over, under, isDoubted }: WorkerResults): ClueFor {
  const numbers = `${predicted} cached tokens predicted, ${reported} reported (${over} predicted that the engine had not, ${under} that it had beyond)`;
  return clueFor(
    isDoubted ? 'proof' : 'signature',
    `${worker}: ${numbers}${isDoubted ? ', and the router doubts its cache view' : ''}.`,
    { place: page.name, text: `${DOUBTED_GAUGE}{worker="${worker}"} ${isDoubted ? 1 : 0}` },
    'router_blind',
  );
}
