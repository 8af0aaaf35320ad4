import { groupBy } from '../../../core/data/group-by.js';
import type { Side, SizeBasis } from '../../../engines/diagnosis/sighting-words.js';
import type { Evidence, Origin, SizeSighting } from '../evidence.js';
import { ofManifests } from './of-manifests.js';

/** From the weakest: what nobody set, up to what KV events have. */
const BASES: readonly SizeBasis[] = ['default', 'configured', 'declared', 'in_use', 'observed'];
const SIDES: readonly Side[] = ['frontend', 'router', 'indexer', 'worker'];

/** One line of the table of block sizes: a program with the best that is known of its number. */
export interface SizeRow extends SizeSighting {
  /** What weaker sources say otherwise: a flag that nothing uses, a card that the engine does not follow. */
  readonly otherwise: readonly SizeSighting[];
  /** The models that it has this number for, in small letters; none where no source names one. */
  readonly models: readonly string[];
}

/** Two numbers that should be one. */
export interface SizeConflict {
  /**
   * `sides`: a router and a worker. `own`: a worker declares another number
   * than its engine has. `workers`: two workers of one model.
   */
  readonly between: 'sides' | 'own' | 'workers';
  /** The router's number, the declared one, or the first worker's. */
  readonly ours: SizeSighting;
  /** The worker's. */
  readonly theirs: SizeSighting;
  /** True when both numbers are those that decide at run time, and not only written down. */
  readonly isProof: boolean;
  /** The model that it is of, where the router serves others too: what is found of them says nothing of it. */
  readonly ofModel?: string;
}

/** What a router and its workers run with. */
export interface AgreedSize {
  readonly tokensPerBlock: number;
  /** All of them, where a router serves several models. */
  readonly numbers: readonly number[];
  readonly origins: readonly Origin[];
}

/** Block sizes on every side. */
export interface SizeTable {
  readonly rows: readonly SizeRow[];
  readonly conflicts: readonly SizeConflict[];
  /** The number, when a router and a worker were seen that run with the same, and nobody with another. */
  readonly agreed: AgreedSize | undefined;
}

/**
 * Joins what was seen of block sizes. For each program the strongest basis
 * counts. A router is compared with workers by the number of their model, and where
 * that is not known by the set of its numbers, as it may serve several models: a worker
 * whose number no router has is a conflict.
 */
export function sizeTable({
  sizes,
  fleets,
  manifests,
  findings,
}: Pick<Evidence, 'sizes' | 'fleets' | 'manifests' | 'findings'>): SizeTable {
  const seen = [
    ...sizes,
    ...fleets.flatMap(({ group, members, origin }) => ofMembers(group, members, origin)),
  ];
  const rows = rowsOf(seen.filter(({ tokensPerBlock }) => isSize(tokensPerBlock)));
  const workers = deciding(rows.filter(({ side }) => side === 'worker'));
  const isOfManifest = ofManifests(manifests);
  const related = new Set(
    findings.flatMap((finding) =>
      (finding.related ?? []).map(({ file, line, column }) => `${file}:${line}:${column}`),
    ),
  );
  // Whether two programs of manifests meet at all, `lint` knows.
  const meet = ({ ours, theirs }: SizeConflict): boolean =>
    !(isOfManifest(ours) && isOfManifest(theirs)) || related.has(theirs.origin.place);
  const conflicts = [
    ...ownConflicts(rows),
    ...SIDES.filter((side) => side !== 'worker').flatMap((side) =>
      sideConflicts(side, rows, workers, isOfManifest).filter(meet),
    ),
    ...workerConflicts(fleets, rows),
  ];
  return { rows, conflicts, agreed: conflicts.length > 0 ? undefined : agreedSize(rows, workers) };
}

/** `a block size of 32 tokens`, `block sizes of 16 and 64 tokens`. */
export function agreedText({ numbers }: AgreedSize): string {
  const last = numbers.at(-1);
  return numbers.length > 1
    ? `block sizes of ${numbers.slice(0, -1).join(', ')} and ${last} tokens`
    : `a block size of ${last} tokens`;
}

/** How well a number is known: the higher, the nearer to what the engine does. */
export function basisRank(basis: SizeBasis): number {
  return BASES.indexOf(basis);
}

/** How a number is known, for sentences. */
export function basisText({ basis }: SizeSighting): string {
  switch (basis) {
    case 'default':
      return 'by default';
    case 'configured':
      return 'as configured';
    case 'declared':
      return 'as registered';
    case 'in_use':
      return 'in use';
    case 'observed':
      return 'as its KV events have it';
  }
}

/** `worker vllm-0`, `the frontend`. */
export function ownerOf({ side, who }: Pick<SizeSighting, 'side' | 'who'>): string {
  if (side === 'worker') return who === '' ? 'a worker' : `worker ${who}`;
  return who === '' ? `the ${side}` : `the ${side} (${who})`;
}

function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value > 0;
}

function ofMembers(
  group: string,
  members: Evidence['fleets'][number]['members'],
  origin: Origin,
): readonly SizeSighting[] {
  return members.flatMap(({ worker, tokensPerBlock, declaredTokensPerBlock }) => {
    const who = worker === '' ? group : worker;
    const own = (size: number | undefined, basis: SizeBasis): readonly SizeSighting[] =>
      size === undefined ? [] : [{ side: 'worker', who, tokensPerBlock: size, basis, origin }];
    return [...own(tokensPerBlock, 'in_use'), ...own(declaredTokensPerBlock, 'declared')];
  });
}

function rowsOf(seen: readonly SizeSighting[]): readonly SizeRow[] {
  const owners = groupBy(
    seen,
    ({ side, who, origin }) => `${side}/${who === '' ? `of ${sourceOf(origin)}` : who}`,
  );
  return [...owners.values()]
    .flatMap((sightings) => {
      const best = Math.max(...sightings.map(({ basis }) => basisRank(basis)));
      const strongest = sightings.filter(({ basis }) => basisRank(basis) === best);
      const otherwise = sightings.filter(
        (sighting) => !strongest.some(({ tokensPerBlock }) => tokensPerBlock === sighting.tokensPerBlock),
      );
      // A program with two numbers of one basis serves two models, or is several behind one name.
      const numbers = [...new Set(strongest.map(({ tokensPerBlock }) => tokensPerBlock))];
      return numbers.flatMap((number) => {
        const row = strongest.find(({ tokensPerBlock }) => tokensPerBlock === number);
        const models = strongest.flatMap(({ tokensPerBlock, model }) =>
          tokensPerBlock === number && model !== undefined ? [model.toLowerCase()] : [],
        );
        return row === undefined ? [] : [{ ...row, otherwise, models: [...new Set(models)] }];
      });
    })
    .sort(bySideAndName);
}

/** The file or address without line and column. */
function sourceOf({ place }: Origin): string {
  return place.replace(/(?::\d+){1,2}$/, '');
}

function bySideAndName(a: SizeSighting, b: SizeSighting): number {
  return (
    SIDES.indexOf(a.side) - SIDES.indexOf(b.side) ||
    (a.who < b.who ? -1 : a.who > b.who ? 1 : a.tokensPerBlock - b.tokensPerBlock)
  );
}

function ownConflicts(rows: readonly SizeRow[]): readonly SizeConflict[] {
  return rows.flatMap((row) => {
    if (row.side !== 'worker' || basisRank(row.basis) < basisRank('in_use')) return [];
    const declared = row.otherwise.find(({ basis }) => basis === 'declared');
    return declared === undefined
      ? []
      : [{ between: 'own' as const, ours: declared, theirs: row, isProof: true }];
  });
}

function sideConflicts(
  side: Side,
  rows: readonly SizeRow[],
  workers: readonly SizeRow[],
  isOfManifest: (sighting: SizeSighting) => boolean,
): readonly SizeConflict[] {
  const isRuntime = (row: SizeRow): boolean =>
    basisRank(row.basis) >= basisRank('in_use') || (row.basis === 'declared' && !isOfManifest(row));
  const own = rows.filter((row) => row.side === side);
  const best = Math.max(-1, ...own.map(({ basis }) => basisRank(basis)));
  // A number that only stands in a file does not count where a running program reported one.
  const routers = best >= basisRank('declared') ? own.filter(({ basis }) => basisRank(basis) === best) : own;
  const models = new Set(routers.flatMap((row) => row.models));
  return workers.flatMap((theirs) => {
    const model = theirs.models.find((name) => models.has(name));
    const mine = model === undefined ? routers : routers.filter((row) => row.models.includes(model));
    const [ours] = mine;
    if (ours === undefined || mine.some(({ tokensPerBlock }) => tokensPerBlock === theirs.tokensPerBlock))
      return [];
    return [
      {
        between: 'sides' as const,
        ours,
        theirs,
        isProof:
          isRuntime(theirs) && (isRuntime(ours) || (side !== 'frontend' && ours.basis === 'configured')),
        ...(model !== undefined && models.size > 1 ? { ofModel: model } : {}),
      },
    ];
  });
}

/** An engine may raise its own default: it does not count where running engines were asked. */
function deciding(workers: readonly SizeRow[]): readonly SizeRow[] {
  const isAsked = workers.some(({ basis }) => basisRank(basis) >= basisRank('in_use'));
  return isAsked ? workers.filter(({ basis }) => basis !== 'default') : workers;
}

/** Workers of one group of kv-accord serve one model, and have to agree. */
function workerConflicts(fleets: Evidence['fleets'], rows: readonly SizeRow[]): readonly SizeConflict[] {
  return fleets.flatMap(({ members }) => {
    const group = rows.filter(
      ({ side, who }) => side === 'worker' && members.some(({ worker }) => worker === who),
    );
    const [ours] = group;
    const theirs = group.find(({ tokensPerBlock }) => tokensPerBlock !== ours?.tokensPerBlock);
    return ours === undefined || theirs === undefined
      ? []
      : [{ between: 'workers' as const, ours, theirs, isProof: true }];
  });
}

function agreedSize(rows: readonly SizeRow[], workers: readonly SizeRow[]): SizeTable['agreed'] {
  // A card says what a worker believes; only the engine itself or its events say what it uses.
  const used = workers.find(({ basis }) => basisRank(basis) >= basisRank('in_use'));
  const isInUse = ({ basis }: SizeRow): boolean => basisRank(basis) >= basisRank('in_use');
  const routers = rows.filter((row) => row.side !== 'worker' && isInUse(row));
  const router = routers.find(({ tokensPerBlock }) => tokensPerBlock === used?.tokensPerBlock);
  if (used === undefined || router === undefined) return undefined;
  const numbers = workers
    .filter(isInUse)
    .map(({ tokensPerBlock }) => tokensPerBlock)
    .filter((number) => routers.some(({ tokensPerBlock }) => tokensPerBlock === number));
  return {
    tokensPerBlock: used.tokensPerBlock,
    numbers: [...new Set(numbers)].sort((a, b) => a - b),
    origins: [router.origin, used.origin],
  };
}
