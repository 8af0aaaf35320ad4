import type { DiscoveredWorker } from '../../core/contract/evidence/discovered-worker.js';
import { hasUnprintable } from '../../core/text/printable.js';
import { isJsonObject, type JsonObject } from '../../edge/platform/data/json-object.js';
import { excerpt, ProbeError } from '../../edge/platform/probe-error.js';
import { readCardPlace } from './card-place.js';
import { readRegisteredWorker } from './registered-worker.js';

/** Model cards of one object, those of adapters included. */
const MAX_CARDS = 1_024;

/** Longest name that Kubernetes gives an object. */
const MAX_NAME_CHARS = 253;

/** A worker that has registered in a cluster. */
export interface MetadataWorker {
  /** The object's name: that of the pod, or of pod and container. With the endpoint where it has several models. */
  readonly name: string;
  /** The pod that it runs in. */
  readonly pod: string;
  /** Whether the object itself is being deleted. */
  readonly isTerminating: boolean;
  readonly discovered: DiscoveredWorker;
}

/** One card of an object. */
interface Card {
  readonly key: string;
  /** `namespace/component/endpoint`, with the instance id behind it in newer versions. */
  readonly endpoint: string;
  readonly instanceId: string | undefined;
  readonly adapter: string | undefined;
  readonly card: unknown;
}

/**
 * Reads a `DynamoWorkerMetadata` object (`nvidia.com/v1alpha1`), in which a
 * worker on Kubernetes keeps what it registers. Empty for one that serves no
 * model, such as a frontend's. `observedAtMs` is wall-clock time since 1970.
 *
 * Dynamo derives the instance id from the pod's name there, so that it is no
 * mark of a start: the pod's own id is.
 */
export function readWorkerMetadata(object: unknown, observedAtMs: number): readonly MetadataWorker[] {
  const metadata = objectAt(object, 'metadata');
  const name = textAt(metadata, 'name');
  const cards = cardsOf(objectAt(objectAt(objectAt(object, 'spec'), 'data'), 'model_cards'));
  if (name === undefined || cards.length === 0) return [];
  const owner = ownerOf(metadata);
  const uid = textAt(owner, 'uid') ?? textAt(metadata, 'uid') ?? name;
  const own = cards.filter(({ adapter }) => adapter === undefined);
  return own.map((each) => ({
    name: own.length === 1 ? name : `${name}/${each.endpoint}`,
    pod: textAt(owner, 'name') ?? name,
    isTerminating: metadata?.['deletionTimestamp'] !== undefined,
    discovered: discoveredWith(
      each,
      `${textAt(metadata, 'namespace') ?? ''}/${name}`,
      uid,
      cards,
      observedAtMs,
    ),
  }));
}

function discoveredWith(
  { key, card, endpoint, instanceId }: Card,
  object: string,
  uid: string,
  cards: readonly Card[],
  observedAtMs: number,
): DiscoveredWorker {
  const origin = `DynamoWorkerMetadata ${object}, model_cards ${excerpt(key)}`;
  const adapters = cards.flatMap((other) =>
    other.adapter !== undefined && other.endpoint === endpoint ? [other.adapter] : [],
  );
  try {
    if (!isJsonObject(card)) throw new ProbeError('bad_answer', origin, 'is no object: no model card');
    const discovered = readRegisteredWorker(card, { origin, observedAtMs, instanceId: uid, adapters });
    const names = instanceId === undefined ? [] : [instanceId, `${endpoint}/${instanceId}`];
    return { ...discovered, aliases: [...(discovered.aliases ?? []), ...names] };
  } catch (cause) {
    if (!(cause instanceof ProbeError)) throw cause;
    return { instanceId: uid, facts: [], warnings: [], problem: cause.message };
  }
}

/** Cards whose keys are as some version of Dynamo writes them; older ones have no instance id. */
function cardsOf(cards: JsonObject | undefined): readonly Card[] {
  return Object.entries(cards ?? {})
    .slice(0, MAX_CARDS)
    .flatMap(([key, card]): readonly Card[] => {
      const place = readCardPlace(key);
      if (place !== undefined) {
        const endpoint = place.worker.split('/').slice(0, 3).join('/');
        return [{ key, card, endpoint, instanceId: place.instanceId, adapter: place.adapter }];
      }
      const isOlder = /^[^/]+\/[^/]+\/[^/]+$/.test(key) && key.length <= MAX_NAME_CHARS;
      if (!isOlder || hasUnprintable(key)) return [];
      return [{ key, card, endpoint: key, instanceId: undefined, adapter: undefined }];
    });
}

/** The pod that an object belongs to, and goes with. */
function ownerOf(metadata: JsonObject | undefined): JsonObject | undefined {
  const owners = metadata?.['ownerReferences'];
  if (!Array.isArray(owners)) return undefined;
  return owners.find((owner): owner is JsonObject => isJsonObject(owner) && owner['kind'] === 'Pod');
}

function objectAt(value: unknown, field: string): JsonObject | undefined {
  const found = isJsonObject(value) && Object.hasOwn(value, field) ? value[field] : undefined;
  return isJsonObject(found) ? found : undefined;
}

/** A name as Kubernetes has them; undefined for anything else. */
function textAt(value: JsonObject | undefined, field: string): string | undefined {
  const found = value !== undefined && Object.hasOwn(value, field) ? value[field] : undefined;
  const isName =
    typeof found === 'string' && found !== '' && found.length <= MAX_NAME_CHARS && !hasUnprintable(found);
  return isName ? found : undefined;
}
