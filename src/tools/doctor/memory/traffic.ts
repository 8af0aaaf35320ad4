import type { Evidence, Origin } from '../evidence.js';
import { KNOWN_PAGES } from '../metrics/known-pages.js';
import { sumOf } from '../metrics/metrics-page.js';

const TRAFFIC = KNOWN_PAGES.flatMap(({ traffic }) => traffic ?? []);

/** What goes through a fleet, where logs or metrics report it. */
export interface Traffic {
  /** Mean tokens of a sequence at its end: prompt and answer. */
  readonly sequenceTokens:
    | { readonly value: number; readonly origin: Origin; readonly says: string }
    | undefined;
  /** Tokens that are new to a worker's cache, each second, over all workers together. */
  readonly newTokensPerSecond:
    | { readonly value: number; readonly origin: Origin; readonly expression: string }
    | undefined;
  /** Workers between which they are divided. */
  readonly workers: number | undefined;
}

/** Reads it from a frontend's metrics, else from the routing decisions in a log. */
export function trafficOf({ metrics, logs }: Evidence): Traffic {
  for (const { page, names } of metrics.flatMap((one) =>
    TRAFFIC.map((traffic) => ({ page: one, names: traffic })),
  )) {
    const input = sumOf(page, `${names.inputTokens}_sum`);
    const inputs = sumOf(page, `${names.inputTokens}_count`);
    if (input === undefined || inputs === undefined || inputs === 0) continue;
    const output = sumOf(page, `${names.outputTokens}_sum`) ?? 0;
    const cached = sumOf(page, `${names.cachedTokens}_sum`) ?? 0;
    const seconds = sumOf(page, names.uptimeSeconds);
    const text = `${inputs} requests, ${input} prompt tokens, ${cached} of them cached, ${output} answer tokens`;
    const origin = { place: page.name, text };
    const fresh = input + output - cached;
    const registered = page.samples.get(names.workers) ?? [];
    const workers = registered.filter(({ valueText }) => Number(valueText) > 0).length;
    return {
      sequenceTokens: {
        value: (input + output) / inputs,
        origin,
        says: 'a sequence has, on the average of what was served',
      },
      newTokensPerSecond:
        seconds === undefined || seconds <= 0 || fresh <= 0
          ? undefined
          : {
              value: fresh / seconds,
              origin,
              expression: `(${input} + ${output} - ${cached} tokens) / ${Math.round(seconds)} s`,
            },
      workers: workers === 0 ? undefined : workers,
    };
  }
  for (const { decisions, firstMs, lastMs } of logs) {
    if (decisions === undefined || decisions.promptTokens === 0) continue;
    const seconds = firstMs === undefined || lastMs === undefined ? 0 : (lastMs - firstMs) / 1_000;
    const { promptTokens, engineCachedTokens, first } = decisions;
    const fresh = promptTokens - engineCachedTokens;
    return {
      sequenceTokens: undefined,
      newTokensPerSecond:
        seconds < 1 || fresh <= 0
          ? undefined
          : {
              value: fresh / seconds,
              origin: first,
              expression: `(${promptTokens} - ${engineCachedTokens} prompt tokens) / ${Math.round(seconds)} s`,
            },
      workers: decisions.byWorker.size === 0 ? undefined : decisions.byWorker.size,
    };
  }
  return { sequenceTokens: undefined, newTokensPerSecond: undefined, workers: undefined };
}
