import { type LogRule, rule } from '../diagnosis/log-rule.js';

/** Where a decode SGLang refuses a prefill SGLang, and the field that the line speaks of. */
const REFUSALS: readonly (readonly [needle: string, field: string])[] = [
  // "Page size mismatch: prefill server has page_size=16, but decode server has page_size=32. Both servers must use …"
  ['Page size mismatch: ', 'page size'],
  ['KV cache dtype mismatch: ', 'KV cache dtype'],
  ['KV layout mismatch: ', 'KV cache layout'],
  ['PD layout mismatch', 'KV cache layout'],
  ['PD KV layout mismatch', 'KV cache layout'],
  ['does not support different prefill / decode attention TP', 'tensor parallel size'],
  ['state layouts differ between prefill and decode', 'state of its layers'],
  ['Head-sliced PD transfer page count mismatch', 'page size'],
  ['PD peers disagree on the', 'KV cache layout'],
  ['DSpark PD requires the same TP size', 'tensor parallel size'],
  ['PD Disaggregation does NOT support', 'tensor parallel size'],
  ['PD requires matching attention TP sizes', 'tensor parallel size'],
  ['requires equal prefill/decode attn TP', 'tensor parallel size'],
];

/** One side refuses the other, whichever writes first of itself: "decode server has page_size=64, but prefill server has page_size=32". */
const SIDES =
  /(prefill|decode) server has \w{1,40}=([\w.]{1,40}), but (prefill|decode) server has \w{1,40}=([\w.]{0,40}\w)/;

/** Where the bootstrap server of a prefill SGLang, or the engine behind it, does not answer; `also` must be in the line too. */
const UNREACHABLE: readonly (readonly [needle: string, value: string, also?: string])[] = [
  ['Could not fetch prefill parallel info from', 'no answer'],
  ['Could not fetch bootstrap info for:', 'no answer'],
  // Up to 0.5.2.
  ['Could not fetch bootstrap info for engine rank', 'no answer'],
  ['Could not fetch prefill parallel info for bootstrap_addr', 'no answer'],
  ['Could not fetch prefill dp_size for bootstrap_addr', 'no answer'],
  // "Error fetching prefill server info from bootstrap: …"; parallel, dp and plain info in other versions.
  ['Error fetching prefill ', 'no answer', 'bootstrap'],
  ['Failed to get prefill ', 'no answer', ' info'],
  ['failed to register to bootstrap server', 'the prefill engine did not register'],
  ['Lost connection with prefill instance', 'the connection was lost'],
];

/** Transfers that fail for reasons behind `exception`. */
const FAILURES: readonly string[] = [
  'Decode transfer failed for request',
  'Prefill transfer failed for request',
  'Decode handshake failed for request',
  'Prefill bootstrap failed for request',
];

/** Lines about KV blocks that come from another SGLang, 0.4 to 0.5. */
export const SGLANG_TRANSFER_RULES: readonly LogRule[] = [
  ...REFUSALS.map(([needle, field]) =>
    rule(needle, (line, found) => {
      const [, first, one, , other] = SIDES.exec(line.text) ?? [];
      if (first === undefined && needle.endsWith(': ')) return;
      // As `pair_incompatible` has them: of the prefill engine, then of the decode engine.
      const numbers = first === 'prefill' ? `${one} and ${other}` : `${other} and ${one}`;
      const value = first === undefined ? field : `${field}: ${numbers}`;
      found.addSignal('transfer_refused', line, { value, about: needle });
    }),
  ),
  ...UNREACHABLE.map(([needle, value, also = '']) =>
    rule(needle, (line, found) => {
      if (line.text.includes(also)) found.addSignal('transfer_unreachable', line, { value, about: needle });
    }),
  ),
  ...FAILURES.map((needle) =>
    rule(needle, (line, found) => {
      const value = /KVTransferError\(bootstrap_room=\w{1,40}\): (.{1,240})/.exec(line.text)?.[1];
      // "Aborted by AbortReq.": the client went away.
      if (value?.startsWith('Aborted by ') === true) return;
      found.addSignal('transfer_failed', line, { value: plainReason(value), about: needle });
    }),
  ),
  // The reason of such a failure, also where it was broken into several lines.
  rule('follow_bootstrap_room conflict', (line, found) =>
    found.addSignal('transfer_failed', line, {
      value:
        'requests reach another data-parallel rank than their room names; set SGLANG_DISAGGREGATION_FORCE_QUERY_PREFILL_DP_RANK=1',
      about: 'follow_bootstrap_room conflict',
    }),
  ),
  // Written once, before the first of these failures.
  rule('fail to receive KV Cache transfer done signal', (line, found) =>
    found.addSignal('transfer_failed', line, {
      value: 'in KVPoll.WaitingForInput',
      about: 'fail to receive KV Cache transfer done signal',
    }),
  ),
];

/** A reason without the numbers of one request, so that equal reasons count together. */
function plainReason(reason: string | undefined): string | undefined {
  return reason?.replace(/\d{3,}(?:\.\d+)?/g, 'N');
}
