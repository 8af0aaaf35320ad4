/** How caches behind engines write an error: with the file that it is of, and the sentence. */
const ERRORS: readonly {
  readonly program: string;
  readonly pattern: RegExp;
}[] = [
  // "[2026-11-28 12:00:09,311] LMCache ERROR: SENTENCE (valkey_l2_adapter.py:585:lmcache.v1.distributed.l2_adapters.valkey_l2_adapter)"
  {
    program: 'LMCache',
    pattern:
      /\bLMCache ERROR: (?<said>.{1,600}?) \(\w{1,60}\.py:\d{1,5}:lmcache\.(?:v1\.)?(?<file>[\w.]{1,160})\)/s,
  },
  // "[FLEXKV] ERROR 11-28 12:00:09.311 [transfer_engine.py:131] SENTENCE"
  {
    program: 'FlexKV',
    pattern:
      /\[FLEXKV\] ERROR [\d-]{5,10} [\d:.,]{8,15} \[(?<file>\w{1,60})\.py:\d{1,5}\] (?<said>.{1,600})/s,
  },
];

/** Words of an error that say that blocks are not stored, found or moved. */
const FAILS =
  /\b(?:fail(?:ed|s|ure)?|error|timed? ?out|cannot|could not|unable to|crashed|corrupt(?:ed)?|invalid|mismatch|incomplete|too small|went wrong)\b/i;
/** What a part does as it ends, what it tries again, what it leaves out, and what keeps no blocks. */
const PASSES =
  /\b(?:clos(?:e|ing)|shut(?:ting)? ?down|destroy(?:ing)?|clean(?:ing)? ?up|cleanly|releas(?:e|ing)|unpin|stopp?(?:ing)?|deregister|roll(?:ing)? back|heartbeat|recreating|retry(?:ing)?|try again|ignor(?:e|ing)|skip(?:ping)?|stats|metrics?|prometheus|telemetry|usage|plugin|healthy|ping|not found|temporarily unavailable)\b/i;

/** Files that keep and move no blocks: commands, metrics, checks, servers for people. */
const BESIDE =
  /^(?:cli|tools|sdk|mp_observability|observability|internal_api_server|usage\w*|utils|debug|logging|lmcache_frontend|health_monitor|check|plugin|http_apis)\b/;

/** What a cache behind an engine fails in, by the file that says so: "LMCache fails in distributed/l2_adapters/valkey_l2_adapter"; undefined for every other text. */
export function failingCacheIn(text: string): string | undefined {
  for (const { program, pattern } of ERRORS) {
    const { said, file } = pattern.exec(text)?.groups ?? {};
    if (said !== undefined && file !== undefined && !BESIDE.test(file))
      return FAILS.test(said) && !PASSES.test(said)
        ? `${program} fails in ${file.replaceAll('.', '/')}`
        : undefined;
  }
  return undefined;
}
