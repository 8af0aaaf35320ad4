import type { HttpAnswer, HttpGet, ProbeModules } from './probe.js';

/**
 * The modules of one probe round: probes that run side by side and ask the
 * same address share one request and its answer. Identifying the engine in
 * every probe is then free, and an engine sees each path at most once a round.
 * Make a new one for each round; an answer must not outlive it.
 */
export function shareRound(modules: ProbeModules): ProbeModules {
  const asked = new Map<string, Promise<HttpAnswer>>();
  const httpGet: HttpGet = (url, options) => {
    const held = asked.get(url);
    if (held !== undefined) return held;
    const answer = modules.httpGet(url, options);
    asked.set(url, answer);
    return answer;
  };
  return { ...modules, httpGet };
}
