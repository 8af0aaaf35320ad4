import { MEMBER_RANKS, MEMBER_TONES } from '../../core/agreement/view/member-tones.js';
import type { FleetView, MemberView } from '../../core/agreement/view/snapshot.js';
import { fabricName } from '../../core/contract/topology/topology-names.js';
import { EvidenceSource } from '../../core/contract/wire/enums.js';
import { engineKindName, engineRoleName, evidenceSourceName } from '../../core/contract/wire/names.js';
import { shownLine, shownText } from '../../core/view/shown-text.js';
import { VIEW_LIMITS, type ViewWorker } from '../../core/view/view-document.js';
import {
  Canary_State as CanaryState,
  CapabilityReport,
  EngineKind,
  EngineRole,
} from '../../gen/kvaccord/v1/capabilities.js';
import type { LeftOut } from '../router/choice/candidate-list.js';

/** Characters of raw evidence that are shown; the report has more. */
const MAX_EVIDENCE_CHARS = 200;

const OFFERS: Readonly<
  Record<MemberView['offer'], { readonly text: ViewWorker['requests']; readonly rank: number }>
> = {
  none: { text: 'no', rank: 0 },
  load_only: { text: 'load only', rank: 1 },
  full: { text: 'yes', rank: 2 },
};

/** Why the router of this process sends a worker nothing that the agreement offers. */
const LEFT_OUT: Readonly<Record<LeftOut, string>> = {
  role: 'The router here sends it no requests: it computes a part of requests, and no way to send its engine a part is known.',
  alone:
    'The router here sends it no requests: it computes a part of requests, and no worker that computes the other part can be used.',
  unreachable:
    'The router here sends it no requests: no address of its OpenAI server is known. Let its sidecar ask the engine (--engine), or name the address with --worker-urls.',
};

/** Ranks of one state that its offers take. */
const OFFER_RANKS = 3;

const CANARIES: Readonly<Partial<Record<CanaryState, string>>> = {
  [CanaryState.WAITING]: 'waiting',
  [CanaryState.SKIPPED]: 'skipped',
  [CanaryState.PASSED]: 'passed',
  [CanaryState.INCONCLUSIVE]: 'inconclusive',
  [CanaryState.FAILED]: 'failed',
};

/** What follows from a report alone. */
type Reported = Pick<
  ViewWorker,
  | 'evidence'
  | 'engine'
  | 'engineVersion'
  | 'role'
  | 'node'
  | 'rack'
  | 'zone'
  | 'gpus'
  | 'gpuCount'
  | 'fabric'
  | 'canary'
  | 'canaryReason'
>;

interface Known {
  readonly id: number;
  data: Uint8Array | undefined;
  reported: Reported;
  member: MemberView;
  group: string;
  leftOut: LeftOut | undefined;
  view: ViewWorker;
}

/** Why the router of a group leaves a worker out; undefined where it does not. */
type LeftOutOf = (group: string, target: string) => LeftOut | undefined;

/** Where the reports of members are; `FleetRunner` is one. */
export interface ReportSource {
  /** As it came; the same array until another one is taken. */
  reportDataOf(target: string): Uint8Array | undefined;
}

/** What changed of the workers. */
export interface WorkerChanges {
  readonly changed: readonly ViewWorker[];
  /** Numbers of those that are gone. */
  readonly gone: readonly number[];
}

/** The workers as they are shown, each with its number. A report is decoded once, when it is another one. */
export class ViewWorkers {
  readonly #reports: ReportSource;
  readonly #known = new Map<string, Known>();
  readonly #targets = new Map<number, string>();
  #nextId = 1;

  constructor(modules: { readonly reports: ReportSource }) {
    this.#reports = modules.reports;
  }

  /** All, at most 10,000. */
  get all(): ViewWorker[] {
    return [...this.#known.values()].map(({ view }) => view);
  }

  /** The number of a worker; undefined where it is not shown. */
  readonly idOf = (target: string): number | undefined => this.#known.get(target)?.id;

  /** The target of a number; undefined where none has it. */
  targetOf(id: number): string | undefined {
    return this.#targets.get(id);
  }

  /** The worker of a number; undefined where none has it. */
  viewOf(id: number): ViewWorker | undefined {
    return this.#known.get(this.#targets.get(id) ?? '')?.view;
  }

  /** Takes the fleet as it is now; `leftOutOf` has who gets no requests here although the agreement offers it. */
  update(view: FleetView, leftOutOf: LeftOutOf = () => undefined): WorkerChanges {
    const changed: ViewWorker[] = [];
    const left = new Set(this.#known.keys());
    for (const { group, members } of [...view.groups, { group: '', members: view.unassigned }])
      for (const member of members) {
        left.delete(member.target);
        const news = this.#take(group, member, leftOutOf(group, member.target));
        if (news !== undefined) changed.push(news);
      }
    const gone: number[] = [];
    for (const target of left) {
      const id = this.#known.get(target)?.id as number;
      gone.push(id);
      this.#known.delete(target);
      this.#targets.delete(id);
    }
    return { changed, gone };
  }

  /** The worker where something of it is new. */
  #take(group: string, member: MemberView, leftOut: LeftOut | undefined): ViewWorker | undefined {
    const { target } = member;
    const data = this.#reports.reportDataOf(target);
    const known = this.#known.get(target);
    if (known === undefined) {
      if (this.#known.size >= VIEW_LIMITS.workers && !isFault(member)) return undefined;
      const id = this.#nextId;
      this.#nextId += 1;
      const reported = readReported(data);
      const view = viewOf(id, group, member, reported, leftOut);
      this.#known.set(target, { id, data, reported, member, group, leftOut, view });
      this.#targets.set(id, target);
      return view;
    }
    if (known.member === member && known.data === data && known.leftOut === leftOut) return undefined;
    if (known.data !== data) known.reported = readReported(data);
    known.data = data;
    known.member = member;
    known.group = group;
    known.leftOut = leftOut;
    const view = viewOf(known.id, group, member, known.reported, leftOut);
    if (isSame(view, known.view)) return undefined;
    known.view = view;
    return view;
  }
}

/** Whether it would get requests if all were well, and gets none, or but a try from time to time. */
export function isFault({ offer, state, ejectedReason }: MemberView): boolean {
  return ejectedReason !== '' || (offer === 'none' && state !== 'draining');
}

function viewOf(
  id: number,
  group: string,
  member: MemberView,
  reported: Reported,
  leftOut: LeftOut | undefined,
): ViewWorker {
  const { state, offer, ejectedReason, reason, cacheViewReason, cacheView, source } = member;
  const isEjected = ejectedReason !== '';
  const whyLeftOut = leftOut === undefined ? '' : (LEFT_OUT[leftOut] ?? '');
  const { tokensPerBlock, rehashedTokensPerBlock, declaredTokensPerBlock } = member;
  return {
    id,
    group: shownLine(group),
    target: shownLine(member.target),
    workerId: shownLine(member.workerId),
    instanceId: shownLine(member.instanceId),
    shown: isEjected ? 'ejected' : state,
    tone: isEjected ? 'bad' : (MEMBER_TONES.get(state) ?? 'plain'),
    // An ejected one comes before all.
    rank: isEjected ? 0 : (1 + (MEMBER_RANKS.get(state) ?? -1)) * OFFER_RANKS + OFFERS[offer].rank,
    requests: isEjected ? 'tries' : leftOut === undefined ? OFFERS[offer].text : 'none here',
    why: shownText(ejectedReason || reason || whyLeftOut || cacheViewReason, VIEW_LIMITS.whyChars),
    ...(tokensPerBlock === undefined ? {} : { tokensPerBlock }),
    ...(rehashedTokensPerBlock === undefined ? {} : { rehashedTokensPerBlock }),
    ...(declaredTokensPerBlock === undefined ? {} : { declaredTokensPerBlock }),
    ...(source === EvidenceSource.UNSPECIFIED ? {} : { source: evidenceSourceName(source) }),
    ...(cacheView === undefined ? {} : { cacheView }),
    ...(cacheViewReason === '' ? {} : { cacheViewReason: shownText(cacheViewReason, VIEW_LIMITS.whyChars) }),
    ...reported,
  };
}

function readReported(data: Uint8Array | undefined): Reported {
  if (data === undefined) return {};
  const { engine, topology, evidence, canary } = CapabilityReport.decode(data);
  const size = evidence.find(({ field }) => field === 'contract.tokens_per_block');
  const gpus = topology?.gpus ?? [];
  const { nodeName: node, rack, zone, topologyDomains = {} } = topology?.placement ?? {};
  const fabrics = new Set(gpus.map(fabricName).filter((name) => name !== undefined));
  const fabric = [...fabrics].join(', ') || topologyDomains['gpu.clique'];
  const canaryState = canary === undefined ? undefined : CANARIES[canary.state];
  const role = engine?.role ?? EngineRole.UNSPECIFIED;
  const text = (name: keyof Reported, value: string | undefined): Reported =>
    value === undefined || value === '' ? {} : { [name]: shownLine(value) };
  return {
    ...(size === undefined
      ? {}
      : text('evidence', shownLine(`${size.origin}: ${size.raw}`, MAX_EVIDENCE_CHARS))),
    ...(engine === undefined || engine.kind === EngineKind.UNSPECIFIED
      ? {}
      : { engine: engineKindName(engine.kind) }),
    ...text('engineVersion', engine?.version),
    ...(role === EngineRole.UNSPECIFIED ? {} : { role: engineRoleName(role) }),
    ...text('node', node),
    ...text('rack', rack),
    ...text('zone', zone),
    ...(gpus.length === 0
      ? {}
      : {
          gpus: shownLine(
            `${gpus.length} x ${[...new Set(gpus.map(({ productName }) => productName))].join(', ')}`,
          ),
          gpuCount: gpus.length,
        }),
    ...text('fabric', fabric),
    ...(canaryState === undefined ? {} : { canary: canaryState }),
    ...text('canaryReason', canary?.reason),
  };
}

/** All fields of a worker are plain values. */
function isSame(a: ViewWorker, b: ViewWorker): boolean {
  const names = Object.keys(a) as (keyof ViewWorker)[];
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
}
