import { errorKindOf } from './error-kinds.js';
import { plain } from './fault-classes.js';

/** A setting by its name: a flag, a variable of the environment, a key with its path. */
const FLAG = '--[a-z][\\w-]{2,60}';
const VARIABLE = '[A-Z][A-Z0-9]{1,20}(?:_[A-Z0-9]{1,30}){1,8}';
const KEY =
  '[a-z][a-z0-9]{0,30}(?:\\.[a-z][a-z0-9]{0,30}){0,4}(?:_[a-z0-9]{1,30}){1,8}(?:\\.[a-z0-9_]{2,60}){0,4}';
const NAME = `(?<![\\w./-])['"\`]?(?:${FLAG}|${VARIABLE}|${KEY})['"\`]?(?![\\w/(])`;
/** The same with the value that it has: `tp_size=8`, `local_size (4)`, `NAME value 'x'`. */
const GIVEN = `${NAME}(?: ?={1,2} ?[\\w.'"-]{1,60}| ?\\([^()]{1,60}\\)| (?:values? |policy )?'[^']{0,60}'|: ?'[^']{1,60}'| \\d{1,9})?`;

const MUST = "(?:must|should|has to|have to|needs? to|can ?not|can't|can only|may not|may only)\\b";
const IS_WRONG =
  '(?:is|are|was) (?:currently |yet )?(?:required|not (?:currently |yet )?(?:supported|set|valid|allowed|compatible|configured|specified|provided|enabled|applicable|defined|available)|unset|mandatory|mutually exclusive|incompatible|invalid|unsupported|only (?:supported|valid|allowed|for|available)|(?:smaller|larger|greater|less|longer) than|out of range|no longer|neither|already|enabled but|set but|experimental and)\\b';
const ASKS =
  "(?:currently )?(?:requires?|needs? (?!to be (?:re)?loaded)|does(?: not|n't) (?:yet |currently )?(?:support|exist|match|contain)|only supports?|conflicts? with|was renamed to|has been (?:renamed|removed)|mismatch\\b|exceeds\\b|has (?:an )?invalid value\\b)";

const PATTERNS: readonly RegExp[] = [
  // "data_parallel_size_local must be 1", "LEADER_A and LEADER_B cannot both be set".
  new RegExp(`${GIVEN}(?:,? (?:and|or|/) ${GIVEN}){0,2} (?:${MUST}|${IS_WRONG}|${ASKS})`),
  // "standalone-store mode requires global_segment_size == 0".
  new RegExp(`\\brequires? ${NAME} ?={1,2} ?\\w`),
  // "Invalid environment variable VLLM_CPU_KVCACHE_SPACE 40GiB", "unknown kv_connector: x", "Duplicate node_id".
  new RegExp(
    `\\b(?:[Ii]nvalid|[Uu]nknown|[Uu]nsupported|[Uu]nrecogni[sz]ed|[Mm]issing|[Dd]uplicate|[Ii]llegal|[Bb]ad) (?:value )?(?:of |for |in )?(?:the )?(?:(?:[a-z][\\w-]{1,30}) ){0,3}${NAME}`,
  ),
  // A value that is none of those which there are.
  /\b(?:[Ii]nvalid|[Uu]nknown|[Uu]nsupported|[Uu]nrecogni[sz]ed|not supported|not found|not recogni[sz]ed|does not exist|not a valid|is not valid|must be|should be|got)\b.{0,160}\b(?:[Vv]alid|[Ss]upported|[Aa]llowed|[Aa]vailable|[Ee]xpected|[Pp]ossible|[Aa]ccepted|[Kk]nown|[Cc]hoose)(?: [a-z][\w-]{1,20}){0,3}(?: are| is| from| one of)?:? ?[[('"{`\w]/,
  /\b(?:must|should) be (?:either|one of|any of|between|in (?:the )?range)\b/,
  // "role='reader' in /etc/mooncake.json is not one of: producer, consumer".
  /\b[a-z][\w.]{1,40}=['"][^'"]{1,60}['"] (?:in \S{1,160} )?is not one of\b/,
  // Settings of which one excludes or needs another.
  /\bmutually exclusive\b|\b(?:cannot|can not|can't|must not|may not) (?:both )?be (?:used|combined|specified|set|enabled|given|configured|provided) (?:together|at the same time|simultaneously|with\b|when\b|unless\b|in combination)|\bcannot (?:set|use|specify|combine|enable) .{3,80} (?:together|at the same time|simultaneously)|\bmust be (?:set|specified|provided|given|used|configured) together\b|\bmust (?:specify|set|provide|configure|define|have) (?:either|exactly one|at least one|only one|both)\b|\bcannot both be\b/i,
  // A configuration as a whole.
  /\b(?:[Cc]onfig(?:uration)?|[Ss]ettings?|[Oo]ptions?|[Pp]arameters?|[Aa]rguments?) (?:[Vv]alidation failed|[Ee]rror:|is invalid|are invalid)|\b[Ii]nvalid (?:[\w-]{1,30} ){0,4}config(?:uration)?s?\b/,
  /\b[Ff]ailed to (?:parse|load|read|validate|complete|initialize) (?:[\w-]{1,30} ){0,3}config(?:uration)?\b/,
  /\benv(?:ironment)? var(?:iable)?s? .{0,80}(?:is |are )?(?:not (?:set|found|defined)|missing|must|required)/i,
];

/** What one request has wrong, or tensors within the program: nobody sets them. */
const NOT_SETTINGS =
  /\b(?:batch_size|num_(?:new|computed|scheduled|cached|external)_(?:tokens|blocks|computed_tokens)|(?:req|block|new_block|token)_ids|in-cluster|[Ii]nternal [Ee]rror|[Ii]nput length|shorter input|HTTPException|max_(?:completion_)?tokens|temperature|(?:top|min)_[pk]|best_of|(?:prompt_)?logprobs|stop(?:_token_ids)?|logit_bias|tool_(?:choice|calls?)|[Ii]nvalid (?:tool config\w{0,10}|request type|execution result)|response_format|guided_\w{1,30}|structured_outputs?|json_schema|input_ids|prompt_(?:embeds|token_ids)|image_url|chat_template\w{0,10}|add_generation_prompt|sampling_params|lora_(?:name|path)|messages?|prompts?|this request|kv_transfer_params|bootstrap_room|\w{0,20}free_block|free_list|fake_free_list_\w{4}|(?:transfer|job|kv_request)_id\w{0,1}|ref_cnt|(?:length|[Rr]ead size|[Ww]rite size) mismatch|contiguous|strides?|shapes?|numel|tensors?|ndim|(?:cu_)?seq_?lens?\w{0,4}|int(?:8|32|64)|callable|iterable|coroutine|NoneType|torch\.Size|instance of|HTTP\/1|NameError|UnboundLocalError|Bad ?Request|should never|bug)\b/i;
/** Names of codes and of states, which have the form of variables. */
const CODES =
  /\b(?:(?:NIXL|CUDA|NCCL|UCS|UCX|AWS|RPC|LLM|HCCL|ACL|HF|GL|NV|SSL|CUBLAS|CUDNN|ZMQ)_(?:ERR\w{0,40}|STATUS_\w{1,60}|ERROR_\w{1,60}|IO_\w{1,60}|[A-Z]{1,20}_(?:FAILED|ERROR|TIMEOUT))|[A-Z_]{2,40}_(?:FAIL(?:ED|URE)?|ERROR|NOT_FOUND|EXISTS|TIMEOUT|EXHAUSTED|ABORTED|READY|REFUSED|DENIED|UNAVAILABLE|EXCEEDED))\b/g;
const MAX_CHARS = 600;

/** Whether a sentence demands something of settings that it names: what they must be, what they exclude, which values there are. */
function demandsSetting(sentence: string): boolean {
  const text = sentence.slice(0, MAX_CHARS).replace(CODES, 'code');
  return !NOT_SETTINGS.test(text) && PATTERNS.some((pattern) => pattern.test(text));
}

/** A value that a setting needs in another one, which looks like the version of a package: "requires global_segment_size == 0". */
const OF_VALUE = /\brequires? [a-z][a-z0-9]*_\w{1,60} ?==? ?\w/;

/** A sentence that demands something of settings; undefined for another, and where a kind of error says more: memory, a model, GPUs. */
export function demandIn(sentence: string): string | undefined {
  if (!demandsSetting(sentence)) return undefined;
  const kind = errorKindOf(sentence.slice(0, MAX_CHARS));
  const isOwn = kind === undefined || kind === 'internal' || (kind === 'versions' && OF_VALUE.test(sentence));
  return isOwn ? plain(sentence) : undefined;
}
