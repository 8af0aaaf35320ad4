import { describe, expect, it } from 'vitest';
import { isMetricsText } from '../../../../src/tools/doctor/metrics/metrics-text.js';

describe('a page of metrics', () => {
  it.each([
    ['has names and types of metrics', '# TYPE some_metric counter\nsome_metric{a="b"} 1\nsome_metric 2\n'],
    [
      'is two lines that a person quotes',
      'vllm:prefix_cache_queries_total  1131\nvllm:prefix_cache_hits_total     0   -> 0% hit\n',
    ],
    ['is one line without an end', 'vllm:prefix_cache_hits_total{engine="0"} 7'],
    [
      'is the answer to a command',
      '$ curl -s localhost:8000/metrics | grep prefix_cache\nvllm:prefix_cache_queries_total{engine="0"} 1131\nvllm:prefix_cache_hits_total{engine="0"} 0\n',
    ],
    ['is indented', '    vllm:prefix_cache_queries_total 1131\n    vllm:prefix_cache_hits_total 0\n'],
  ])('%s', (_what, text) => {
    expect(isMetricsText(text)).toBe(true);
  });

  it.each([
    [
      'a log with one line of metrics',
      'INFO started\nINFO running\nvllm:prefix_cache_hits_total 7\nINFO ended\n',
    ],
    ['a log that speaks of metrics', 'vllm:prefix_cache_hits_total is not known\n'],
    ['numbers with names', 'loss 7\naccuracy 9\nstep 3\n'],
    ['nothing', ''],
  ])('is not %s', (_what, text) => {
    expect(isMetricsText(text)).toBe(false);
  });
});
