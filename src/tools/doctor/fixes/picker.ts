import type { ProposedFix } from '../diagnosis.js';
import type { Measurements } from '../measurements/measurements.js';
import { argumentsOf, environmentOf } from './lines.js';

/** Where to look whether llm-d's picker finds what engines have. */
export const PICKER_CHECKS: readonly string[] = [
  'kubectl logs PICKER --since=1m | grep -cE "Failed to (get request key|add event|unmarshal)"    # should be 0',
  'kubectl logs PICKER --since=1m | grep -m3 -E "Got (pod|endpoint) scores"    # at log level 4: scores above 0 for a prompt that was sent before',
];

/** Gives the picker's index the block size of the engines. */
export function pickerSizeFix(engines: number | undefined): ProposedFix {
  const size = engines ?? 'N';
  return {
    says: `Set blockSize: ${size} in the picker's tokenProcessorConfig, as the engines use it`,
    why: 'The picker splits prompts by its own number (16 in the first versions, 64 later) and never compares it with the events. Only the picker restarts; its index fills again as prompts come.',
    disturbs: 'frontend',
    files: [],
    commands: [
      `# EndpointPickerConfig, the precise prefix cache plugin: tokenProcessorConfig: { blockSize: ${size} }    # blockSizeTokens in later versions`,
    ],
    verify: PICKER_CHECKS,
  };
}

/** Gives AIBrix's gateway the block size of the engines. */
export function gatewaySizeFix(engines: number | undefined): ProposedFix {
  const setting = `AIBRIX_PREFIX_CACHE_BLOCK_SIZE=${engines ?? 'N'}`;
  return {
    says: `Set ${setting} on AIBrix's gateway plugin, as the engines use it (--block-size)`,
    why: 'The gateway splits prompts by its own number (16 unless it is set) and never compares it with the events. Only the gateway restarts; its index fills again as prompts come.',
    disturbs: 'frontend',
    files: [],
    commands: [environmentOf("AIBrix's gateway plugin", setting)],
    verify: [
      'curl -s http://GATEWAY:8080/metrics | grep aibrix_prefix_cache_routing_decisions_total    # other buckets than 0 grow',
    ],
  };
}

/** What fills an index that lacks blocks. */
export function indexFixes({ sizes }: Measurements): readonly ProposedFix[] {
  const worker = sizes.rows.find(({ side }) => side === 'worker');
  return [
    {
      says: 'Wait until old blocks are evicted where the picker is younger than the engines: kubectl get pods shows their age',
      why: 'A picker that starts after its engines lacks every block that was stored before. Only prompts that continue old ones are concerned, and it passes under load. Nothing else has to be changed if the errors end.',
      disturbs: 'nothing',
      files: [],
      commands: [
        'kubectl get pods -o wide --sort-by=.status.startTime    # is the picker younger than the engines?',
      ],
      verify: PICKER_CHECKS,
    },
    pickerSizeFix(worker?.tokensPerBlock),
    {
      says: 'Run llm-d 0.10 or later, where the model is a hybrid with several cache groups',
      why: 'Before, the picker took the events of sliding-window and state layers, which have other block sizes, for those of full attention.',
      disturbs: 'frontend',
      files: [],
      commands: [],
      verify: PICKER_CHECKS,
    },
  ];
}

const SLOW_TOKENS = {
  says: 'Give what makes tokens of prompts more replicas and CPUs (vllm launch render, or the tokenizer sidecar), or token-producer a longer timeout in the EndpointPickerConfig',
  why: 'A producer of data ran out of time: the endpoint that renders and tokenizes is overloaded, far away or not there, and the prompt goes by load. Long prompts and images take longest. What later lines say of missing match info follows from it.',
  commands: [
    'kubectl top pods | grep -iE "render|token"    # CPU at its limit',
    'kubectl logs PICKER --since=10m | grep -c "execution timed out"',
    argumentsOf('EndpointPickerConfig, token-producer', 'vllm: { timeout: 5s, mmTimeout: 15s }'),
  ],
} as const;

const OTHER_REQUEST = {
  says: 'Send /v1/chat/completions or /v1/completions, or run a later version of the picker: this one makes no tokens of other kinds of requests',
  why: 'Requests of an API that the token-producer does not read (/v1/messages, /v1/responses in some versions) get no tokens, and so no score by prefix: they go by load.',
  commands: ['kubectl logs PICKER --since=10m | grep -m3 "unsupported request body"'],
} as const;

const NO_TOKENIZER_YET = {
  says: "Start the picker's tokenizer before the picker: as a native sidecar (an init container with restartPolicy: Always and a startupProbe), or as a Service of its own (vllm launch render); a socket needs its folder mounted in both containers (emptyDir), under one path",
  why: 'The picker dials the socket or the address of the tokenizer a few times as it starts, and ends or scores nothing where nobody listens yet. After a restart it mostly works, as the tokenizer is there by then; a name or a path that differs between the two stays.',
  commands: [
    'kubectl get pods PICKER -o wide    # restarts; all containers ready?',
    'kubectl logs PICKER -c TOKENIZER --tail=20    # which socket or port it listens at, and since when',
  ],
} as const;

/** What lets the picker score prompts, by the errors that it reports. */
export function scoringFixes(errors: string): readonly ProposedFix[] {
  const said: Pick<ProposedFix, 'disturbs' | 'files' | 'verify'> = {
    disturbs: 'frontend',
    files: [],
    verify: PICKER_CHECKS,
  };
  // What names its reason, before what follows from it.
  if (/execution timed out|deadline exceeded/i.test(errors)) return [{ ...said, ...SLOW_TOKENS }];
  if (/unsupported request body/i.test(errors)) return [{ ...said, ...OTHER_REQUEST }];
  if (/(?:token|render).{0,300}(?:\bdial (?:unix|tcp)\b|after \d+ attempts|connection refused)/i.test(errors))
    return [{ ...said, ...NO_TOKENIZER_YET }];
  if (/no match info/.test(errors))
    return [
      {
        ...said,
        says: 'Give precise-prefix-cache-producer its inputs in the EndpointPickerConfig: a token-producer, and kvEventsConfig with the topic and port of the workers',
        why: 'The producer has nothing to say of any endpoint: it gets no tokens of prompts, or no KV events. The engines have to publish (--kv-events-config) at the port of podDiscoveryConfig, under a topic that begins with topicFilter. Lines of the first seconds alone are no fault: no event had come yet.',
        commands: [
          'kubectl logs PICKER | grep -m5 -iE "token-producer|kvevents|zmq|subscriber|precise-prefix"    # errors of its inputs',
          'kubectl get pods -o yaml | grep -A1 -- --kv-events-config    # topic and port of the workers',
        ],
      },
    ];
  if (/index cannot be read/.test(errors))
    return [
      {
        ...said,
        says: 'Let the picker reach the Redis or Valkey that holds its index (indexerConfig: redisConfig or valkeyConfig, its address)',
        why: 'The index lies outside the picker, and each look-up ends at its address: no endpoint gets a score, and requests go by load. The error has the address; a Service without endpoints and a NetworkPolicy look the same.',
        disturbs: 'nothing',
        commands: [
          'kubectl get svc,endpoints -A | grep -iE "redis|valkey"    # is there one, and is it ready?',
          'kubectl logs PICKER | grep -m3 "failed to get pods for key"    # the address that is dialled',
        ],
      },
    ];
  if (/another type/.test(errors))
    return [
      {
        ...said,
        says: 'Give prefix-cache-scorer the data producer that belongs to it in the EndpointPickerConfig, and run one version of both',
        why: 'The scorer reads what a producer left with each endpoint, and finds another type there: each endpoint gets a score of 0. Two producers under one name, or plugins of two versions, do this.',
        commands: ['kubectl get cm -o yaml | grep -A12 "kind: EndpointPickerConfig"    # its plugins'],
      },
    ];
  if (/token|template|huggingface|model/i.test(errors))
    return [
      {
        ...said,
        says: "Give the picker the model's tokenizer and chat template (tokenizersPoolConfig, HF_TOKEN=… for gated models)",
        why: 'It makes tokens of prompts itself, with the tokenizer of the model that requests name: it needs access to it (a token for gated models, a path for local ones) under the very name that is served.',
        commands: [
          environmentOf('the picker', 'HF_TOKEN', 'from a Secret, for gated models'),
          argumentsOf('EndpointPickerConfig', 'tokenizersPoolConfig: { modelName: MODEL }'),
        ],
      },
    ];
  return [
    {
      ...said,
      says: 'Run kubectl logs PICKER, and repair the index that its error names',
      why: 'The error names it: Redis or Valkey that cannot be reached, or a plugin that produces the scores and is not configured. The picker restarts; engines stay as they are.',
      commands: ['kubectl logs PICKER | grep -m5 -iE "failed to (look|score|get|query)"'],
    },
  ];
}
