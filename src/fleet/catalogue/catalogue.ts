import type { FleetView, GroupView, MemberView, Reason } from '../../core/agreement/view/snapshot.js';
import type { Serving } from '../../core/contract/serving.js';
import { addTo } from '../../core/data/group-by.js';
import { type NameClaim, type NameConflict, settleName } from './name-conflicts.js';
import { reachableUrl } from './reachable-url.js';

/** A worker as the gateway sees it. */
export interface CatalogueWorker {
  /** Its name in discovery. */
  readonly target: string;
  readonly workerId: string;
  readonly instanceId: string;
  /** Base URL of its OpenAI server, without a slash at the end; undefined where none is known. */
  readonly baseUrl: string | undefined;
  /** Whether the agreement lets it have requests. */
  readonly isOffered: boolean;
  /** Why the router gives it no requests at present; absent while it is not ejected. */
  readonly ejectedReason?: string;
  readonly tokenizerFingerprint: string | undefined;
  /** API paths that its engine has; absent where that is not known. */
  readonly apis?: readonly string[];
}

/** All that serves one model. */
export interface CatalogueGroup {
  readonly group: string;
  /** Whether requests are taken (G4). */
  readonly isReady: boolean;
  /** Why not; empty when they are. */
  readonly reasons: readonly Reason[];
  readonly epoch: number;
  readonly tokensPerBlock: number | undefined;
  readonly workers: readonly CatalogueWorker[];
  /** True where requests may be split between a prefill and a decode worker. Default false. */
  readonly hasPairs?: boolean | undefined;
}

/** A name that a request may ask for. */
export interface CatalogueModel {
  readonly name: string;
  readonly group: string;
  /** The LoRA adapter of that name; empty for the model itself. */
  readonly loraName: string;
  /**
   * The workers, by target, that have it; absent when all of the group's do that have reported. Engines load adapters
   * while they run, one after the other, and answer 404 to a name that they do not have.
   */
  readonly servedBy?: readonly string[];
}

/** What is served, for anyone who takes requests. Plain data: it may cross between processes. */
export interface Catalogue {
  /** By name, ascending. */
  readonly models: readonly CatalogueModel[];
  readonly groups: readonly CatalogueGroup[];
  /** Why nothing is served at all; empty when something is. */
  readonly reasons: readonly Reason[];
  /** Names that several groups claim; absent while there are none. */
  readonly conflicts?: readonly NameConflict[];
}

/** Base URLs that the operator gave, by target, without a slash at the end: they win over what the workers report. */
export type GivenUrls = ReadonlyMap<string, string>;

/** Makes it from the fleet as last prepared. */
export function buildCatalogue(view: FleetView, given: GivenUrls): Catalogue {
  const groups = view.groups.map((group) => groupOf(group, given));
  const models = new Map<string, CatalogueModel>();
  const conflicts: NameConflict[] = [];
  const taken = new Set<string>();
  const addAll = (
    claims: ReadonlyMap<string, readonly Claim[]>,
    loraNameOf: (name: string) => string,
  ): void => {
    for (const [name, of] of claims) {
      // Once a name belongs to a model, or is in dispute, no adapter of that name counts.
      if (taken.has(name)) continue;
      taken.add(name);
      const settled = settleName(name, of);
      if ('text' in settled) conflicts.push(settled);
      const claim = of.find(({ group }) => group === settled.owner);
      if (claim === undefined) continue;
      const { group, servedBy } = claim;
      models.set(name, {
        name,
        group,
        loraName: loraNameOf(name),
        ...(servedBy === undefined ? {} : { servedBy }),
      });
    }
  };
  // Names of models, of every group, go before the adapters of any: an adapter's name is chosen by anyone who loads it.
  addAll(
    claimsOf(view, ({ servedNames }, group) => [group, ...servedNames]),
    () => '',
  );
  // A model that has no worker at present keeps its name: the answer is that its gate is shut, not that it is unknown.
  for (const { group } of view.groups) {
    if (!taken.has(group)) models.set(group, { name: group, group, loraName: '' });
    taken.add(group);
  }
  addAll(
    claimsOf(view, ({ loraAdapters }) => loraAdapters),
    (name) => name,
  );
  return {
    models: [...models.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    groups,
    reasons: view.reasons,
    ...(conflicts.length === 0 ? {} : { conflicts: conflicts.slice(0, MAX_CONFLICTS) }),
  };
}

/** Conflicts that are kept: an adapter may have thousands of names. */
const MAX_CONFLICTS = 100;

interface Claim extends NameClaim {
  readonly servedBy?: readonly string[];
}

/** Which groups claim each name, by the workers that serve it. */
function claimsOf(
  view: FleetView,
  names: (serving: Serving, group: string) => readonly string[],
): Map<string, Claim[]> {
  const claims = new Map<string, Claim[]>();
  for (const { group, members } of view.groups) {
    for (const [name, { servedBy, count }] of holdersOf(members, (serving) => names(serving, group))) {
      const claim = { group, workers: count, ...(servedBy === undefined ? {} : { servedBy }) };
      addTo(claims, name, claim);
    }
  }
  return claims;
}

/** Every name that some member has, and who has it where not all do that have reported. */
function holdersOf(
  members: readonly MemberView[],
  names: (serving: Serving) => readonly string[],
): Map<string, { readonly servedBy?: readonly string[]; readonly count: number }> {
  const targets = new Map<string, string[]>();
  let reported = 0;
  for (const { target, serving } of members) {
    if (serving === undefined) continue;
    reported += 1;
    for (const name of new Set(names(serving))) addTo(targets, name, target);
  }
  return new Map(
    [...targets].map(([name, servedBy]) => [
      name,
      { count: servedBy.length, ...(servedBy.length === reported ? {} : { servedBy }) },
    ]),
  );
}

/** What URLs came to: views come often, and to read the URLs of thousands of workers each time takes longer than all the rest. */
const reachable = new WeakMap<Serving, { readonly target: string; readonly url: string | undefined }>();

/** Where a member can be sent requests; undefined where no address is known. */
export function baseUrlOf(
  member: Pick<MemberView, 'target' | 'serving'>,
  given: GivenUrls,
): string | undefined {
  const { target, serving } = member;
  const own = given.get(target);
  if (own !== undefined || serving === undefined) return own;
  let known = reachable.get(serving);
  if (known?.target !== target) {
    known = { target, url: firstReachable(serving.httpUrls, target) };
    reachable.set(serving, known);
  }
  return known.url;
}

function firstReachable(reported: readonly string[], target: string): string | undefined {
  for (const each of reported) {
    const url = reachableUrl(each, target);
    if (url !== undefined) return url;
  }
  return undefined;
}

function hasPairs(members: readonly MemberView[]): boolean {
  const has = (role: Serving['role']): boolean =>
    members.some(({ serving }) => serving?.role === role && serving.split !== undefined);
  return has('prefill') && has('decode');
}

function groupOf(group: GroupView, given: GivenUrls): CatalogueGroup {
  return {
    group: group.group,
    isReady: group.ready,
    reasons: group.reasons,
    epoch: group.epoch,
    tokensPerBlock: group.values?.tokens_per_block as number | undefined,
    ...(hasPairs(group.members) ? { hasPairs: true } : {}),
    workers: group.members.map((member) => ({
      target: member.target,
      workerId: member.workerId,
      instanceId: member.instanceId,
      baseUrl: baseUrlOf(member, given),
      isOffered: member.offer !== 'none',
      ...(member.ejectedReason === '' ? {} : { ejectedReason: member.ejectedReason }),
      tokenizerFingerprint: member.serving?.tokenizerFingerprint,
      ...(member.serving?.apis === undefined ? {} : { apis: member.serving.apis }),
    })),
  };
}
