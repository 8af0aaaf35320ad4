import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { argumentsOf, environmentOf } from './lines.js';

/** A decode engine that reads without a handshake: why there was none, and what keeps it alive until then. */
export function findHandshake({ seen }: Measurements): ProposedFix {
  const isDivided = seen.engines.length === 0 || seen.engines.some(({ word }) => word === 'vllm');
  return {
    says: 'Have each node give its own address and ports (VLLM_NIXL_SIDE_CHANNEL_HOST=POD_IP, VLLM_NIXL_SIDE_CHANNEL_PORT with one port for each data-parallel rank), and repair what the first "NIXL transfer failure: handshake" of the decode engine names; with more tensor-parallel ranks on prefill than on decode, the same --tensor-parallel-size on both',
    why: 'A handshake failed before, or was never made, and this version reads all the same and ends: later ones (vLLM with pull request 41863) fail the one request. Where ranks of several nodes give the same host, some lead to another engine. With a prefill engine of more ranks than the decode engine it is a fault of that version.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs DECODE --previous | grep -m1 -B2 -A20 "NIXL transfer failure: handshake"    # the reason, with the host and port that were tried',
      environmentOf(
        'each engine',
        'VLLM_NIXL_SIDE_CHANNEL_HOST',
        'status.podIP by the downward API, on each node its own',
      ),
      ...(isDivided
        ? [argumentsOf('the engines of both roles', '--tensor-parallel-size N', 'the same')]
        : []),
    ],
    verify: [
      'kubectl logs DECODE --since=5m | grep -cE "KeyError|NIXL transfer failure: handshake"    # should be 0',
    ],
  };
}
