import type { Fleet } from '../facts/fleet.js';
import type { Finding, Fix, Rule } from '../findings/finding.js';
import { findingAt } from '../findings/lint-rule.js';
import { type Launch, nameOf } from '../launches/launch.js';
import { isFalse } from '../launches/settings.js';

/** Workers that publish nothing before a router of others that knows only what events say. */
export function silentBeforeGateways(
  rule: Rule,
  fleet: Fleet,
  cureOf: (launch: Launch) => { readonly advice: string; readonly fix: Fix | undefined },
): readonly Finding[] {
  const listeners = fleet.gateways.filter(({ gateway }) => gateway?.usesEvents === true);
  const [listener] = listeners;
  const workers = fleet.workers.filter(({ launch, phase }) => !launch.isDynamo && phase !== 'prefill');
  // Beside workers that publish, a silent one may be for something else.
  const isOneKind = workers.every(({ publishes }) => publishes === false);
  const silent = listener === undefined || listeners.length > 1 || !isOneKind ? [] : workers;
  return [
    ...silent.flatMap(({ launch, noPrefixCaching }) =>
      noPrefixCaching !== undefined || listener === undefined
        ? []
        : [
            findingAt(rule, launch.at, {
              message: `${nameOf(launch)} publishes no KV events, and ${listener.program} knows only what they say`,
              ...cureOf(launch),
              related: [{ span: listener.at, says: `${listener.program} reads KV events` }],
            }),
          ],
    ),
    ...fleet.gateways.flatMap((launch) => disaggregated(rule, launch)),
  ];
}

/** The router of TensorRT-LLM polls events, which a server keeps only in a buffer that it was given. */
function disaggregated(rule: Rule, { program, gateway }: Launch): readonly Finding[] {
  return [gateway?.context, gateway?.generation].flatMap((servers) => {
    if (servers?.routerType?.value !== 'kv_cache_aware' || !servers.hasCacheConfig) return [];
    const { eventBuffer, blockReuse, routerType } = servers;
    const isSilent = eventBuffer === undefined || /^0+$/.test(eventBuffer.value ?? '');
    const isOff = blockReuse !== undefined && isFalse(blockReuse.value);
    const setting = isOff ? 'enable_block_reuse: false' : 'no event_buffer_max_size';
    return isSilent || isOff
      ? [
          findingAt(rule, (isOff ? blockReuse : eventBuffer)?.span ?? routerType.span, {
            severity: 'warning',
            message: `the kv_cache_aware router of ${program} polls KV events, and its servers keep none (${setting})`,
            advice:
              'Set kv_cache_config.event_buffer_max_size, and enable_block_reuse: true, for these servers.',
          }),
        ]
      : [];
  });
}
