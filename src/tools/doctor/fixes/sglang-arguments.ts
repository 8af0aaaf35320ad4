import { argumentsOf } from './lines.js';

/** How a check of SGLang's arguments speaks of one of them, its flag, and how the engine is started without it. */
type Words = readonly [pattern: RegExp, flag: string, without: string];

/** In the order in which they are named. Of `server_args.py` and `arg_groups`, 0.4.6 to 0.5.23. */
const WORDS: readonly Words[] = [
  [/\blora\b|\blora_paths\b|max_lora/i, '--enable-lora', 'without --enable-lora and --lora-paths'],
  [
    /\bspec(?:ulative)? (?:decoding|algorithm|v\d)|\b(?:EAGLE3?|MTP|NEXTN|DFLASH|DSPARK|NGRAM|STANDALONE|UNO)\b|\bDSpark\b|speculative_algorithm/i,
    '--speculative-algorithm',
    'without --speculative-algorithm',
  ],
  [/speculative moe runner/i, '--speculative-moe-runner-backend', 'without --speculative-moe-runner-backend'],
  [/\bmulti-item scoring\b/i, '--enable-mis', 'without --enable-mis (--multi-item-scoring-delimiter)'],
  [/\bPP\b|pipeline[ -]parallel\w*/i, '--pp-size', 'with --pp-size 1'],
  [
    /\b(?:prefill[ -])?context[ -]parallel\w*|\bCP\b/i,
    '--attn-cp-size',
    'without --enable-prefill-cp and --attn-cp-size',
  ],
  [/\bdecode context parallel\w*|\bDCP\b/i, '--dcp-size', 'without --dcp-size'],
  [
    /\b(?:dp|data[ -]parallel) attention|attention DP/i,
    '--enable-dp-attention',
    'without --enable-dp-attention',
  ],
  [/\bTBO\b|two[ -]batch[ -]overlap/i, '--enable-two-batch-overlap', 'without --enable-two-batch-overlap'],
  [/\bsingle[ -]batch[ -]overlap/i, '--enable-single-batch-overlap', 'without --enable-single-batch-overlap'],
  [/overlap schedul\w+/i, '--disable-overlap-schedule', 'with --disable-overlap-schedule'],
  [/mixed chunk(?:ed prefill)?/i, '--enable-mixed-chunk', 'without --enable-mixed-chunk'],
  [/chunked prefill/i, '--chunked-prefill-size', 'with --chunked-prefill-size -1'],
  [
    /hierarchical cache|hi-?cache/i,
    '--enable-hierarchical-cache',
    'without --enable-hierarchical-cache and --hicache-storage-backend',
  ],
  [/radix (?:cache|attention)|prefix cach\w+/i, '--disable-radix-cache', 'with --disable-radix-cache'],
  [
    /\bPD[ -]?disaggregation|disaggregated serving|\bPD\b/i,
    '--disaggregation-mode',
    'without --disaggregation-mode',
  ],
  [/\bPD-?Mux\w*|pd-?multiplexing/i, '--enable-pdmux', 'without --enable-pdmux'],
  [/\bhisparse\b/i, '--enable-hisparse', 'without --enable-hisparse'],
  [
    /deterministic inference/i,
    '--enable-deterministic-inference',
    'without --enable-deterministic-inference',
  ],
  [/torch\.? ?compile/i, '--enable-torch-compile', 'without --enable-torch-compile'],
  [/cuda graph/i, '--disable-cuda-graph', 'with --disable-cuda-graph'],
  [/\bEPLB\b/i, '--enable-eplb', 'without --enable-eplb'],
  [/\belastic ep\b/i, '--elastic-ep-backend', 'without --elastic-ep-backend'],
  [/priority scheduling/i, '--enable-priority-scheduling', 'without --enable-priority-scheduling'],
  [/\bDeepEP\b|\bA2A\b/i, '--moe-a2a-backend', 'without --moe-a2a-backend'],
  [
    /\bMoE (?:runner )?backend|\bmoe_runner_backend|(?:flashinfer|cutlass|triton kernel)\b.{0,16}\bMoE\b/i,
    '--moe-runner-backend',
    'with another --moe-runner-backend',
  ],
  [
    /attention backends?|\battn backend|\b(?:fa3|trtllm_mha|aiter|flashmla|flashinfer)\b.{0,60}is required for/i,
    '--attention-backend (--prefill-attention-backend, --decode-attention-backend)',
    'with another --attention-backend',
  ],
  [/kv[ _]cache[ _]dtype|\bFP[48] KV cache/i, '--kv-cache-dtype', 'with --kv-cache-dtype auto'],
  [/\bquantization\b/i, '--quantization', 'without --quantization'],
  [/tensor parallel size|\battention TP\b|\bTP ?size/i, '--tp-size', 'with another --tp-size'],
  [/expert parallel size|\bEP size/i, '--ep-size', 'with --ep-size 1'],
  [/number of nodes/i, '--nnodes', 'with --nnodes 1'],
  [/tokenizer worker num/i, '--tokenizer-worker-num', 'without --tokenizer-worker-num'],
  [/\bIB devices?\b/i, '--disaggregation-ib-device', 'without --disaggregation-ib-device'],
];

/** Arguments that sentences call by their names in Python. */
const NAME =
  /(?<![\w./-])(?:(?:tp|dp|pp|ep|dcp|dwdp|page|attn_[cd]p|moe_dp|moe_dense_tp|chunked_prefill)_size|(?:prefill_|decode_)?attention_backend|(?:sampling|elastic_ep|disaggregation_transfer|moe_a2a)_backend|disaggregation_mode|kv_cache_dtype|load_format|(?:base_gpu_id|gpu_id_step|gc_threshold|lora_paths|mamba_track_interval|served_model_name|mm_process_config|eplb_algorithm)|max_(?:loaded_loras|loras_per_batch)|pp_max_micro_batch_size|schedule_(?:policy|conservativeness)|speculative_[a-z_]{4,40}|enable_[a-z_]{3,40}|disable_[a-z_]{3,40}|hicache_[a-z_]{3,40})\b(?![.(])/g;
const FLAG = /--[a-z][\w-]{2,60}/g;
/** A combination that is refused; it works without one of its parts. */
const REFUSES =
  /not (?:yet |currently |be )?(?:supported?|compatible|allowed|available)|(?:does|do|is|are)(?: not|n'?t) (?:yet |currently )?(?:support|compatible)|incompatible|conflicts? with|mutually exclusive|in progress|\bcannot be (?:used|combined|enabled)|only supports? (?:on )?(?:CUDA|NPU|XPU|ROCm|HIP|Hopper|Blackwell|SM\d)|only supported on/i;
/** What is demanded of a value, whatever the same sentence says of the present one. */
const DEMANDS = /\bmust (?:be|equal|match)\b|\bshould be\b|\bplease (?:set|use|specify)\b/i;
/** Flags that switch a part on or off: there is no value of them to correct. */
const FEATURE = /^--(?:enable-|disable-|speculative-algorithm|disaggregation-mode|elastic-ep-backend)/;
/** Sizes that one sentence compares by their names and by words. */
const SIZES = ['--tp-size', '--ep-size', '--nnodes'];

/** Whether a sentence of SGLang is about what it was started with: it demands or refuses a value. */
export function demandsOfSglang(sentence: string): boolean {
  return (
    REFUSES.test(sentence) ||
    DEMANDS.test(sentence) ||
    /\bonly supports?\b|\brequires?\b|\brequired for\b|^(?:Invalid|Unsupported|Unknown) /.test(sentence)
  );
}

/** What a check of SGLang's arguments asks to change, by the flags of its sentence; undefined where it names none. */
export function correctedArguments(
  sentence: string,
): readonly [says: string, why: string, commands: readonly string[]] | undefined {
  const ways = REFUSES.test(sentence) && !DEMANDS.test(sentence) ? waysAround(sentence) : [];
  if (ways.length > 0)
    return [
      `Start the engine ${ways.slice(0, 3).join(', or ')} (kubectl edit)`,
      'SGLang checks its arguments against each other and against the model before it loads anything. The two are refused together in this version; the rest of the command is in order.',
      [argumentsOf('the engine', ways[0] ?? '')],
    ];
  const flags = flagsIn(sentence);
  const [first] = flags;
  if (first === undefined) return undefined;
  const said = sentence.replaceAll('"', "'");
  const feature =
    FEATURE.test(first) &&
    !sentence.includes(first.slice(2).replaceAll('-', '_')) &&
    !sentence.includes(first);
  const without = WORDS.find(([, flag]) => flag === first)?.[2] ?? '';
  // Who demands a part does not want it switched off.
  const isDemanded = without.startsWith('with --disable-') && !/disable/i.test(sentence);
  const way = feature && !isDemanded ? without : '';
  const command = feature
    ? argumentsOf('the engine', way === '' ? 'as the sentence asks' : way)
    : argumentsOf('the engine', first, 'as the sentence asks');
  return [
    feature
      ? `Give the command of the engine what the sentence asks for ("${said}")${way === '' ? '' : `, or start it ${way}`} (kubectl edit)`
      : `Correct ${flags.slice(0, 3).join(', or ')} in the command of the engine (kubectl edit): "${said}"`,
    'SGLang checks its arguments against each other and against the model before it serves, and ends with the first that does not fit. Its sentence has the values that it takes.',
    [command],
  ];
}

/** Without the parts that are refused, or with the one that "unless" asks for. */
function waysAround(sentence: string): readonly string[] {
  const [refused = '', asked = ''] = sentence.split(/\bunless\b/);
  return [...waysWithout(refused), ...flagsIn(asked).map((flag) => `with ${flag}`)];
}

function waysWithout(sentence: string): readonly string[] {
  const flags = [...new Set(sentence.match(FLAG) ?? [])].map((flag) => withoutFlag(flag));
  const named = [...new Set(sentence.match(NAME) ?? [])].map((name) => withoutFlag(flagOf(name)));
  const spoken = WORDS.flatMap(([pattern, flag, without]) => {
    const isSaid = pattern.test(sentence) && ![...flags, ...named].some((way) => way.includes(flag));
    return isSaid ? [without] : [];
  });
  return [...new Set([...flags, ...named, ...spoken])];
}

function flagsIn(sentence: string): readonly string[] {
  const named = [...(sentence.match(FLAG) ?? []), ...(sentence.match(NAME) ?? []).map(flagOf)];
  const spoken = WORDS.flatMap(([pattern, flag]) => (pattern.test(sentence) ? [flag] : []));
  const counted = named.length === 0 ? spoken : spoken.filter((flag) => SIZES.includes(flag));
  return [...new Set([...named, ...counted])];
}

function withoutFlag(flag: string): string {
  return /^--disable-/.test(flag) ? `with ${flag}` : `without ${flag}`;
}

function flagOf(name: string): string {
  return `--${name.replaceAll('_', '-')}`;
}
