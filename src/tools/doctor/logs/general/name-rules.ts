import type { LogFindings } from '../../../../engines/diagnosis/log-findings.js';
import type { LogLine } from '../../../../engines/diagnosis/log-line.js';
import { type LogRule, rule } from '../../../../engines/diagnosis/log-rule.js';

/** What resolvers say of a name that no DNS knows: glibc, Go, and Vineyard's client. */
const SENTENCES = [
  'getaddrinfo() failed',
  'Name or service not known',
  'emporary failure in name resolution',
  'No address associated with hostname',
  ': no such host',
] as const;

/** What a name is of, by its own words. */
const STORE_NAME = /cache|redis|valkey|mooncake|vineyard|infinistore|prisk?v?\b|hpkv|kvstore/i;
/** "getaddrinfo() failed for endpoint kvcache-rpc:9600", "connecting to redis-0:6379", "lookup mooncake-master on", "host='store'". */
const NAME =
  /(?:endpoint|connecting to|connect to|lookup|[Ff]ailed to resolve|host(?:name)?[=:]|:\/\/) ?'?([a-z0-9][\w-]{0,62}(?:\.[\w-]{1,63}){0,8})\b/i;

/** Names of stores, of NATS and of etcd that do not resolve. Those of others, such as of a hub of models, are not looked at. */
export const NAME_RULES: readonly LogRule[] = SENTENCES.map((needle) =>
  rule(needle, (line, found) => readName(line, found, needle)),
);

/** The fault of a store whose name does not resolve; undefined for a line that says no such thing. */
export function unresolvedStoreOf(text: string): string | undefined {
  if (!SENTENCES.some((sentence) => text.includes(sentence))) return undefined;
  const name = NAME.exec(text)?.[1];
  return name !== undefined && STORE_NAME.test(name)
    ? `the name of a store does not resolve: ${name}`
    : undefined;
}

function readName(line: LogLine, found: LogFindings, about: string): void {
  const name = NAME.exec(line.text)?.[1] ?? '';
  const plane = /nats/i.test(name) ? 'NATS' : /etcd/i.test(name) ? 'etcd' : undefined;
  if (plane !== undefined) found.addSignal('control_plane_unreachable', line, { value: plane, about });
  const value = plane === undefined ? unresolvedStoreOf(line.text) : undefined;
  if (value !== undefined) found.addSignal('offload_failed', line, { value, about });
}
