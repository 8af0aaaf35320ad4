import { closed, type PodSite } from '../../pod-site.js';
import { readObjects, readPodSites } from '../../read-pod-sites.js';
import { SetTooLarge } from '../../set-too-large.js';
import type { SourceFile } from '../../source-file.js';
import { ConfigMaps } from '../config/config-maps.js';
import { Kustomizations } from '../config/kustomizations.js';
import { type GivenFile, TreeFiles } from '../config/tree-files.js';
import { chartVersionOf, type DynamoVersion } from '../launches/dynamo-version.js';
import { readLaunches } from '../launches/read-launches.js';
import { ScriptCommands, type ScriptLibrary } from '../launches/script-commands.js';
import type { Library } from '../launches/surroundings.js';
import { MAX_POOLS, type PoolSite, readPoolSite } from '../readers/inference-pool.js';
import { readLooseCommands } from '../readers/loose-commands.js';
import { MAX_NETWORK_SITES, type NetworkSite, readNetworkSite } from '../readers/network-site.js';
import { type OtherLaunches, readOthers } from '../readers/read-others.js';
import { RELEASES } from '../readers/release-values.js';
import type { TextSource } from '../text/span.js';
import { namesProgram } from '../text/text-kinds.js';

/** Pod templates of one set: each takes some six kilobytes until all are compared, and all of them have to be there together. */
const MAX_TEMPLATES = 100_000;

/** A pod template with the file that it is in. */
export interface PlacedSite {
  readonly source: TextSource;
  readonly site: PodSite;
}

/**
 * What is kept of manifests while they are read one after the other: pod
 * templates that start a program, ConfigMaps and kustomizations. The parsed YAML of all
 * others is free again when the next one is read: a repository has gigabytes of it.
 */
export class Material implements Library, ScriptLibrary {
  readonly tree: TreeFiles;
  readonly scripts: ScriptCommands;
  readonly kustomizations: Kustomizations;
  readonly configMaps: ConfigMaps;
  readonly #sites: PlacedSite[] = [];
  readonly #pools: PoolSite[] = [];
  readonly #networks: NetworkSite[] = [];
  #platformVersion: DynamoVersion | undefined;

  /** `given` are files that programs read, and that are no part of the set. */
  constructor(given: readonly GivenFile[] = []) {
    this.tree = new TreeFiles(given);
    this.scripts = new ScriptCommands(this.tree);
    this.kustomizations = new Kustomizations(this.tree);
    this.configMaps = new ConfigMaps(this.kustomizations);
  }

  /** The version of Dynamo that the chart of its platform says, where it is in the same set: its own repository. */
  get platformVersion(): DynamoVersion | undefined {
    return this.#platformVersion;
  }

  readonly #others: (OtherLaunches & { readonly file: string })[] = [];

  /** What the files start that no pod spec shows. */
  get others(): readonly (OtherLaunches & { readonly file: string })[] {
    return this.#others;
  }

  /** InferencePools, whose pods are found by labels. */
  get pools(): readonly PoolSite[] {
    return this.#pools;
  }

  /** Services and network policies. */
  get networks(): readonly NetworkSite[] {
    return this.#networks;
  }

  get sites(): readonly PlacedSite[] {
    return this.#sites;
  }

  /** Keeps what a manifest has. */
  add(file: SourceFile): void {
    const { text, placeOf } = file;
    this.tree.add(file);
    this.#platformVersion ??= chartVersionOf(file.file, text);
    // Without the documents, which would all stay as long as one place of the file is known.
    const source: TextSource = { file: file.file, text, placeOf };
    for (const { access, object } of readObjects(file)) {
      this.configMaps.add(source, access, object);
      this.kustomizations.add(source, access, object);
      const pool = readPoolSite(source, access, object);
      if (pool !== undefined && this.#pools.length < MAX_POOLS) this.#pools.push(pool);
      const network = readNetworkSite(source, access, object);
      if (network !== undefined && this.#networks.length < MAX_NETWORK_SITES) this.#networks.push(network);
    }
    const others = readOthers({ source, documents: file.documents }, this.tree);
    if (others.sets.length + others.beside.length > 0) this.#others.push({ ...others, file: file.file });
    const isNamed = namesProgram(text);
    // A file that has a picker's configuration may start its workers in a way that no rule reads.
    let isRead =
      others.sets.length > 0 || others.beside.some(({ role }) => !/^(?:gateway|unchecked)$/.test(role));
    for (const site of readPodSites(file).map(closed)) {
      if (others.sets.length > 0 && RELEASES.includes(site.kind)) continue;
      const isLaunching = readLaunches(source, site, this).length > 0;
      if (isNamed || isLaunching) this.#sites.push({ source, site });
      if (this.#sites.length > MAX_TEMPLATES)
        throw new SetTooLarge(
          file.file,
          `one of at most ${MAX_TEMPLATES} pod templates together; name fewer files`,
        );
      isRead ||= isLaunching;
    }
    if (isRead) return;
    const loose = readLooseCommands({ source, documents: file.documents });
    if (loose.length > 0) this.#others.push({ sets: [loose], beside: [], file: file.file });
  }
}

/** Reads manifests, and keeps of them what is needed. */
export function readMaterial(files: Iterable<SourceFile>, given: readonly GivenFile[] = []): Material {
  const material = new Material(given);
  for (const file of files) material.add(file);
  return material;
}
