import { unresolvedStoreOf } from './name-rules.js';

/** Exceptions of a connector that was given a key, a format or an argument of a kind that it does not take. */
const OF_KIND = /format string|unexpected keyword|has no attribute|not support|unhashable|must be|argument/;
/** "reading from redis:6379 :", "connecting to redis-master:6379.", "redis://10.0.0.7:6379"; never what stands before an @. */
const ADDRESS =
  /(?:reading from|writing to|connect(?:ing|ion)? to|:\/\/(?:[^@\s/]{1,200}@)?) ?([a-z0-9][\w.-]{0,120}:\d{2,5})\b/i;
/** The pool of vllm-ascend, which says the same of its own store. */
const OF_ASCEND = /\[(?:pool_\w+|kv_transfer)\.py|kv_pool|ascend/i;
/** vLLM's MooncakeStoreConnector, which asks the store of Mooncake (mooncake/store/worker.py, 0.33). */
const OF_MOONCAKE = /\[worker\.py:\d{1,5}\] Remote connection failed in lookup: /;

/** The beginning of what is said of it, before an address. */
export const REMOTE_STORE = "LMCache's remote store";

/** What keeps LMCache from its remote store, by the reason behind its sentence. The first that fits counts. */
const REASONS: readonly (readonly [pattern: RegExp, says: (store: string) => string])[] = [
  [
    /No adapter found for URL: (?:lm|redis|rediss|redis-sentinel|valkey|infinistore|mooncakestore|fs|s3|blackhole|audit):\/\//,
    () => 'LMCache could not load its adapter of the remote store',
  ],
  [
    /No adapter found for|Unsupported (?:remote )?(?:url|scheme)|Invalid remote url/i,
    () => 'LMCache has no adapter for the URL of its remote store',
  ],
  [/Broken pipe|\[Errno 32\]/, (store) => `${store} went away while LMCache used it`],
  [
    /NOAUTH|Authentication required|WRONGPASS|invalid username-password|AUTH (?:failed|<password>)|NOPERM/i,
    (store) => `${store} refuses the password`,
  ],
  [
    /Connection reset by peer|\b104\b|\bSSL|wrong version number|EOF occurred in violation|certificate verify|Connection closed by server/i,
    (store) => `${store} ends each connection (TLS on one side alone, as a rule)`,
  ],
];

/** The fault in a line about LMCache's connection to its remote store. */
export function remoteStoreFaultOf(text: string): string {
  if (OF_KIND.test(text)) return 'LMCache does not take what its store gives or is given';
  const unresolved = unresolvedStoreOf(text);
  if (unresolved !== undefined) return unresolved;
  if (OF_ASCEND.test(text)) return "Ascend's KV pool is not reached";
  if (OF_MOONCAKE.test(text)) return 'Mooncake is not reached';
  const address = ADDRESS.exec(text)?.[1];
  const store = `${REMOTE_STORE}${address === undefined ? '' : ` ${address}`}`;
  const says = REASONS.find(([pattern]) => pattern.test(text))?.[1];
  return says?.(store) ?? `${store} is not reached`;
}
