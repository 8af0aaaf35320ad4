/** What a test says of the object's own pod. */
interface OwnerSketch {
  /** Default: the object's name. */
  readonly pod?: string;
  readonly deletionTimestamp?: string;
}

/** A `DynamoWorkerMetadata` object, as a worker in the namespace `inference` applies it for itself. */
export function workerMetadata(name: string, modelCards: unknown, sketch: OwnerSketch = {}): object {
  const { pod = name, deletionTimestamp } = sketch;
  return {
    apiVersion: 'nvidia.com/v1alpha1',
    kind: 'DynamoWorkerMetadata',
    metadata: {
      name,
      namespace: 'inference',
      uid: `uid-of-the-object-${name}`,
      resourceVersion: '1',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: pod, uid: `uid-of-${pod}`, controller: true }],
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    },
    spec: { data: { endpoints: {}, model_cards: modelCards, event_channels: {} } },
  };
}
