import type { ProposedFix } from '../diagnosis.js';
import type { Origin } from '../evidence.js';
import { ownAdviceIn } from '../logs/own-advice.js';
import { quotedLine } from '../logs/quoted-line.js';
import type { TransferStep } from '../logs/transfer-steps.js';
import type { Measurements } from '../measurements/measurements.js';
import { environmentOf } from './lines.js';

type Repair = Pick<ProposedFix, 'says' | 'why' | 'disturbs' | 'commands'>;

const REPAIRS: Readonly<Record<TransferStep, readonly Repair[]>> = {
  not_taken_up: [
    {
      says: 'Add decode engines, or admit fewer requests: kubectl scale deployment DECODE',
      why: 'A prefill engine waits until the decode engine of the request says where its blocks go, 300 s by default. Decode engines that are full, hang or have ended do not, nor does one that never got its half of the request.',
      disturbs: 'nothing',
      commands: [
        'kubectl logs DECODE --since=15m | grep -E "Decode batch|transfer failed|Traceback" | tail    # full, hung or gone?',
        'kubectl get pods -o wide    # restarts of decode pods',
      ],
    },
  ],
  not_received: [
    {
      says: 'Read the log of the prefill engines at these times (kubectl logs PREFILL --since=15m), and add prefill engines or admit fewer requests where they are full',
      why: 'The decode engine waits for blocks that did not come: the prefill engine computes other prompts first, has ended, or its transfer fails below it (RDMA, UCX, NIXL, Mooncake).',
      disturbs: 'nothing',
      commands: [
        'kubectl logs PREFILL --since=15m | grep -E "#queue-req|ERROR|Traceback|failed" | tail    # full, failing or gone?',
      ],
    },
  ],
  too_slow: [
    {
      says: 'Compare the log of the prefill engine (kubectl logs PREFILL --since=15m), the links of both hosts (rdma link; hccn_tool -i 0 -link -g on NPUs) and how many requests are divided at a time; MC_TRANSFER_TIMEOUT=120 only where blocks arrive late',
      why: 'Mooncake gives a transfer up after 30 s, and its request with it. A link that is down or has fallen back to a lower speed, NPUs whose channel hangs, and a prefill engine that is overloaded or gone all look like that from the decode engine.',
      disturbs: 'nothing',
      commands: [
        'kubectl logs PREFILL --since=15m | grep -n -m5 -iE "error|traceback|failed"',
        'rdma link    # state ACTIVE on both hosts',
        environmentOf('each engine', 'MC_TRANSFER_TIMEOUT=120', 'seconds'),
      ],
    },
  ],
  handshake: [
    {
      says: "Set VLLM_NIXL_SIDE_CHANNEL_HOST to the pod's own address on each engine, open VLLM_NIXL_SIDE_CHANNEL_PORT (5600, one for each rank), and repair what the exception above the first such line of the decode engine names",
      why: 'Before its first transfer a decode engine asks the side channel of the prefill engine. Without an answer, or with one that it does not take, the blocks of the request count as invalid: it is computed again or fails. The exception stands above the line.',
      disturbs: 'one_worker_at_a_time',
      commands: [
        'kubectl logs DECODE | grep -m1 -B25 -E "Handshake failed|handshake(_setup)?_failed"    # the exception above it',
        'kubectl exec DECODE -- sh -c "nc -zv PREFILL_POD_IP 5600"    # open',
      ],
    },
  ],
  unknown: [
    {
      says: 'Give the doctor the log of the other engine too: kubectl logs PREFILL --since=15m, kubectl logs DECODE --since=15m',
      why: 'The engine that gives a request up writes that it failed. Why stands in the log of the one that it waited for, or above these lines.',
      disturbs: 'nothing',
      commands: ['kubectl logs PREFILL --since=15m | grep -n -m5 -iE "error|traceback|failed"'],
    },
  ],
};

/** How long SGLang waits. Source: 0.5.23, `disaggregation/common/conn.py` and `environ.py`. */
const WAITS: Readonly<Record<TransferStep, readonly Repair[]>> = {
  not_taken_up: [
    {
      says: 'Set SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=600 on prefill engines, where decode engines are only slow',
      why: 'The time to the first token grows by as much. It cures nothing where the decode engine is gone.',
      disturbs: 'one_worker_at_a_time',
      commands: ['SGLANG_DISAGGREGATION_BOOTSTRAP_TIMEOUT=600    # on each prefill engine'],
    },
  ],
  not_received: [
    {
      says: 'Set SGLANG_DISAGGREGATION_WAITING_TIMEOUT=600 on decode engines, where prefill engines are only slow',
      why: '300 s is the default of SGLang. A longer wait keeps blocks of the decode engine for requests that may never come.',
      disturbs: 'one_worker_at_a_time',
      commands: ['SGLANG_DISAGGREGATION_WAITING_TIMEOUT=600    # on each decode engine'],
    },
  ],
  too_slow: [],
  handshake: [],
  unknown: [],
};

/** As TensorRT-LLM's warning asks. */
const LARGER_BUFFER: ProposedFix = {
  says: 'Set cache_transceiver_config.max_tokens_in_buffer to more than the longest prompt, in the engine files of both roles',
  why: 'Blocks are sent through a buffer that is registered once. A prompt that does not fit gets one of its own, which NIXL cannot send.',
  disturbs: 'one_worker_at_a_time',
  files: [],
  commands: [
    'cache_transceiver_config: { backend: DEFAULT, max_tokens_in_buffer: 16384 }    # in the engine file',
  ],
  verify: ['kubectl logs PREFILL --since=5m | grep -c "may use dynamic buffer"    # should be 0'],
};

/** A variable that the line of a failed transfer says to set. */
export function setAdvised(variable: string): ProposedFix {
  return {
    says: `Set ${variable} on the engines of both roles, as the line asks`,
    why: 'The engine names the setting by which it takes such requests. A router that sends each half where the other expects it does the same without it.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [environmentOf('each engine', variable)],
    verify: [
      'kubectl logs PREFILL --since=5m | grep -ciE "bootstrap failed|transfer failed"    # should be 0',
    ],
  };
}

/** A prefill engine that hands out an address of the host itself. */
export function giveOwnHost(host: string): ProposedFix {
  return {
    says: "Set VLLM_NIXL_SIDE_CHANNEL_HOST on the prefill engines to the pod's own address (status.podIP by the downward API; on several nodes to that of each), and open VLLM_NIXL_SIDE_CHANNEL_PORT (5600, one for each rank) to decode pods",
    why: `A prefill engine gives decode engines the host at which its side channel listens, localhost unless it is set: ${host} leads each of them to itself. Where both are on one host it is right, and the exception above the first such line has the reason.`,
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      environmentOf('each prefill engine', 'VLLM_NIXL_SIDE_CHANNEL_HOST', 'status.podIP by the downward API'),
      'kubectl logs DECODE | grep -m1 -B25 -E "handshake(_setup)?_failed"    # the exception above it',
    ],
    verify: ['kubectl logs DECODE --since=5m | grep -c "NIXL transfer failure: handshake"    # should be 0'],
  };
}

/** What the error asks for that stands right before a transfer that failed. */
export function repairBefore({ text, place }: Origin): ProposedFix {
  const advice = ownAdviceIn(text);
  const quote = `"${quotedLine(advice ?? text)}"`;
  return {
    says:
      advice === undefined
        ? `Repair what the error right before the failed transfer says: ${quote} (${place})`
        : `Do what the error right before the failed transfer asks for: ${quote} (${place})`,
    why: 'An engine gives the request up a few lines after the error that made its transfer impossible. The error is of no kind that is known here.',
    disturbs: 'one_worker_at_a_time',
    files: [],
    commands: [
      'kubectl logs POD --since=15m | grep -iE -B8 "transfer|handshake|load failure" | grep -iE "error|failed"',
    ],
    verify: [
      'kubectl logs DECODE --since=5m | grep -ciE "transfer failed|transfer failure|transfer timeout|failed to transfer|handshake failed|KV load failure"    # should be 0',
    ],
  };
}

/** What lets transfers come true, by the step at which they end. */
export function repairTransfers(
  { seen }: Measurements,
  step: TransferStep,
  isBufferSmall: boolean,
): readonly ProposedFix[] {
  const isSglang = seen.engines.some(({ word }) => word === 'sglang');
  const repairs = [...REPAIRS[step], ...(isSglang ? WAITS[step] : [])].map((repair) => ({
    ...repair,
    files: [],
    verify: [
      'kubectl logs DECODE --since=5m | grep -ciE "transfer failed|transfer timeout|failed to transfer|KV load failure"    # should be 0',
    ],
  }));
  return isBufferSmall ? [LARGER_BUFFER, ...repairs] : repairs;
}
