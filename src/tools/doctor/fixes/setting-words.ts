import { engineOfWord } from '../../../engines/catalogue/engines.js';

/** A setting that a sentence demands, as an operator writes it. */
export interface WantedSetting {
  /** `--page-size 1`, `kv_cache_config: { tokens_per_block: 32 }`. */
  readonly text: string;
  /** With the value that the sentence demands. */
  readonly isValued: boolean;
  /** The sentence has its name, and not only its words. */
  readonly isNamed: boolean;
}

const PAGE = /\bpage[ _-]?size\b/i;
const BLOCK = /\b(?:kv[ _])?block[ _-]?size\b|tokens_per_block/i;

/** Whether a setting is the size of blocks, which routers and other engines must share. */
export function isSizeOfBlocks(setting: string): boolean {
  return /^--(?:page|block)-size\b|tokens_per_block/.test(setting);
}

/** The value that a sentence demands: "must be 1", "only supports page_size 64", "Use 16 instead", "a multiple of 16". */
const DEMANDED =
  /\b(?:must be(?: equal to| set to)?|has to be|should be|only supports? (?:a )?(?:page|block)[ _]size(?: of)?|[Uu]se|set (?:it )?to|multiple of) (\d{1,7}|True|False)\b/;
/** `enable_p2p=False`, not as a condition, nor as the present value, in brackets or further down a list: "got base_addrs=8, self.block_lens=4". */
const ASSIGNED =
  /(?<!(?:\b(?:when|if|with|because|as|got|has|by) |\(|=[\w.]{1,20}, )(?:self\.)?)\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+) ?==? ?(True|False|\d{1,9})\b(?! (?:must|cannot|can't|should|was|is(?! (?:required|needed))|has|does|exceeds)\b)/;
const FLAG = /--[a-z][\w-]{2,60}/g;
/** A name of Python's that can be an argument: its first word is one that arguments begin with. Folders and files are none. */
const NAME =
  /(?<![\w/])(?:enable|disable|max|min|kv|hicache|chunked|page|block|mem|tp|dp|pp|ep|dcp|tensor|data|pipeline|decode|prefill|mamba|speculative|attention|radix|schedule|disaggregation|num|gpu|cpu|swap|moe|cuda|mm|context|long|served|model|quantization)_[a-z0-9_]{2,60}\b(?![/.]\w)/g;
/** Names of that form that are no arguments. */
const INNER_NAME =
  /_(?:bytes|ids?|spec|specs|len_cpu|dim|shape|tensors?|pools?|keys?|params|config_dict)$|^(?:page_(?:head|first(?:_direct)?)|kv_(?:both|producer|consumer)|mm_hash|prefill_end_layer|decode_prefix_len|kv_item_lens?|num_slots|(?:prefill|decode)_(?:attn_)?tp_size|model_config|kv_cache|block_pool|num_kv_tokens|num_(?:tokens|layers|heads|kv_heads|blocks))$/;
/** Keys of `kv_connector_extra_config`, which `--kv-transfer-config` has. */
const IN_EXTRA_CONFIG = /kv_connector_extra_config/;

/** What a sentence asks for by its flag: "set `--mamba-backend triton`", "requires --replayssm-buffer-len <= 16", "Set --max-num-batched-tokens to at least 544". */
const ASKED =
  /\b(?:requires?|needs?|set|use|pass|add|specify(?:ing)?|re-?run with) [`'"]?(--[a-z][\w-]{2,60})[`'"]?(?:(?:=| (<=|>=|to at least|to at most|to(?= \d))? ?)((?!(?:to|or|and|for|with|be|so|because|in|as|is|when|if|on|instead|set|equal|the|that|which|from|by)\b)[a-z0-9](?:[\w.]{0,30}\w)?)(?! ?\+))?/gi;
/** "does not support --mamba-cache-mode align yet; use none". */
const INSTEAD =
  /\bnot support [`'"]?(--[a-z][\w-]{2,60})[ =][\w.]{1,30}[`'"]?(?: yet)?[;,.] use (\w{1,30})\b/;
const LIMIT: Readonly<Record<string, string>> = {
  '<=': ' or less',
  '>=': ' or more',
  'to at most': ' or less',
  'to at least': ' or more',
};

function askedFlags(sentence: string, engine?: string): readonly WantedSetting[] {
  const [, replaced, by] = INSTEAD.exec(sentence) ?? [];
  if (replaced !== undefined) return [{ text: `${replaced} ${by}`, isValued: true, isNamed: true }];
  return [...sentence.matchAll(ASKED)].map(([, flag = '', limit = '', value]) => ({
    text: value === undefined ? takenFlag(flag, engine) : `${flag} ${value}${LIMIT[limit] ?? ''}`,
    isValued: value !== undefined || /^--(?:enable|disable|no)-/.test(flag),
    isNamed: true,
  }));
}

/** As vLLM takes it: some of its errors (0.33) ask for `--disable-prefix-caching`, which is `--no-enable-prefix-caching`. */
function takenFlag(flag: string, engine: string | undefined): string {
  const [, feature] = /^--disable-(.+)$/.exec(flag) ?? [];
  const known = engineOfWord(engine)?.launch?.arguments;
  if (engine !== 'vllm' || feature === undefined || known === undefined) return flag;
  const name = feature.replaceAll('-', '_');
  return known.has(`enable_${name}`) && !known.has(`disable_${name}`) ? `--no-enable-${feature}` : flag;
}

/** Flags that a sentence says to leave out, where it asks for none: "remove --disable-hybrid-kv-cache-manager or use …". */
export function removedFlags(sentence: string): readonly string[] {
  if (askedFlags(sentence).length > 0) return [];
  return [...sentence.matchAll(/\b(?:remove|omit|drop|unset) [`'"]?(--[a-z][\w-]{2,60})/gi)].map(
    ([, flag = '']) => flag,
  );
}

/** A value that is not known, and those that are: "Unsupported ec_role: x. Supported roles are ec_producer, ec_consumer". */
export function knownValues(sentence: string): readonly [value: string, known: string] | undefined {
  const [, value, known] =
    /\b(?:[Uu]nknown|[Uu]nsupported|[Ii]nvalid|[Uu]nrecognized)\b[^:'"]{0,60}?(?::? ['"]|: | backend (?=\w{1,30}\. ))([\w./-]{0,60}\w)['"]?[.;,(]? .{0,30}?\b(?:[Vv]alid|[Ss]upported|[Aa]vailable|[Aa]llowed|[Kk]nown|[Ee]xpected|[Cc]hoo?se|[Mm]ust be)\b[^:]{0,30}?(?:: ?| (?:are|of|from|either):? )(.{3,160})/.exec(
      sentence,
    ) ?? [];
  return value === undefined || known === undefined
    ? undefined
    : [
        value,
        known
          .replace(/;.*$|[.\s]+$/, '')
          .replace(/\}\)$/, '}')
          .trim(),
      ];
}

/** Two settings of which one has to be larger: "max_num_batched_tokens (16) must be greater than or equal to max_num_seqs (32)". */
const RELATION =
  /\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+) ?[(=](\d{1,9})\)? (must(?: not)?|cannot|can't|should|needs to) be (>=?|<=?|greater than or equal to|at least|no less than|less than or equal to|at most|no (?:larger|more) than|(?:larger|greater|more|bigger) than|(?:smaller|less) than) (?:the )?([a-z][a-z0-9]*(?:_[a-z0-9]+)+) ?[(=](\d{1,9})/;
/** Settings within another one. */
const IN_SPECULATION = /^(?:num_speculative_tokens|draft_\w+|(?:ngram_)?prompt_lookup_\w+)$/;

/** A setting that another number has to divide: "num_speculative_tokens:4 must be divisible by n_predict=3". */
const MULTIPLE =
  /\b([a-z][a-z0-9]*(?:_[a-z0-9]+)+) ?[(=:] ?\d{1,9}\)? must be (?:divisible by|a multiple of) \w{1,40} ?[(=:] ?(\d{1,9})/;

/** What either of two settings would have to be; undefined where a sentence compares none. */
function relatedSettings(sentence: string, engine: string | undefined): WantedSetting | undefined {
  const [, name = '', given = '', verb = '', relation = '', other = '', limit = ''] =
    RELATION.exec(sentence) ?? [];
  if (name === '' || engine === 'trtllm') return undefined;
  const isNot = /not|can't/.test(verb);
  const isMore = /^(?:>|greater|larger|more|bigger|at least|no less)/.test(relation) !== isNot;
  const isStrict =
    /^[<>]$|(?:larger|greater|more|bigger|smaller|less) than$/.test(relation) && !/^no /.test(relation);
  const excludes = isStrict !== isNot;
  const [more, less] = excludes ? ['more than', 'less than'] : ['at least', 'at most'];
  return {
    text: `${placed(name)} to ${isMore ? more : less} ${limit}, or ${placed(other)} to ${isMore ? less : more} ${given}`,
    isValued: true,
    isNamed: true,
  };
}

/** A setting as its flag, or within the one that has it. */
function placed(key: string): string {
  return IN_SPECULATION.test(key) ? `"${key}" in --speculative-config` : `--${key.replaceAll('_', '-')}`;
}

/** The setting of such a value: "Invalid event_plane value 'x'". */
const NAMED_VALUE =
  /\b(?:[Uu]nknown|[Uu]nsupported|[Ii]nvalid|[Uu]nrecognized) (?:value for )?([A-Za-z]\w{1,40}_\w{1,60})\b/;

/** The setting that such a sentence names; empty where it names none. */
export function settingOfValue(sentence: string): string {
  return NAMED_VALUE.exec(sentence)?.[1] ?? '';
}

/** The settings that a sentence demands, by the flags of the engine that was seen. */
export function demandedSettings(sentence: string, engine: string | undefined): readonly WantedSetting[] {
  const value = DEMANDED.exec(sentence)?.[1];
  const related = relatedSettings(sentence, engine);
  if (related !== undefined) return [related];
  const [, whole = '', unit] = MULTIPLE.exec(sentence) ?? [];
  if (unit !== undefined && engine !== 'trtllm' && isArgument(whole, engine))
    return [{ text: `${placed(whole)} to a multiple of ${unit}`, isValued: true, isNamed: true }];
  const asked = askedFlags(sentence, engine);
  if (asked.length > 0) return asked.slice(0, 2);
  const flags = [...new Set(sentence.match(FLAG) ?? [])];
  if (flags.length > 0) return flags.slice(0, 3).map((text) => ({ text, isValued: false, isNamed: true }));
  if (IN_EXTRA_CONFIG.test(sentence)) return inExtraConfig(sentence, value);
  const [, assigned, assignedValue = ''] = ASSIGNED.exec(sentence) ?? [];
  if (assigned !== undefined && isArgument(assigned, engine))
    return [{ text: written(assigned, assignedValue, engine), isValued: true, isNamed: true }];
  const names = [...new Set(sentence.match(NAME) ?? [])].filter((name) => isArgument(name, engine));
  const [first] = names;
  // "chunked_prefill_size must be divisible by page_size": the first is demanded, the other is what it depends on.
  if (first !== undefined) {
    const other = names[1];
    const isMultiple = other !== undefined && /divisible by|multiple of/.test(sentence);
    return [
      {
        text: `${written(first, other === undefined ? value : undefined, engine)}${isMultiple ? ` N, a multiple of ${written(other, undefined, engine)}` : ''}`,
        isValued: value !== undefined || isMultiple,
        isNamed: true,
      },
      ...(other === undefined || isMultiple
        ? []
        : [{ text: written(other, undefined, engine), isValued: false, isNamed: true }]),
    ];
  }
  const flag = sizeFlag(sentence, engine);
  if (flag === undefined) return [];
  return [
    { text: written(flag, value, engine), isValued: value !== undefined, isNamed: value !== undefined },
  ];
}

/** Whether a name of Python is that of an argument: where the engine is known, one of its own. */
function isArgument(name: string, engine: string | undefined): boolean {
  if (IN_SPECULATION.test(name)) return engine === 'vllm';
  const known = engineOfWord(engine)?.launch?.arguments;
  return known === undefined ? !INNER_NAME.test(name) : known.has(name);
}

function inExtraConfig(sentence: string, value: string | undefined): readonly WantedSetting[] {
  const keys = [...sentence.matchAll(/'(\w{3,60})'/g)].flatMap(([, key = '']) =>
    /[a-z]_/.test(key) ? key : [],
  );
  const [key = 'block_size'] = keys;
  return [
    {
      text: `--kv-transfer-config '{…,"kv_connector_extra_config":{"${key}":${value ?? 'N'}}}'`,
      isValued: value !== undefined,
      isNamed: true,
    },
  ];
}

/** The argument of the size of blocks, by the words of a sentence: pages are SGLang's, blocks the other engines'. */
function sizeFlag(sentence: string, engine: string | undefined): string | undefined {
  if (/no common block size/i.test(sentence)) return 'block_size';
  if (/\btokens_per_block\b/.test(sentence)) return 'tokens_per_block';
  if (PAGE.test(sentence) && engine !== 'vllm') return engine === 'trtllm' ? 'tokens_per_block' : 'page_size';
  if (BLOCK.test(sentence)) return engine === 'trtllm' ? 'tokens_per_block' : 'block_size';
  return undefined;
}

/** As the engine's operator writes it: a flag, or a line of TensorRT-LLM's YAML. */
function written(name: string, value: string | undefined, engine: string | undefined): string {
  const isOfYaml = engine === 'trtllm' || name === 'tokens_per_block';
  const text = value ?? (isOfYaml ? 'N' : undefined);
  if (IN_SPECULATION.test(name) && !isOfYaml)
    return `"${name}"${text === undefined ? '' : `: ${text}`} in --speculative-config`;
  if (!isOfYaml) {
    const flag = `--${name.replaceAll('_', '-')}`;
    if (text === 'True') return flag;
    if (text === 'False') return `--no-${name.replaceAll('_', '-')}`;
    return text === undefined ? flag : `${flag} ${text}`;
  }
  const isOfCache = /^(?:tokens_per_block|enable_block_reuse|host_cache_size|free_gpu|event_buffer)/.test(
    name,
  );
  const plain = `${name}: ${text === 'True' || text === 'False' ? text.toLowerCase() : text}`;
  return isOfCache ? `kv_cache_config: { ${plain} }` : plain;
}

const UNSUPPORTED =
  /only supports?|\bnot support(?:ed)?\b|(?:does|do)(?: not|n'?t) (?:yet |currently )?support|(?:is|are) (?:currently )?not (?:yet |currently )?(?:supported|compatible|allowed)|unsupported|incompatible|mutually exclusive|can(?:not|'t) be (?:used|combined|enabled)|not compatible|conflicts? with|^cannot (?:specify|use|combine) both/i;

/** What else a sentence may ask for than to leave one of its flags out. */
const ASKS = /\b(?:requires?|must|needs?|use|set|pass|should be|only supports?|supports only|got|add)\b/i;

/** A switch that has to be off, by its name in Python. SGLang's switches are flags without a form that switches them off. */
const OFF = /\b((?:disable|enable)_\w{3,60}) (?:must be|should be|has to be|to be) (?:set to )?False\b/;

/** The flag that a sentence of SGLang wants left out: "disable_overlap_schedule must be False". */
export function switchToLeaveOut(sentence: string): string | undefined {
  const name = OFF.exec(sentence)?.[1];
  return name === undefined ? undefined : `--${name.replaceAll('_', '-')}`;
}

/** Flags that a sentence refuses together, where it asks for no other thing: to be left out, the last first. */
export function conflictingFlags(sentence: string): readonly string[] {
  if (!UNSUPPORTED.test(sentence) || ASKS.test(sentence.replace(FLAG, ''))) return [];
  return [...new Set(sentence.match(FLAG) ?? [])].slice(0, 3).reverse();
}

/** `--kv-events-config` of "--load-publish-endpoint requires --kv-events-config: …", `--backend to one of ('a', 'b')` of "--x requires --backend in ('a', 'b')", `--block-size` of "--block-size is required when --workers is …". */
export function requiredFlag(sentence: string): readonly [flag: string, by: string] | undefined {
  const [, missing, having] =
    /(--[a-z][\w-]{2,60}) (?:is|are) required (?:when|if|with|for|by|because) .{0,40}?(--[a-z][\w-]{2,60})/.exec(
      sentence,
    ) ?? [];
  if (missing !== undefined && having !== undefined) return [missing, having];
  const [, by, flag, list] =
    /(--[a-z][\w-]{2,60})(?: [\w.]{1,30})? (?:currently )?requires? (--[a-z][\w-]{2,60}(?:[ =](?!to\b|or\b|and\b|for\b|with\b|be\b|so\b|because\b|in\b|set\b|equal\b)[a-z0-9_]{1,30})?)(?![\w-])(?: in ([([{][^()[\]{}]{1,120}[)\]}]))?/.exec(
      sentence,
    ) ?? [];
  if (flag === undefined || by === undefined) return undefined;
  return [list === undefined ? flag.replace('=', ' ') : `${flag} to one of ${list}`, by];
}

type Without = Readonly<Partial<Record<'vllm' | 'sglang' | 'trtllm', string>>>;

/** How each engine is started without a feature; the engine's own words, by which it is recognised. */
const FEATURES: readonly (readonly [feature: RegExp, without: Without])[] = [
  [
    /\bHi\w*Radix\w*|hi_?cache|hierarchical[ _]cache|host_pool/i,
    { sglang: 'without --enable-hierarchical-cache' },
  ],
  [/\bLMC\w*Radix\w*|lmcache/i, { sglang: 'without --enable-lmcache', vllm: 'without --kv-transfer-config' }],
  [
    /specul\w*|\bdraft|eagle|\bmtp\b|n-?gram|dflash|dspark|medusa/i,
    {
      vllm: 'without --speculative-config',
      sglang: 'without --speculative-algorithm',
      trtllm: 'no speculative_config',
    },
  ],
  [
    /\w*Connector(?:V\d)?\b|(?:kv|conv)[ _-]transfer|\b(?:UMBP|HF3FS)\b/i,
    { vllm: 'without --kv-transfer-config' },
  ],
  [/offload\w*/i, { vllm: 'without --kv-offloading-size' }],
  [
    /kv[ _-](?:cache )?events?/i,
    { vllm: 'without --kv-events-config', sglang: 'without --kv-events-config' },
  ],
  [/\bPD\b|disaggregat\w*/i, { sglang: 'without --disaggregation-mode' }],
  [
    /prefix[ _-]cach\w*|block reuse/i,
    {
      vllm: 'with --no-enable-prefix-caching',
      sglang: 'with --disable-radix-cache',
      trtllm: 'kv_cache_config: { enable_block_reuse: false }',
    },
  ],
  [/\b(?!Hi|LMC)\w*Radix\w*/, { sglang: 'with --disable-radix-cache' }],
  [
    /chunked[ _-]prefill/i,
    { vllm: 'with --no-enable-chunked-prefill', sglang: 'with --chunked-prefill-size -1' },
  ],
  [/\bpcp\b|prefill[ _-]context[ _-]parallel\w*/i, { vllm: 'without --prefill-context-parallel-size' }],
  [
    /(?<!prefill[ _-])context[ _-]parallel\w*|\bdcp\b/i,
    { vllm: 'without --decode-context-parallel-size', sglang: 'without --dcp-size' },
  ],
  [/beam (?:width|search)/i, { trtllm: 'max_beam_width: 1' }],
  [/pipeline[ _-]paralle\w*/i, { vllm: 'without --pipeline-parallel-size', sglang: 'without --pp-size' }],
  [/hybrid KV cache/i, { vllm: 'with --disable-hybrid-kv-cache-manager' }],
];

/** What to start an engine without, where a sentence says that a feature does not go with the model or with another feature. */
export function refusedFeatures(sentence: string, engine: string | undefined): readonly string[] {
  if (!UNSUPPORTED.test(sentence)) return [];
  const found = FEATURES.flatMap(([feature, without]) => {
    const at = feature.exec(sentence)?.index;
    const text =
      engine === undefined
        ? ofEitherEngine(without)
        : engine === 'vllm' || engine === 'sglang' || engine === 'trtllm'
          ? without[engine]
          : undefined;
    return at === undefined || text === undefined ? [] : [{ at, text }];
  });
  const inOrder = found.sort((one, other) => one.at - other.at).map(({ text }) => text);
  return [...new Set(inOrder)].slice(0, 2);
}

/** Where no engine was seen: a feature that both have is of an engine, and not of a router or of a cache behind it. */
function ofEitherEngine({ vllm, sglang }: Without): string | undefined {
  return vllm === undefined || sglang === undefined ? undefined : `${vllm} (vLLM) or ${sglang} (SGLang)`;
}
