import type { PodSite } from '../pod-site.js';
import { YamlAccess } from '../yaml-access.js';
import type { Change } from './change.js';
import { copyContainer, GATE_HOURS, gateArguments, volumesOf, waitContainer } from './containers.js';
import type { Draft, Found } from './draft.js';
import { execChanges, startupSecondsOf } from './exec-changes.js';
import { graphAccess, objectName } from './objects.js';
import type { InjectOptions } from './options.js';
import { podChanges } from './pod-changes.js';
import { siteName } from './roles.js';
import type { ServedWorkers } from './sidecars.js';

/** The workers that gates may wait for. */
export interface KnownWorkers {
  readonly served: readonly ServedWorkers[];
  /** Graphs that have a worker, by `graphKey`. */
  readonly graphs: ReadonlySet<string>;
  /** Workers that report no block size before a request has reached them. */
  readonly sizeless: readonly PodSite[];
}

/** A graph by its namespace and its name. */
export function graphKey({ namespace, name }: PodSite): string {
  return `${namespace ?? ''}/${name}`;
}

/** Whether a frontend waits for a worker by default. */
function isOneFleet(worker: PodSite, frontend: PodSite): boolean {
  const isGraph = frontend.kind === 'DynamoGraphDeployment';
  if (isGraph !== (worker.kind === 'DynamoGraphDeployment')) return false;
  return isGraph ? graphKey(worker) === graphKey(frontend) : worker.namespace === frontend.namespace;
}

/**
 * A12, as `auto` has it: half of the workers. A number is never lowered, so that
 * all of them as a number would let one bad worker hold every restart back. Who
 * is listed is waited for all the same, within `--collect-timeout`.
 */
function enoughOf(replicas: number): number {
  return Math.max(1, Math.ceil(replicas / 2));
}

/** Adds gates to frontends. */
export class Gates {
  readonly #options: InjectOptions;
  readonly #workers: KnownWorkers;
  readonly #draft: Draft;
  /** Graphs whose pods are to be listed, and by which service accounts. */
  readonly #opened = new Map<string, { readonly found: Found; readonly accounts: Set<string> }>();

  constructor(options: InjectOptions, workers: KnownWorkers, draft: Draft) {
    this.#options = options;
    this.#workers = workers;
    this.#draft = draft;
  }

  add(found: Found): void {
    const { site } = found;
    const { gate, workers } = this.#options;
    const fleet = this.#fleetOf(found);
    if (fleet === undefined) return;
    const changes = gate === 'exec' ? this.#exec(found, fleet) : this.#wait(found, fleet);
    if (typeof changes === 'string') {
      this.#draft.note(found, 'left', `left without a gate: ${changes}`);
      return;
    }
    this.#draft.change(found, changes);
    if (site.kind === 'DynamoGraphDeployment' && workers.length === 0) this.#open(found);
    this.#draft.note(found, 'done', `gate (${gate}) for ${fleet.join(' ')}`);
  }

  /** Adds the rights that the gates need, once all of them are there. */
  finish(): void {
    const { namespace } = this.#options;
    for (const { found, accounts } of this.#opened.values()) {
      const { site } = found;
      const name = objectName(site) ?? 'kv-accord-graph';
      this.#draft.append(found, graphAccess(site, name, [...accounts], namespace));
      if (site.namespace === undefined)
        this.#draft.note(
          found,
          'advice',
          `the RoleBinding ${name} is for namespace ${namespace}, as the manifest names none; say another with --namespace`,
        );
    }
  }

  #wait(found: Found, fleet: readonly string[]): readonly Change[] {
    const { site, role } = found;
    const options = this.#options;
    if (role.launch?.role === 'router')
      this.#draft.note(
        found,
        'advice',
        'dynamo.router uses DYN_ROUTER_BLOCK_SIZE, which an init container cannot set: take --gate exec',
      );
    const isDynamo = role.launch?.isDynamo ?? site.kind === 'DynamoGraphDeployment';
    // Dynamo's frontend uses what workers declare: `exec` has that as its default.
    const declared = isDynamo ? ['--frontend-uses=declared'] : [];
    const container = waitContainer([...fleet, ...gateArguments(options.transport), ...declared], options);
    return podChanges(site, [
      { list: 'initContainers', items: [container], at: 'last' },
      { list: 'volumes', items: volumesOf(options, false), at: 'last' },
    ]);
  }

  #exec(found: Found, fleet: readonly string[]): readonly Change[] | string {
    const options = this.#options;
    const { site, role } = found;
    const { container } = role;
    if (container === undefined || site.open.spec === undefined)
      return 'it names no container to wrap; write its container with its command into the manifest, or take --gate wait';
    const wrapped = execChanges(site, container, [...fleet, ...gateArguments(options.transport)], options);
    if (typeof wrapped === 'string') return wrapped;
    const seconds = startupSecondsOf(site, container);
    if (seconds !== undefined && seconds < GATE_HOURS * 3_600)
      this.#draft.note(
        found,
        'advice',
        `its startup probe gives up after ${seconds} s, and the gate may hold it back for ${GATE_HOURS} h: give failureThreshold and periodSeconds that much, or the container restarts again and again`,
      );
    const pod = podChanges(site, [
      { list: 'initContainers', items: [copyContainer(options)], at: 'first' },
      { list: 'volumes', items: volumesOf(options, true), at: 'last' },
    ]);
    return [...pod, ...wrapped];
  }

  /** The arguments that say which workers a gate waits for; undefined when nothing does, which is noted. */
  #fleetOf(found: Found): readonly string[] | undefined {
    const { site } = found;
    const { workers, minWorkers } = this.#options;
    if (workers.length > 0) return this.#givenFleet(found);
    const sizeless = this.#workers.sizeless.filter((worker) => isOneFleet(worker, site));
    if (sizeless.length > 0) {
      this.#draft.note(
        found,
        'left',
        `left without a gate: what the block size of ${sizeless.map(siteName).join(', ')} is would show only with the first requests, which the gate would hold back; set it in the command`,
      );
      return undefined;
    }
    if (site.kind === 'DynamoGraphDeployment') {
      if (this.#workers.graphs.has(graphKey(site)))
        return [`--dynamo-graph=${site.name}`, `--min-workers=${minWorkers ?? 'auto'}`];
      this.#draft.note(
        found,
        'left',
        'left without a gate: its graph has no worker; say with --workers which it is to wait for',
      );
      return undefined;
    }
    const served = this.#workers.served.filter(({ namespace }) => namespace === site.namespace);
    if (served.length === 0) {
      this.#draft.note(
        found,
        'left',
        'left without a gate: no worker in its namespace is among these files; name their file too, or say with --workers which it is to wait for',
      );
      return undefined;
    }
    const counts = served.map(({ count }) => count);
    const sum = counts.reduce<number>((total, count) => total + (count ?? 1), 0);
    if (minWorkers === undefined && counts.includes(undefined))
      this.#draft.note(
        found,
        'advice',
        `how many workers there are is not in the manifests: the gate assumes ${sum}; say with --min-workers how many have to be there`,
      );
    return [
      ...served.map(({ target }) => `--workers=${target}`),
      `--min-workers=${minWorkers ?? enoughOf(sum)}`,
    ];
  }

  #givenFleet(found: Found): readonly string[] {
    const { workers, minWorkers } = this.#options;
    const canBeCounted = workers.every((target) => target.startsWith('k8s://'));
    if (workers.some((target) => target.startsWith('k8s://')))
      this.#draft.note(
        found,
        'advice',
        'its service account must be allowed to find workers by k8s://…, which is yours to give: the rights are in docs/kubernetes.md',
      );
    const count = minWorkers ?? (canBeCounted ? 'auto' : undefined);
    if (count === undefined)
      this.#draft.note(
        found,
        'advice',
        'the gate opens as soon as one worker has reported; say with --min-workers how many there are',
      );
    return [
      ...workers.map((target) => `--workers=${target}`),
      ...(count === undefined ? [] : [`--min-workers=${count}`]),
    ];
  }

  #open(found: Found): void {
    const { site } = found;
    const account =
      new YamlAccess(site.open.document).text(site.open.spec, 'serviceAccountName')?.value ??
      `${site.name}-k8s-service-discovery`;
    const known = this.#opened.get(graphKey(site)) ?? { found, accounts: new Set<string>() };
    known.accounts.add(account);
    this.#opened.set(graphKey(site), known);
  }
}
