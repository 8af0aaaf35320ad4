/** A mapping of which nothing is checked. */
const ANYTHING = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const text = { type: 'string' };
const texts = { type: 'object', additionalProperties: text };
const object = (properties: object, required: readonly string[] = []): object => ({
  type: 'object',
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const list = (items: object): object => ({ type: 'array', items });

function resource(group: string, kind: string, versions: Readonly<Record<string, object>>): object {
  const plural = `${kind.toLowerCase()}s`;
  const names = Object.keys(versions);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      // Names below k8s.io are kept for who has an approval; this one says that it has none.
      ...(group.endsWith('.k8s.io')
        ? { annotations: { 'api-approved.kubernetes.io': 'unapproved, for tests' } }
        : {}),
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: names.map((name) => ({
        name,
        served: true,
        storage: name === names.at(-1),
        schema: { openAPIV3Schema: object({ spec: versions[name] }, ['spec']) },
      })),
    },
  };
}

const replicas = { type: 'integer', minimum: 0 };
const envs = list(object({ name: text, value: text, valueFrom: ANYTHING }, ['name']));
const selector = object({ matchLabels: texts, matchExpressions: list(ANYTHING) });
const endpoint = object(
  {
    port: text,
    path: text,
    interval: text,
    relabelings: list(object({ targetLabel: text, replacement: text })),
    scheme: { type: 'string', enum: ['http', 'https'] },
    tlsConfig: object({ insecureSkipVerify: { type: 'boolean' } }),
  },
  ['port'],
);

/**
 * Definitions of the kinds that the manifests have from others: kind, version and the fields that are used, unknown ones
 * refused. They are made from the manifests that Dynamo ships and from the documentation of the Prometheus operator, for
 * the real ones are in no package. Pod templates in them are left to those that turn them into pods.
 */
export const SMALL_CRDS: readonly object[] = [
  resource('nvidia.com', 'DynamoGraphDeployment', {
    v1alpha1: object({
      envs,
      services: {
        type: 'object',
        additionalProperties: object({
          componentType: { type: 'string', enum: ['frontend', 'worker', 'planner', 'epp'] },
          replicas,
          dynamoNamespace: text,
          envs,
          envFromSecret: text,
          resources: object({
            requests: object({ cpu: text, memory: text, gpu: text }),
            limits: object({ cpu: text, memory: text, gpu: text }),
          }),
          extraPodSpec: ANYTHING,
        }),
      },
    }),
    v1beta1: object({
      components: {
        ...list(
          object(
            {
              name: text,
              type: {
                type: 'string',
                enum: ['frontend', 'worker', 'prefill', 'decode', 'planner', 'epp'],
              },
              replicas,
              podTemplate: ANYTHING,
            },
            ['name'],
          ),
        ),
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
      },
    }),
  }),
  resource('monitoring.coreos.com', 'PrometheusRule', {
    v1: object({
      groups: list(
        object(
          {
            name: text,
            rules: list(
              object(
                { alert: text, record: text, expr: text, for: text, labels: texts, annotations: texts },
                ['expr'],
              ),
            ),
          },
          ['name'],
        ),
      ),
    }),
  }),
  resource('monitoring.coreos.com', 'ServiceMonitor', {
    v1: object({ selector, namespaceSelector: ANYTHING, endpoints: list(endpoint) }, [
      'selector',
      'endpoints',
    ]),
  }),
  resource('monitoring.coreos.com', 'PodMonitor', {
    v1: object({ selector, namespaceSelector: ANYTHING, podMetricsEndpoints: list(endpoint) }, [
      'selector',
      'podMetricsEndpoints',
    ]),
  }),
];

/** Kinds that run pods, of which only the kind and the version are checked. */
export const OPEN_CRDS: readonly object[] = (
  [
    ['workloads.x-k8s.io', 'v1alpha1', 'RoleBasedGroup'],
    ['orchestration.aibrix.ai', 'v1alpha1', 'StormService'],
    ['workload.serving.volcano.sh', 'v1alpha1', 'ModelServing'],
    ['serving.kserve.io', 'v1beta1', 'InferenceService'],
    ['serving.kserve.io', 'v1alpha2', 'LLMInferenceService'],
    ['ray.io', 'v1', 'RayService'],
    ['grove.io', 'v1alpha1', 'PodCliqueSet'],
  ] as const
).map(([group, version, kind]) => resource(group, kind, { [version]: ANYTHING }));
