import { isJsonObject } from '../../edge/platform/data/json-object.js';
import { askedUrl } from '../../edge/platform/net/http-get.js';
import { excerpt } from '../../edge/platform/probe-error.js';
import { EngineKind, EngineState, EvidenceSource } from '../../gen/kvaccord/v1/capabilities.js';
import { FactSheet } from '../facts/fact-sheet.js';
import { parseJsonObject } from '../facts/parse-json-object.js';
import { MAX_METRICS_BYTES, readMetrics } from '../facts/prometheus-text.js';
import { ask } from '../probing/ask.js';
import { requireKind } from '../probing/identify-engine.js';
import { type EngineProbe, ProbeError } from '../probing/probe.js';
import { httpOrigin } from '../probing/probe-origin.js';
import { refuseOtherFormats } from '../probing/refuse-other-formats.js';
import { readSglangFamilies } from '../sglang/metrics.js';
import { readTrtllmFamilies } from '../trtllm/metrics.js';
import { readVllmFamilies } from '../vllm/metrics.js';

/** Every metric of a worker carries its instance id, new at every start, as this label. */
const UPTIME = 'dynamo_component_uptime_seconds';

/**
 * `/live` of a Dynamo worker's system port (`DYN_SYSTEM_PORT`), which answers
 * the same as its `/health`.
 *
 * The overall `status` stays "notready" for ever unless the worker was started
 * with `DYN_SYSTEM_USE_ENDPOINT_HEALTH_STATUS`, although it serves; so the
 * state follows from the endpoints that it lists.
 */
export const dynamoSystemHealth: EngineProbe = {
  name: 'dynamo-system-health',
  engineKind: EngineKind.DYNAMO,
  origin: httpOrigin(EngineKind.DYNAMO, '/live'),
  async probe(target, modules, signal) {
    const url = `${target.httpBaseUrl}/live`;
    const origin = askedUrl(url);
    await requireKind([EngineKind.DYNAMO], target, modules, signal, origin);
    const answer = await modules.httpGet(url, { signal });
    // 503 is an answer here; for any other status the common rules say what it means.
    if (answer.status !== 503) await ask(url, { httpGet: async () => answer }, signal);
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_HTTP,
      origin,
      observedAtMs: modules.clock.wallMs(),
    });
    readSystemHealth(answer.body, sheet);
    return sheet.answer();
  },
};

/** Reads `{"status": …, "endpoints": {"generate": "ready", …}}`. Throws a `ProbeError` when it is something else. */
function readSystemHealth(text: string, sheet: FactSheet): void {
  const body = parseJsonObject(text, sheet.origin);
  const endpoints = body['endpoints'];
  if (!isJsonObject(endpoints)) {
    throw new ProbeError('bad_answer', sheet.origin, `has no endpoints: ${excerpt(text)}`);
  }
  const states = Object.values(endpoints);
  sheet.field('engine.kind', EngineKind.DYNAMO, `status: ${excerpt(String(body['status']))}`);
  if (states.length === 0) {
    sheet.field('engine.state', EngineState.STARTING, 'endpoints: {}');
    return;
  }
  const waiting = states.filter((state) => state !== 'ready').length;
  const state = waiting === 0 ? EngineState.READY : EngineState.STARTING;
  sheet.field('engine.state', state, `endpoints: ${JSON.stringify(endpoints)}`);
}

/**
 * `/metrics` of a Dynamo worker's system port: the engine's own families where
 * the worker passes them on, and the instance id. Dynamo's mocker and 1.6
 * workers report no block size here.
 */
export const dynamoSystemMetrics: EngineProbe = {
  name: 'dynamo-system-metrics',
  engineKind: EngineKind.DYNAMO,
  origin: httpOrigin(EngineKind.DYNAMO, '/metrics'),
  async probe(target, modules, signal) {
    const url = `${target.httpBaseUrl}/metrics`;
    await requireKind([EngineKind.DYNAMO], target, modules, signal, askedUrl(url));
    const answer = await ask(url, modules, signal, MAX_METRICS_BYTES);
    const sheet = new FactSheet({
      source: EvidenceSource.ENGINE_METRICS,
      origin: askedUrl(url),
      observedAtMs: modules.clock.wallMs(),
    });
    refuseOtherFormats(answer.body, sheet.origin);
    readInstance(answer.body, sheet);
    readVllmFamilies(answer.body, sheet);
    readSglangFamilies(answer.body, sheet);
    readTrtllmFamilies(answer.body, sheet);
    return sheet.answer();
  },
};

function readInstance(text: string, sheet: FactSheet): void {
  const samples = readMetrics(text, new Set([UPTIME])).samples.get(UPTIME) ?? [];
  const workers = [...new Set(samples.flatMap(({ labels }) => labels.get('worker_id') ?? []))].sort();
  if (workers.length === 0) return;
  const marker = workers.join(',').slice(0, 256);
  sheet.field(
    'engine.start_marker',
    marker,
    workers
      .map((worker) => `worker_id="${worker}"`)
      .join(',')
      .slice(0, 512),
  );
}
