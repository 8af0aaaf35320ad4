import type { Place } from '../findings/finding.js';
import type { Launch } from '../launches/launch.js';
import { NO_RULE } from '../launches/unchecked-programs.js';
import type { Fleet } from './fleet.js';
import { eventsOff } from './router-facts.js';

/** Programs of one name that were seen and compared with nothing, and why. */
export interface NotChecked {
  /** `text-generation-inference`, `vllm`. */
  readonly program: string;
  readonly reason: string;
  readonly count: number;
  /** The first of them. */
  readonly places: readonly Place[];
}

/** Places that are kept of one program; all of them are counted. */
const MAX_PLACES = 100;

/** Why a worker is compared with nothing. */
const ALONE = 'no router is beside it in these files';
const UNASKED = 'the router beside it asks nothing of it: it guesses, or goes by load';
const IN_CLUSTER = 'the configuration of its picker is not in these files';
const IDLE = 'no worker is beside it in these files';
const IN_BRANCH = 'it stands in a branch of a script, which is compared with no other branch';
const OPEN_MODE = 'its router mode is known only at run time';
const SIZELESS = 'its block size is not written in these files';
const IN_FILE = 'its block size is in a file that is not among these (--with FILE)';

/** What was seen in a set of fleets and not checked, the most frequent first. */
export function findNotChecked(fleets: readonly Fleet[]): readonly NotChecked[] {
  const found = new Map<string, NotChecked & { places: Place[]; count: number }>();
  const seen = new Set<string>();
  const add = (launch: Launch, reason: string): void => {
    const key = `${launch.program}\n${reason}`;
    const place = placeOf(launch);
    // Several overlays build on one file.
    const at = `${key}\n${place.file}:${place.line}:${place.column}`;
    if (seen.has(at)) return;
    seen.add(at);
    const known = found.get(key) ?? { program: launch.program, reason, count: 0, places: [] };
    known.count += 1;
    if (known.places.length < MAX_PLACES) known.places.push(place);
    found.set(key, known);
  };
  const joined = new Set(
    fleets
      .filter(({ workers }) => workers.length > 0)
      .flatMap((fleet) => routersOf(fleet).map((launch) => whereOf(launch))),
  );
  const compared = new Set(
    fleets.filter(hasRouter).flatMap(({ workers }) => workers.map(({ launch }) => whereOf(launch))),
  );
  for (const fleet of fleets) {
    if (fleet.workers.length === 0)
      for (const launch of routersOf(fleet))
        if (!joined.has(whereOf(launch))) add(launch, launch.branch === undefined ? IDLE : IN_BRANCH);
    for (const { launch, isOpen } of fleet.frontends) if (isOpen) add(launch, OPEN_MODE);
    const read = new Set(configuredIn(fleet).map(({ program }) => program));
    // The container of a picker whose configuration was read.
    for (const launch of fleet.unchecked)
      if (launch.site === undefined || launch.unchecked !== NO_RULE || !read.has(launch.program))
        add(launch, launch.unchecked ?? '');
    const isCompared = hasRouter(fleet);
    for (const { launch, size, unseen } of fleet.workers) {
      if (!isCompared) {
        if (!compared.has(whereOf(launch)))
          add(launch, launch.branch === undefined ? whyAlone(launch, fleet) : IN_BRANCH);
      } else if (size === undefined && needsSizes(fleet))
        add(launch, unseen?.path === undefined ? SIZELESS : IN_FILE);
    }
  }
  return [...found.values()].sort((a, b) => b.count - a.count);
}

/** Programs that route by what workers hold: with none beside them there is nothing to compare. */
function routersOf({ gateways, routers, indexers, pickers, frontends }: Fleet): readonly Launch[] {
  const byCache = frontends.filter(({ kvMode, noEvents }) => kvMode !== undefined && noEvents === undefined);
  return [
    ...gateways.filter(isIdle),
    ...[...routers, ...indexers, ...pickers, ...byCache.map(({ launch }) => launch)].filter(
      // One that goes by load needs nothing of them.
      (launch) => eventsOff(launch) === undefined,
    ),
  ];
}

/** Routers of others that a fleet shows by their configuration. */
function configuredIn({ gateways, unchecked }: Fleet): readonly Launch[] {
  return [...gateways, ...unchecked.filter(({ isGuessing }) => isGuessing === true)];
}

/** Why nothing is compared with a worker that no router of its fleet asks. */
function whyAlone(launch: Launch, fleet: Fleet): string {
  if (configuredIn(fleet).length > 0) return UNASKED;
  return hasScheduler(launch) ? IN_CLUSTER : ALONE;
}

/** Whether an LLMInferenceService has a picker: by default, or from another object. */
function hasScheduler({ site }: Launch): boolean {
  return site?.kind.startsWith('LLMInferenceService') === true && site.hasScheduler;
}

/** Whether a router of others could be compared with workers: one with blocks of its own is named already, and TensorRT-LLM's names its own. */
function isIdle({ gateway }: Launch): boolean {
  return gateway !== undefined && gateway.kind !== 'own-blocks' && gateway.kind !== 'trtllm-disaggregated';
}

/** Whether a fleet has a program that block sizes are compared with. */
function hasRouter({ frontends, routers, indexers, pickers, gateways, ownGates }: Fleet): boolean {
  // A router with blocks of its own asks for nothing that could be compared.
  const compares = gateways.some(({ gateway }) => gateway?.kind !== 'own-blocks');
  const others = frontends.length + routers.length + indexers.length + pickers.length + ownGates.length;
  return compares || others > 0;
}

/** Whether a router of a fleet needs the number that its workers do not show: smg and LMCache's controller do not. */
function needsSizes({ frontends, routers, indexers, pickers, gateways, ownGates }: Fleet): boolean {
  const others = frontends.length + routers.length + indexers.length + pickers.length + ownGates.length;
  return others > 0 || gateways.some(({ gateway }) => gateway?.defaultBlockSize !== undefined);
}

/** One program may be in several fleets. */
function whereOf({ at, program }: Launch): string {
  return `${at.source.file}:${at.start}:${program}`;
}

function placeOf({ at }: Launch): Place {
  return { file: at.source.file, ...at.source.placeOf(at.start) };
}
