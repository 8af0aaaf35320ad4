import { posix } from 'node:path';
import { folderOf } from '../config/folders.js';
import type { Launch } from '../launches/launch.js';
import { settingOf } from '../launches/settings.js';
import { isSelected, type PoolSite } from '../readers/inference-pool.js';
import type { NetworkSite } from '../readers/network-site.js';
import { ANOTHER } from '../readers/picker-choice.js';
import type { Fleet } from './fleet.js';
import type { PlacedSite } from './material.js';

/** A picker beside a pool. */
export interface PoolPicker {
  readonly launch: Launch;
  /** Whether it proves its workers first. */
  readonly hasGate: boolean;
  /** Whether it is known to read no KV events: it guesses, and its blocks need not be those of its workers. */
  readonly isGuessing: boolean;
}

/** A pool with what the files show around it. */
export interface PoolFacts {
  readonly pool: PoolSite;
  /** The pod templates that it selects: those nearest to it. */
  readonly selected: readonly PlacedSite[];
  /** The picker that is for it; undefined where the files do not show one alone. */
  readonly picker: PoolPicker | undefined;
}

/** Folders above a file in which what belongs to it is looked for, as for the halves of a deployment. */
const MAX_CLIMB = 2;

/** What belongs to each pool. */
export function readPoolFacts(
  pools: readonly PoolSite[],
  sites: readonly PlacedSite[],
  fleets: readonly Fleet[],
  networks: readonly NetworkSite[] = [],
): readonly PoolFacts[] {
  if (pools.length === 0) return [];
  const pickers = pickersIn(fleets);
  return pools.map((pool) => ({
    pool,
    selected: nearest(
      pool,
      sites.filter(({ site }) => isSelected(pool, site)),
      ({ source }) => source.file,
    ),
    picker: pickerOf(pool, pickers, networks),
  }));
}

interface KnownPicker extends PoolPicker {
  /** `NAME` or `NAMESPACE/NAME`; undefined where it is not written. */
  readonly pool: string | undefined;
}

function pickersIn(fleets: readonly Fleet[]): readonly KnownPicker[] {
  const own = fleets
    .flatMap(({ own: launches }) => launches)
    .filter(({ program }) => program === 'kv-accord epp')
    .map((launch) => ({
      launch,
      hasGate: true,
      isGuessing: false,
      pool: settingOf(launch, ['--pool'], ['KV_ACCORD_POOL'])?.value?.replace(/^pool:\/\//i, ''),
    }));
  const others = fleets
    .flatMap((fleet) => [...fleet.pickers, ...fleet.gateways, ...fleet.unchecked])
    .filter(({ role, program }) => role === 'picker' || /endpoint picker$/.test(program))
    .map((launch) => ({ launch, hasGate: false, pool: poolArgument(launch) }));
  const configured = others.filter(({ launch }) => launch.site === undefined);
  return [...own, ...others.map((one) => ({ ...one, isGuessing: isGuessing(one.launch, configured) }))];
}

/** The reference picker has no plugin that reads KV events; of llm-d's the configurations in its folder say whether it does. */
function isGuessing(picker: Launch, configured: readonly { readonly launch: Launch }[]): boolean {
  if (picker.program === 'endpoint picker') return picker.role === 'unchecked';
  if (picker.role === 'picker') return false;
  if (ofVariables(picker)) return true;
  const folder = folderOf(picker.source.file);
  const near =
    picker.site === undefined
      ? [picker]
      : configured.map(({ launch }) => launch).filter(({ source }) => folderOf(source.file) === folder);
  return (
    near.length > 0 &&
    near.every(
      (one) => one.isGuessing === true || one.gateway?.kind === 'own-blocks' || one.unchecked === ANOTHER,
    )
  );
}

/** llm-d's picker up to 0.1 has no configuration but variables, and no scorer unless one switches it on (`pkg/config/config.go` of 0.0.3). */
const OF_VARIABLES = /llm-d-(?:inference-scheduler|router-endpoint-picker):v?0\.[01]\./;
const KV_VARIABLE = /^(?:PREFILL_)?ENABLE_KVCACHE_AWARE_SCORER$/;

/** Whether a picker of that time is known to ask no index of KV blocks. */
function ofVariables({ container }: Launch): boolean {
  return (
    OF_VARIABLES.test(container?.image?.value ?? '') &&
    container?.env.some(({ name, value }) => KV_VARIABLE.test(name) && value?.value !== 'false') !== true
  );
}

/** `--pool-name` of the reference picker and of llm-d's, `--poolName` and `-poolName` of their older versions. */
function poolArgument({ container }: Launch): string | undefined {
  const words = [...(container?.command ?? []), ...(container?.args ?? [])].map(({ value }) => value);
  const at = words.findIndex((word) => POOL_FLAG.test(word));
  const word = words[at];
  if (word === undefined) return undefined;
  const value = word.includes('=') ? word.slice(word.indexOf('=') + 1) : words[at + 1];
  return value === undefined || /[$<{]/.test(value) ? undefined : value;
}

const POOL_FLAG = /^--?pool-?name(?:=|$)/i;

/** Whether the Service that a pool asks may be that of a picker: by its selector, or by the name where no file has the Service. */
function isAsked(pool: PoolSite, { site }: Launch, networks: readonly NetworkSite[]): boolean {
  const wanted = pool.picker?.value;
  if (wanted === undefined || site === undefined) return true;
  const services = networks.filter(({ kind, name }) => kind === 'Service' && name === wanted);
  return services.length === 0
    ? site.name === wanted
    : services.some(
        ({ labels }) =>
          labels === undefined || [...labels].every(([key, value]) => site.labels.get(key) === value),
      );
}

function pickerOf(
  pool: PoolSite,
  pickers: readonly KnownPicker[],
  networks: readonly NetworkSite[],
): PoolPicker | undefined {
  const named = pickers.filter(
    ({ pool: name, launch, hasGate }) => name !== undefined && (hasGate || isAsked(pool, launch, networks)),
  );
  const isFor = ({ pool: name = '' }: KnownPicker): boolean => name.split('/').at(-1) === pool.name;
  const file = ({ launch }: KnownPicker): string => launch.source.file;
  const found = nearest(pool, named.filter(isFor), file);
  if (found.length > 0) return oneOf(found);
  // One that names no pool is for the one in its file, or for that whose Service has its name.
  const isBeside = ({ launch, pool: name }: KnownPicker): boolean =>
    name === undefined &&
    (launch.source.file === pool.source.file || launch.site?.name === pool.picker?.value);
  return oneOf(nearest(pool, pickers.filter(isBeside), file));
}

/** The one picker; a gate wins, because a picker beside it may be the one that it is tried against. */
function oneOf(found: readonly KnownPicker[]): PoolPicker | undefined {
  const running = found.find(({ launch }) => launch.site !== undefined);
  return found.find(({ hasGate }) => hasGate) ?? running ?? found[0];
}

/** Those of the nearest place that has any: the pool's file, its folder, up to two folders above. */
function nearest<T>(pool: PoolSite, all: readonly T[], fileOf: (one: T) => string): readonly T[] {
  const { file } = pool.source;
  const inFile = all.filter((one) => fileOf(one) === file);
  if (inFile.length > 0) return inFile;
  let folder = folderOf(file);
  for (let climb = 0; climb <= MAX_CLIMB; climb += 1) {
    const beside = all.filter((one) => climbs(folderOf(fileOf(one)), folder));
    if (beside.length > 0) return beside;
    folder = posix.dirname(folder);
  }
  return [];
}

/** Whether a folder is `above`, or at most two below it. */
function climbs(folder: string, above: string): boolean {
  let current = folder;
  for (let step = 0; step <= MAX_CLIMB; step += 1) {
    if (current === above) return true;
    current = posix.dirname(current);
  }
  return false;
}
