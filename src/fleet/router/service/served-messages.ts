import type { ReadinessCheck } from '../../../core/agreement/view/readiness.js';
import type { Reason, ReasonCode } from '../../../core/agreement/view/snapshot.js';
import type { Reason as ReasonMessage } from '../../../gen/kvaccord/v1/fleet.js';
import { ServedFleet, ServedGroup, ServedModel } from '../../../gen/kvaccord/v1/router.js';
import type { Catalogue, CatalogueGroup, CatalogueModel } from '../../catalogue/catalogue.js';

/** What is served, and whether. */
export interface Served {
  readonly catalogue: Catalogue;
  /** Of `/readyz`. */
  readonly checks: readonly ReadinessCheck[];
  /** The status page of the router's process as it listens; empty where it has none. */
  readonly statusPage: string;
}

/** A part is sent when it has so many bytes: a quarter of the longest message, with room for one more group or model. */
const PART_BYTES = 1_000_000;

/** What is served as it is sent: one part or more. The last one has `hasMore` false. */
export function toParts({ catalogue, checks, statusPage }: Served): readonly ServedFleet[] {
  const { groups, models, reasons, conflicts = [] } = catalogue;
  const places = new Map(
    groups.map(({ group, workers }) => [group, new Map(workers.map(({ target }, at) => [target, at]))]),
  );
  const parts: ServedFleet[] = [];
  let part = emptyPart();
  let sizeBytes = 0;
  const add = (bytes: number, put: () => void): void => {
    if (sizeBytes > 0 && sizeBytes + bytes > PART_BYTES) {
      parts.push(part);
      part = emptyPart();
      sizeBytes = 0;
    }
    put();
    sizeBytes += bytes;
  };
  for (const each of groups) {
    const group = toGroup(each);
    add(ServedGroup.encode(group).finish().length, () => part.groups.push(group));
  }
  for (const each of models) {
    const model = toModel(each, places.get(each.group));
    add(ServedModel.encode(model).finish().length, () => part.models.push(model));
  }
  parts.push({
    ...part,
    reasons: reasons.map(toReason),
    conflicts: conflicts.map(({ name, owner = '', text }) => ({ name, owner, text })),
    checks: checks.map(({ name, ok, text }) => ({ name, ok, text })),
    statusPage,
  });
  return parts.map((each, at) => ({ ...each, hasMore: at < parts.length - 1 }));
}

/** What is served as it was received, of all parts. */
export function fromParts(parts: readonly ServedFleet[]): Served {
  const groups = parts.flatMap((part) => part.groups.map(fromGroup));
  const workersOf = new Map(groups.map(({ group, workers }) => [group, workers]));
  const models = parts.flatMap((part) =>
    part.models.map(({ name, group, loraName, servedBy }): CatalogueModel => {
      const workers = workersOf.get(group) ?? [];
      return {
        name,
        group,
        loraName,
        ...(servedBy === undefined
          ? {}
          : { servedBy: servedBy.workers.flatMap((at) => workers[at]?.target ?? []) }),
      };
    }),
  );
  const conflicts = parts.flatMap((part) =>
    part.conflicts.map(({ name, owner, text }) => ({ name, owner: owner === '' ? undefined : owner, text })),
  );
  return {
    catalogue: {
      models,
      groups,
      reasons: parts.flatMap((part) => part.reasons.map(fromReason)),
      ...(conflicts.length === 0 ? {} : { conflicts }),
    },
    checks: parts.flatMap((part) => part.checks.map(({ name, ok, text }) => ({ name, ok, text }))),
    statusPage: parts.at(-1)?.statusPage ?? '',
  };
}

/** A reason as it is sent. */
export function toReason({ code, text }: Reason): ReasonMessage {
  return { code, text };
}

/** A reason as it was received. */
export function fromReason({ code, text }: ReasonMessage): Reason {
  // A router of a later version may have more codes; here they are passed on and not read.
  return { code: code as ReasonCode, text };
}

function emptyPart(): ServedFleet {
  return ServedFleet.fromPartial({});
}

function toGroup(group: CatalogueGroup): ServedGroup {
  return {
    group: group.group,
    ready: group.isReady,
    reasons: group.reasons.map(toReason),
    epoch: BigInt(group.epoch),
    tokensPerBlock: group.tokensPerBlock,
    hasPairs: group.hasPairs === true,
    workers: group.workers.map(({ target, workerId, instanceId, baseUrl = '', isOffered, ...worker }) => ({
      target,
      workerId,
      instanceId,
      baseUrl,
      isOffered,
      ejectedReason: worker.ejectedReason ?? '',
      tokenizerFingerprint: worker.tokenizerFingerprint,
      apis: [...(worker.apis ?? [])],
    })),
  };
}

function fromGroup(group: ServedGroup): CatalogueGroup {
  return {
    group: group.group,
    isReady: group.ready,
    reasons: group.reasons.map(fromReason),
    epoch: Number(group.epoch),
    tokensPerBlock: group.tokensPerBlock,
    ...(group.hasPairs ? { hasPairs: true } : {}),
    workers: group.workers.map(({ target, workerId, instanceId, baseUrl, isOffered, ...worker }) => ({
      target,
      workerId,
      instanceId,
      baseUrl: baseUrl === '' ? undefined : baseUrl,
      isOffered,
      ...(worker.ejectedReason === '' ? {} : { ejectedReason: worker.ejectedReason }),
      tokenizerFingerprint: worker.tokenizerFingerprint,
      ...(worker.apis.length === 0 ? {} : { apis: worker.apis }),
    })),
  };
}

function toModel(
  { name, group, loraName, servedBy }: CatalogueModel,
  places: ReadonlyMap<string, number> | undefined,
): ServedModel {
  return {
    name,
    group,
    loraName,
    servedBy:
      servedBy === undefined
        ? undefined
        : { workers: servedBy.flatMap((target) => places?.get(target) ?? []) },
  };
}
