import { countOf } from '../../../core/text/lists.js';
import type { ProposedFix } from '../diagnosis.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** A frontend of Dynamo fails to add a model that a worker registered: it routes none of its requests. */
export const modelNotAdded: Cause = {
  id: 'model_not_added',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const failed = measurements.signal('model_not_added');
    if (failed === undefined) return undefined;
    const [model] = [...failed.byWorker.keys()].filter((name) => name !== '');
    const [error] = failed.values.keys();
    return {
      headline: `The frontend could not add ${model === undefined ? 'a model' : `the model ${model}`} that a worker registered${error === undefined ? '' : ` (${error})`}`,
      explanation:
        'The frontend reads the card of a worker, fetches the files that it names and builds a router for the model. Where that fails it logs one line, stays ready, and answers requests for the model with 404: no router, no index, no KV events. Versions before 1.6 do not try again.',
      cluesFor: [
        clueFor('signature', `${countOf(failed.count, 'model')} not added.`, failed.first, 'no_stores'),
      ],
      cluesAgainst: workingRouter(measurements),
      explains: ['no_stores', 'empty_tree', 'router_blind', 'uneven_decisions'],
      fixes: [FIX],
    };
  },
};

const FIX: ProposedFix = {
  says: 'Give the frontend the same files of the model as the workers have (one pinned revision, or a shared folder), and restart it',
  why: 'The card names files with their sizes and checksums. A frontend that fetches another revision by itself, or cannot fetch one of them, refuses the model. The line, or those behind it, name the file. Workers stay as they are.',
  disturbs: 'frontend',
  files: [],
  commands: [
    'kubectl logs FRONTEND | grep -A3 "Error adding model from discovery"    # names the file or the step',
  ],
  verify: ['curl -s FRONTEND:8000/v1/models    # lists the model'],
};
