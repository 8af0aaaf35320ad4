import { countOf } from '../../../core/text/lists.js';
import type { ClueFor } from '../confidence.js';
import type { ProposedFix } from '../diagnosis.js';
import { hitChecks } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import { statusCommand } from '../fixes/status-command.js';
import { findsWhatEnginesHave } from '../measurements/effects.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, when } from './clues.js';
import { workingRouter } from './routing-clues.js';

/** Reasons of a group that are quoted. */
const MAX_REASONS = 3;

/** The frontend does not route by KV cache at all. */
export const notKvRouting: Cause = {
  id: 'not_kv_routing',
  concerns: ({ router }) => router,
  contradictedBy: (measurements) => findsWhatEnginesHave(measurements),
  suspect(measurements: Measurements): Suspicion | undefined {
    const modes = measurements.settings('router_mode');
    const isKv = modes.some(({ value }) => value.trim().toLowerCase() === 'kv');
    const other = isKv ? undefined : modes[0];
    const withoutTree = measurements.signal('router_without_tree');
    const cluesFor: readonly ClueFor[] = [
      ...when(withoutTree, ({ count, first }) =>
        clueFor(
          'signature',
          `${countOf(count, 'request')} went to any worker: the router has no tree of prefixes for the model.`,
          first,
        ),
      ),
      ...when(other, ({ value, isDefault, origin }) =>
        clueFor(
          isDefault ? 'signature' : 'proof',
          `The frontend routes by ${value}${isDefault ? ', its default: nothing else is set' : ''}.`,
          origin,
        ),
      ),
      ...measurements.evidence.fleets
        .filter(({ routingMode }) => routingMode === 'load_only')
        .map(({ group, reasons, origin }) =>
          clueFor(
            'signature',
            `kv-accord routes group ${group} by load alone${reasons.length === 0 ? '' : `: ${reasons.slice(0, MAX_REASONS).join('; ')}`}.`,
            origin,
          ),
        ),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        withoutTree !== undefined
          ? 'Requests go to any worker: the router has no tree of prefixes for the model'
          : other === undefined
            ? 'Requests go by load alone'
            : `The frontend does not route by KV cache: its mode is ${other.value}${other.isDefault ? ', by default' : ''}`,
      explanation:
        'Without the mode "kv" a frontend builds no index and asks nobody what is cached. Events may be published and read by nobody; follow-up turns meet their worker by chance.',
      cluesFor,
      cluesAgainst: workingRouter(measurements),
      explains: ['router_blind', 'no_stores', 'empty_tree', 'uneven_decisions'],
      fixes: [
        withoutTree !== undefined
          ? treeFix()
          : other === undefined
            ? ownFix(measurements)
            : modeFix(measurements),
      ],
    };
  },
};

function treeFix(): ProposedFix {
  return {
    says: 'Run a later version of the gateway (pip install -U smg); until then give prefill and decode a policy that needs no tree (--prefill-policy, --decode-policy), or one model name for the workers and the requests',
    why: 'The policy cache_aware begins a tree for each model as its workers register. Older versions left out its copies for prefill and decode, and a model under another name than that of its workers has none: each request then goes to a worker by chance.',
    disturbs: 'frontend',
    files: [],
    commands: ['curl -s http://GATEWAY:30000/workers    # under which model name each worker is registered'],
    verify: ['kubectl logs GATEWAY --since=5m | grep -cE "No (string|token) tree found"    # should be 0'],
  };
}

function modeFix(measurements: Measurements): ProposedFix {
  return {
    says: 'Start the frontend with --router-mode kv',
    why: "The mode is the frontend's own; workers stay as they are. Only the frontend restarts.",
    disturbs: 'frontend',
    files: [],
    commands: [argumentsOf('dynamo.frontend', '--router-mode kv', 'or DYN_ROUTER_MODE=kv')],
    verify: ['kubectl logs FRONTEND | grep -m1 "KV Routing initialized"', ...hitChecks(measurements.seen)],
  };
}

function ownFix({ seen }: Measurements): ProposedFix {
  return {
    says: `Run ${statusCommand(seen)}, and remove the reason that it names for the group`,
    why: 'kv-accord goes by load alone while it does not know what workers hold, and says why.',
    disturbs: 'nothing',
    files: [],
    commands: [statusCommand(seen)],
    verify: [`${statusCommand(seen, '--routing')}    # the mode of the group is exact`],
  };
}
