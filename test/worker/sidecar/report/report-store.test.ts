import { describe, expect, it } from 'vitest';
import { fieldFact } from '../../../../src/core/contract/evidence/facts.js';
import { observedFacts } from '../../../../src/core/contract/evidence/observed-size.js';
import {
  type CapabilityReport,
  Completeness_State,
  EngineState,
  EvidenceSource,
  HashUnit,
  Topology,
} from '../../../../src/gen/kvaccord/v1/capabilities.js';
import type { EngineView } from '../../../../src/worker/sidecar/probing/engine-watch.js';
import { ReportStore } from '../../../../src/worker/sidecar/report/report-store.js';
import { FakeClock } from '../../../support/fake-clock.js';
import { blockSize, observedSize, servedModel } from '../support/scripted-probe.js';
import { downView, readyView } from '../support/views.js';

function open(view: EngineView = readyView()): {
  store: ReportStore;
  clock: FakeClock;
  published: CapabilityReport[];
} {
  const clock = new FakeClock();
  const store = new ReportStore({ workerId: 'w-1', sidecarVersion: '1.2.3' }, { clock, view });
  const published: CapabilityReport[] = [];
  store.subscribe((report) => published.push(report));
  return { store, clock, published };
}

/** Who has the word on `tokens_per_block`. */
function sourceOfSize({ evidence }: CapabilityReport): EvidenceSource | undefined {
  return evidence.find(({ field }) => field === 'contract.tokens_per_block')?.source;
}

describe('the current report', () => {
  it('is there from the first moment, before the engine was asked', () => {
    const { store } = open(downView());
    expect(store.current.workerId).toBe('w-1');
    expect(store.current.completeness?.state).toBe(Completeness_State.INCOMPLETE);
  });

  it('keeps its revision and informs nobody when a round finds the same, but was observed later', async () => {
    const { store, clock, published } = open();
    const { revision, observedAt } = store.current;
    await clock.advanceMs(10_000);
    store.setView(readyView());
    expect(store.current.revision).toBe(revision);
    expect(store.current.observedAt?.getTime()).toBe((observedAt?.getTime() ?? 0) + 10_000);
    expect(published).toEqual([]);
  });

  it('grows its revision by one for each change and informs everybody once', () => {
    const { store, published } = open();
    const { revision } = store.current;
    store.setView(readyView([blockSize(64), servedModel()]));
    store.setView(downView());
    expect(published.map((report) => report.revision)).toEqual([revision + 1n, revision + 2n]);
    expect(published[0]?.contract?.tokensPerBlock).toBe(64);
  });

  it('begins with a revision above all that an earlier sidecar can have given, even for the same instance', async () => {
    const { store, clock } = open();
    for (let change = 0; change < 50; change += 1) {
      store.setView(change % 2 === 0 ? downView() : readyView());
    }
    await clock.advanceMs(1_000);
    const later = new ReportStore({ workerId: 'w-1', sidecarVersion: '' }, { clock, view: readyView() });
    expect(later.current.revision).toBeGreaterThan(store.current.revision);
  });

  it('does not go back when the wall clock is set back', () => {
    const { store, clock } = open();
    const { revision } = store.current;
    clock.stepWallMs(-86_400_000);
    store.setView(downView());
    expect(store.current.revision).toBe(revision + 1n);
  });

  it('takes topology and further facts in as changes of their own', () => {
    const { store, published } = open();
    store.setTopology(Topology.fromPartial({ notes: ['no GPU found'] }));
    const evidence = {
      source: EvidenceSource.ENGINE_CONFIG,
      origin: 'files',
      raw: 'tokenizer.json',
      observedAtMs: 0,
    };
    store.setExtraFacts([fieldFact('model.tokenizer_fingerprint', 'ab', evidence)]);
    expect(published).toHaveLength(2);
    expect(store.current.topology?.notes).toEqual(['no GPU found']);
    expect(store.current.model?.tokenizerFingerprint).toBe('ab');
    store.setView(readyView());
    expect(published).toHaveLength(2);
  });

  it('takes in what the events of this instance prove, hides it while the engine is down, and drops it with the instance', () => {
    const { store, published } = open();
    const { revision } = store.current;
    store.setObservedFacts(observedFacts([{ ...observedSize(32), unit: 'bigram' }]));
    expect(store.current.revision).toBe(revision + 1n);
    expect(sourceOfSize(store.current)).toBe(EvidenceSource.OBSERVED_EVENT);
    expect(store.current.contract?.hashUnit).toBe(HashUnit.BIGRAM);
    store.setView(downView());
    expect(store.current.contract?.tokensPerBlock).toBeUndefined();
    store.setView(readyView());
    expect(sourceOfSize(store.current)).toBe(EvidenceSource.OBSERVED_EVENT);
    store.setView({ ...readyView(), instanceId: 'i-2' });
    expect(sourceOfSize(store.current)).toBe(EvidenceSource.ENGINE_METRICS);
    expect(store.current.contract?.hashUnit).toBe(HashUnit.UNSPECIFIED);
    expect(published.map((report) => report.revision)).toEqual(
      [1n, 2n, 3n, 4n].map((step) => revision + step),
    );
  });

  it('is incomplete while the events of two ranks differ', () => {
    const { store } = open();
    store.setObservedFacts(observedFacts([observedSize(16, 0), observedSize(32, 1)]));
    expect(store.current.completeness?.state).toBe(Completeness_State.INCOMPLETE);
    expect(store.current.completeness?.reasons[0]).toContain('16 (observed_event, KV events of tcp://e:5557');
    store.setObservedFacts(observedFacts([observedSize(32, 0), observedSize(32, 1)]));
    expect(store.current.contract?.tokensPerBlock).toBe(32);
  });

  it('says DRAINING from then on, whatever the engine does', () => {
    const { store, published } = open();
    store.drain();
    expect(published.at(-1)?.engine?.state).toBe(EngineState.DRAINING);
    store.setView(downView());
    expect(store.current.engine?.state).toBe(EngineState.DRAINING);
  });

  it('sends a listener nothing more after it has left', () => {
    const { store } = open();
    let heard = 0;
    const leave = store.subscribe(() => {
      heard += 1;
    });
    leave();
    store.setView(downView());
    expect(heard).toBe(0);
  });
});
