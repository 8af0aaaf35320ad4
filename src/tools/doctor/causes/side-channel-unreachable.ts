import { countOf } from '../../../core/text/lists.js';
import { SIGN_VALUES } from '../../../engines/diagnosis/sign-values.js';
import { bootstrapAddressIn, isNobody } from '../fixes/bootstrap-address.js';
import { findHandshake } from '../fixes/handshakes.js';
import { reachSideChannel } from '../fixes/transfers.js';
import type { Measurements } from '../measurements/measurements.js';
import type { Cause, Suspicion } from './cause.js';
import { clueFor, findingClue, when } from './clues.js';
import { failedTransfers, transfersArrive } from './transfer-clues.js';

/** A decode engine cannot reach where a prefill engine says how its blocks are fetched. */
export const sideChannelUnreachable: Cause = {
  id: 'side_channel_unreachable',
  concerns: () => true,
  contradictedBy: transfersArrive,
  suspect(measurements: Measurements): Suspicion | undefined {
    const silent = measurements.signal('transfer_unreachable');
    const ports = measurements.evidence.findings.filter(({ ruleId }) => ruleId === 'side-channel-port');
    if (silent === undefined && ports.length === 0) return undefined;
    const isOther = silent?.values.has(SIGN_VALUES.anotherEngineAnswers) === true;
    // SGLang's "Failed to get prefill server info: 404, …" is its answer, too.
    const isBootstrap = /bootstrap|Failed to get prefill /i.test(
      `${[...(silent?.values.keys() ?? [])]} ${silent?.first.text ?? ''}`,
    );
    const address = silent === undefined ? undefined : bootstrapAddressIn(silent.first.text);
    const isNamed = address !== undefined && !isNobody(address);
    const unknown = [...(silent?.values.keys() ?? [])].find((value) =>
      value.startsWith(SIGN_VALUES.noHandshake),
    );
    return {
      headline:
        unknown !== undefined
          ? `A decode engine reads KV blocks of a prefill engine that it does not know: ${unknown}`
          : isOther
            ? 'A decode engine reaches another engine than the one that has its KV blocks'
            : isNamed
              ? `Decode engines get no answer from the bootstrap server of prefill engines at ${address.host}:${address.port}`
              : address === undefined
                ? 'Decode engines get no answer from where prefill engines say how their KV blocks are fetched'
                : 'A decode engine was asked without the address of a prefill engine',
      explanation:
        "A decode engine asks the prefill engine's side channel (NIXL, port 5600 by default) or bootstrap server (SGLang, Mooncake, 8998) before its first transfer. It waits some seconds for each request, which then fails or is computed again. Neither health checks nor other requests use that port.",
      cluesFor: [
        ...when(silent, ({ count, first, values }) => {
          const [reason = 'no answer'] = values.keys();
          return clueFor(
            'signature',
            `${countOf(count, 'line')} of a side channel or bootstrap server that is not reached (${reason}).`,
            first,
            'transfers_fail',
          );
        }),
        ...ports.map((finding) => findingClue(finding, 'sign')),
        ...(silent === undefined ? [] : failedTransfers(measurements)),
      ],
      cluesAgainst: [],
      explains: ['transfers_fail', 'prompts_recomputed'],
      fixes: [
        ...(unknown === undefined ? [] : [findHandshake(measurements)]),
        reachSideChannel(
          measurements,
          isOther ? 'another_engine' : isBootstrap ? 'bootstrap' : 'side_channel',
          address,
        ),
      ],
    };
  },
};
