import { reduce } from '../../src/core/agreement/reduce.js';
import type { AgreementEffect, AgreementEvent } from '../../src/core/agreement/state/events.js';
import type { AgreementOptions } from '../../src/core/agreement/state/options.js';
import { DEFAULT_AGREEMENT_OPTIONS } from '../../src/core/agreement/state/options.js';
import type { AgreementState } from '../../src/core/agreement/state/state.js';
import { createAgreement } from '../../src/core/agreement/state/state.js';
import type { FleetView, GroupView, MemberView } from '../../src/core/agreement/view/snapshot.js';
import { viewFleet } from '../../src/core/agreement/view/snapshot.js';
import type { ContractValues } from '../../src/core/contract/contract-values.js';
import { CONTRACT_FIELDS, comparedKey, TOPOLOGY_FIELDS } from '../../src/core/contract/contract-values.js';
import type { SizeFacts } from '../../src/core/contract/evidence/size-rule.js';
import { UNKNOWN_REHASH } from '../../src/core/contract/rehash.js';
import type { Serving } from '../../src/core/contract/serving.js';
import type { ProbeAnswer } from '../../src/core/contract/tokens/token-answers.js';
import { NO_POSITION } from '../../src/core/contract/topology/worker-position.js';
import type { CacheView } from '../../src/core/contract/wire/cache-view.js';
import type { WorkerReport } from '../../src/core/contract/worker-report.js';
import { EngineKind, EvidenceSource } from '../../src/gen/kvaccord/v1/capabilities.js';

/** What a test says of a report; the rest is filled in plainly. */
export interface ReportSketch {
  readonly size?: number;
  readonly model?: string;
  readonly instance?: string;
  readonly revision?: number;
  readonly draining?: boolean;
  readonly unusable?: string;
  readonly values?: ContractValues;
  readonly source?: EvidenceSource;
  readonly declares?: number;
  readonly kind?: EngineKind;
  readonly serving?: Partial<Serving>;
  /** What is known of the sizes that its engine takes, beside its kind and the size it runs. */
  readonly sizeFacts?: Partial<SizeFacts>;
  readonly probes?: readonly ProbeAnswer[];
  readonly misreadEvents?: WorkerReport['misreadEvents'];
  readonly eventEndpoints?: readonly string[];
  readonly engineVersion?: string;
  readonly transfer?: WorkerReport['transfer'];
  readonly position?: WorkerReport['position'];
}

/** A report as the trust border hands it to the agreement. */
export function makeReport(target: string, sketch: ReportSketch): WorkerReport {
  const { size = 32, model = 'tiny', instance = `${target}-1`, revision = 1, unusable, source } = sketch;
  const usable = unusable === undefined;
  const values: ContractValues = usable ? { tokens_per_block: size, ...sketch.values } : {};
  return {
    workerId: target,
    instanceId: instance,
    revision: BigInt(revision),
    group: model,
    engineKind: sketch.kind ?? EngineKind.VLLM,
    engineVersion: sketch.engineVersion ?? '',
    draining: sketch.draining === true,
    usable,
    reasons: usable ? [] : [unusable],
    values,
    contractKey: comparedKey(values, CONTRACT_FIELDS),
    topologyKey: comparedKey(values, [...CONTRACT_FIELDS, ...TOPOLOGY_FIELDS]),
    evidence: {
      source: source ?? EvidenceSource.ENGINE_METRICS,
      origin: `GET http://${target}:8000/metrics`,
      raw: `block_size="${size}"`,
    },
    declared:
      sketch.declares === undefined
        ? undefined
        : { tokensPerBlock: sketch.declares, origin: 'its model card' },
    sizeFacts: {
      engineKind: sketch.kind ?? EngineKind.VLLM,
      runsTokens: usable ? size : undefined,
      ...sketch.sizeFacts,
    },
    rehash: values.block_rehash === undefined ? { ...UNKNOWN_REHASH } : { isPossible: true, reason: '' },
    misreadEvents: sketch.misreadEvents,
    eventEndpoints: [...(sketch.eventEndpoints ?? [])],
    probeAnswers: [...(sketch.probes ?? [])],
    transfer: sketch.transfer,
    position: sketch.position ?? NO_POSITION,
    serving: {
      httpUrls: [`http://${target}:8000`],
      ranks: [0],
      servedNames: [model],
      loraAdapters: [],
      role: 'aggregated',
      maxModelLen: undefined,
      tokenizerFingerprint: undefined,
      ...sketch.serving,
    },
  };
}

/** A fleet that a test drives by hand, on a clock of its own. */
export class TestFleet {
  readonly state: AgreementState;
  readonly effects: AgreementEffect[] = [];
  nowMs = 0;

  constructor(options: Partial<AgreementOptions> = {}) {
    this.state = createAgreement({ ...DEFAULT_AGREEMENT_OPTIONS, ...options });
  }

  do(event: AgreementEvent): AgreementEffect[] {
    const effects = reduce(this.state, event, this.nowMs);
    this.effects.push(...effects);
    return effects;
  }

  list(...targets: string[]): AgreementEffect[] {
    return this.do({ type: 'listed', members: targets.map((target) => ({ target, draining: false })) });
  }

  report(target: string, sketch: ReportSketch = {}): AgreementEffect[] {
    return this.do({ type: 'report', target, report: makeReport(target, sketch) });
  }

  broken(target: string, reason = 'connection refused'): AgreementEffect[] {
    return this.do({ type: 'broken', target, reason });
  }

  alive(target: string): AgreementEffect[] {
    return this.do({ type: 'alive', target });
  }

  /** The index says what it knows of a worker's cache. */
  cacheViewChanged(
    target: string,
    level: CacheView,
    reason = '',
    instanceId = `${target}-1`,
  ): AgreementEffect[] {
    return this.do({ type: 'cache_view', target, instanceId, level, reason });
  }

  /** The index met events of another width and did not apply them. */
  mismatched(
    target: string,
    tokensPerBlock: number,
    count = 1,
    instanceId = `${target}-1`,
  ): AgreementEffect[] {
    return this.do({ type: 'mismatched_events', target, instanceId, tokensPerBlock, count });
  }

  /** Moves time on, ticking whenever the agreement asked to be ticked. */
  advance(durationMs: number): AgreementEffect[] {
    const endMs = this.nowMs + durationMs;
    const effects: AgreementEffect[] = [];
    for (;;) {
      const deadlineMs = this.state.dueAtMs;
      if (deadlineMs === undefined || deadlineMs > endMs) break;
      this.nowMs = Math.max(this.nowMs, deadlineMs);
      effects.push(...this.do({ type: 'tick' }));
    }
    this.nowMs = endMs;
    return effects;
  }

  view(): FleetView {
    return viewFleet(this.state, this.nowMs);
  }

  group(name = 'tiny'): GroupView {
    const group = this.view().groups.find((candidate) => candidate.group === name);
    if (group === undefined) throw new Error(`no group ${name}`);
    return group;
  }

  member(target: string): MemberView {
    const { groups, unassigned } = this.view();
    const found = [...groups.flatMap(({ members }) => members), ...unassigned].find(
      (m) => m.target === target,
    );
    if (found === undefined) throw new Error(`no member ${target}`);
    return found;
  }

  logs(code?: string): string[] {
    return this.effects.flatMap((effect) =>
      effect.type === 'log' && (code === undefined || effect.code === code)
        ? [`${effect.level.toUpperCase()} ${effect.message}`]
        : [],
    );
  }
}
