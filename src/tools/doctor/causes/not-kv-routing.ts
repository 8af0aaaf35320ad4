import { HIT_CHECKS } from '../fixes/confirm.js';
import { argumentsOf } from '../fixes/lines.js';
import type { Picture } from '../picture.js';
import type { ClueFor } from '../weigh.js';
import type { Cause, Suspicion } from './cause.js';
import { workingRouter } from './shared-clues.js';

/** The frontend does not route by KV cache at all. */
export const notKvRouting: Cause = {
  id: 'not_kv_routing',
  suspect(picture: Picture): Suspicion | undefined {
    const modes = picture.settings('router_mode');
    const isKv = modes.some(({ value }) => value.trim().toLowerCase() === 'kv');
    const [other] = modes;
    const cluesFor: readonly ClueFor[] = [
      ...(other === undefined || isKv
        ? []
        : [
            {
              says: `The frontend routes by ${other.value}${other.isDefault ? ', its default: nothing else is set' : ''}.`,
              origin: other.origin,
              weight: other.isDefault ? ('signature' as const) : ('proof' as const),
            },
          ]),
      ...picture.evidence.fleets
        .filter(({ routingMode }) => routingMode === 'load_only')
        .map(({ group, reasons, origin }) => ({
          says: `kv-accord routes group ${group} by load alone${reasons.length === 0 ? '' : `: ${reasons.slice(0, 3).join('; ')}`}.`,
          origin,
          weight: 'signature' as const,
        })),
    ];
    if (cluesFor.length === 0) return undefined;
    return {
      headline:
        other === undefined || isKv
          ? 'Requests go by load alone'
          : `The frontend does not route by KV cache: its mode is ${other.value}${other.isDefault ? ', by default' : ''}`,
      explanation:
        'Without the mode "kv" a frontend builds no index and asks nobody what is cached. Events may be published and read by nobody; follow-up turns meet their worker by chance.',
      cluesFor,
      cluesAgainst: workingRouter(picture),
      explains: ['router_blind', 'no_stores', 'empty_tree', 'uneven_decisions'],
      fixes: [
        {
          says: 'Start the frontend with --router-mode kv',
          why: "The mode is the frontend's own; workers stay as they are. Only the frontend starts anew.",
          disturbs: 'frontend',
          files: [],
          commands: [argumentsOf('dynamo.frontend', '--router-mode kv', 'or DYN_ROUTER_MODE=kv')],
          verify: ['kubectl logs FRONTEND | grep -m1 "KV Routing initialized"', ...HIT_CHECKS],
        },
      ],
    };
  },
};
