import fc from 'fast-check';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { loadEngineProbes } from '../../../src/engines/catalogue/engines.js';
import { CapabilityReport, EngineKind } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { StreamCounts } from '../../../src/worker/kv-events/readers/stream-counts.js';
import { SidecarMetrics } from '../../../src/worker/sidecar/http/sidecar-metrics.js';
import { sidecarStatus } from '../../../src/worker/sidecar/http/sidecar-pages.js';
import type { KvEventsController } from '../../../src/worker/sidecar/kv-events/kv-events-controller.js';
import type { KvEventsEndpoint } from '../../../src/worker/sidecar/kv-events/kv-events-service.js';
import { runProbeRound } from '../../../src/worker/sidecar/probing/probe-round.js';
import { CapabilitiesEndpoint } from '../../../src/worker/sidecar/report/capabilities-service.js';
import { OfferBoard } from '../../../src/worker/sidecar/report/offer-board.js';
import { ReportStore } from '../../../src/worker/sidecar/report/report-store.js';
import { SideChannelChecks } from '../../../src/worker/sidecar/transfer/side-channel-checks.js';
import { probeModules } from '../../engines/probing/probe-run.js';
import { recording } from '../../engines/probing/recorded-engine.js';
import { FakeClock } from '../../support/fake-clock.js';
import { readyView } from './support/views.js';

const ENGINE_PROBES = await loadEngineProbes();

/** What engines answered, by the path that is asked. */
const ANSWERS: Readonly<Record<'vllm' | 'sglang', Readonly<Record<string, string>>>> = {
  vllm: {
    '/v1/models': recording('vllm-0.32.0/models.b32.json'),
    '/metrics': recording('vllm-0.32.0/metrics.b32.txt'),
    '/version': recording('vllm-0.32.0/version.b32.json'),
    '/server_info': recording('vllm-0.32.0/server_info.b32.json'),
    '/kv_event_sources': recording('vllm-0.32.0/kv_event_sources.b32.json'),
  },
  sglang: {
    '/v1/models': recording('sglang-0.5.23/models.p32.json'),
    '/metrics': recording('sglang-0.5.23/metrics.p32.txt'),
    '/server_info': recording('sglang-0.5.23/server_info.p32.json'),
  },
};

/** Numbers that break what is made of them without a look: dates, lengths, labels, counters. */
const NUMBERS = [
  'NaN',
  '-NaN',
  'Infinity',
  '+Inf',
  '-Inf',
  '1e308',
  '-1e308',
  '1e999',
  '-1',
  '-0',
  '0',
  '0.5',
  '1048577',
  '4294967296',
  '8640000000001',
  '9007199254740993',
  '18446744073709551616',
  '0x20',
  '""',
  '"32"',
  'null',
  'true',
  '[]',
  '{}',
] as const;

/** The same text with some of its numbers changed. */
function withNumbers(text: string, changes: readonly (readonly [at: number, value: string])[]): string {
  const by = new Map(changes);
  let at = 0;
  return text.replace(/(?<![\w.-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])/g, (number) => {
    const changed = by.get(at % 97);
    at += 1;
    return changed ?? number;
  });
}

it('whatever numbers an engine answers, the report can be made, sent, counted and shown', async () => {
  const clock = new FakeClock();
  const engine = fc.constantFrom('vllm' as const, 'sglang' as const);
  const changes = fc.array(fc.tuple(fc.nat({ max: 96 }), fc.constantFrom(...NUMBERS)), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(engine, changes, async (name, changed) => {
      const answers = ANSWERS[name];
      const modules = probeModules({
        httpGet: async (url) => {
          const body = answers[new URL(url).pathname];
          return body === undefined
            ? { status: 404, contentType: '', body: '' }
            : { status: 200, contentType: '', body: withNumbers(body, changed) };
        },
      });
      const engineKind = name === 'vllm' ? EngineKind.VLLM : EngineKind.SGLANG;
      const round = await runProbeRound(
        { probes: ENGINE_PROBES, targets: [{ httpBaseUrl: 'http://engine', engineKind }] },
        modules,
        new AbortController().signal,
      );
      const registry = new Registry();
      const store = new ReportStore({ workerId: 'w', sidecarVersion: '0' }, { clock, view: readyView([]) });
      const endpoint = new CapabilitiesEndpoint(
        {},
        {
          store,
          offers: new OfferBoard({ clock }),
          sideChannels: new SideChannelChecks({ clock }),
        },
      );
      const kvEvents = { reader: undefined, sources: [], reason: '', relay: { ranks: [] } };
      const metrics = new SidecarMetrics({
        registry,
        store,
        endpoint,
        events: { subscribers: 0 } as unknown as KvEventsEndpoint,
        kvEvents: kvEvents as unknown as KvEventsController,
      });
      metrics.countRound(round);
      const facts = round.results.flatMap(({ outcome }) =>
        outcome.type === 'answered' ? outcome.facts : [],
      );
      store.setView({ ...readyView(facts), facts });
      const bytes = CapabilityReport.encode(store.current).finish();
      const size = CapabilityReport.decode(bytes).contract?.tokensPerBlock;
      if (size !== undefined) {
        expect(Number.isInteger(size) && size >= 1 && size <= 1_048_576).toBe(true);
      }
      expect(await registry.metrics()).not.toMatch(/ (?:NaN|undefined)$/m);
      JSON.stringify(CapabilityReport.toJSON(store.current));
      sidecarStatus(store, kvEvents as unknown as KvEventsController);
    }),
    { numRuns: 60 },
  );
}, 60_000);

it('whatever time a batch of KV events names, the lag that is counted is a number within its bounds', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.double(), fc.constantFrom(1e308, -1e308, 8.64e18))), (lags) => {
      const counts = new StreamCounts();
      for (const lagMs of lags) counts.countLag(lagMs);
      expect(counts.lagSumMs).toBeGreaterThanOrEqual(0);
      expect(counts.lagSumMs).toBeLessThanOrEqual(3_600_000 * lags.length);
      expect(counts.lagBuckets.reduce((sum, count) => sum + count, 0)).toBe(counts.lagCount);
    }),
  );
});
