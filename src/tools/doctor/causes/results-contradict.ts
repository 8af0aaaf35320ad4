import type { ClueFor } from '../confidence.js';
import type { Measurements } from '../measurements/measurements.js';
import { type MetricsPage, sumOf } from '../metrics/metrics-page.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';

const DOUBTED = 'kv_accord_router_worker_doubted';
const OVER = 'kv_accord_router_worker_over_predicted_tokens_total';
const UNDER = 'kv_accord_router_worker_under_predicted_tokens_total';
const PREDICTED = 'kv_accord_router_worker_predicted_cached_tokens_total';
const REPORTED = 'kv_accord_router_worker_reported_cached_tokens_total';

/** Part of a worker's tokens that nothing known explains, from which on there is a gap, as the router has it. */
const GAP_PART = 0.05;

/** What engines report as cached is not what kv-accord's router predicted of their caches. */
export const resultsContradict: Cause = {
  id: 'results_contradict',
  suspect({ evidence }: Measurements): Suspicion | undefined {
    const cluesFor = evidence.metrics.flatMap(cluesIn);
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
          says: 'Compare event endpoint, prefix cache, tokenizer and chat template of the workers that are named',
          why: 'kv-accord status has the numbers of each and the likeliest cause. More predicted than reported: swapped event endpoints, a prefix cache that is off. Less: lost events, another chat template or tokenizer. Their requests are routed by load meanwhile.',
          disturbs: 'nothing',
          files: [],
          commands: ['kv-accord status --routing'],
          verify: ['kv-accord status --routing    # nobody is doubted, OVER and UNDER stay as they are'],
        },
      ],
    };
  },
};

function cluesIn(page: MetricsPage): ClueFor[] {
  const workers = new Set((page.samples.get(DOUBTED) ?? []).map(({ labels }) => labels.get('worker') ?? ''));
  return [...workers].flatMap((worker): ClueFor[] => {
    const of = (name: string): number => sumOf(page, name, { worker }) ?? 0;
    const [predicted, reported, over, under] = [of(PREDICTED), of(REPORTED), of(OVER), of(UNDER)];
    const isDoubted = of(DOUBTED) > 0;
    if (!isDoubted && over + under < GAP_PART * Math.max(1, predicted, reported)) return [];
    const numbers = `${predicted} cached tokens predicted, ${reported} reported (${over} predicted that the engine had not, ${under} that it had beyond)`;
    return [
      clueFor(
        isDoubted ? 'proof' : 'signature',
        `${worker}: ${numbers}${isDoubted ? ', and the router doubts its cache view' : ''}.`,
        { place: page.name, text: `${DOUBTED}{worker="${worker}"} ${isDoubted ? 1 : 0}` },
        'router_blind',
      ),
    ];
  });
}
