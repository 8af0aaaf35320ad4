import fc from 'fast-check';

/** How one manifest is written: every question about style takes the next answer. */
class Style {
  readonly #answers: readonly number[];
  #next = 0;

  constructor(answers: readonly number[]) {
    this.#answers = answers;
  }

  /** A number below `count`. */
  pick(count: number): number {
    const answer = this.#answers[this.#next % this.#answers.length] ?? 0;
    this.#next += 1;
    return answer % count;
  }
}

const SCRIPT = '#!/bin/sh\n# kv-accord: end\nexec python3 -m dynamo.frontend\n';

/** Workers and a frontend, as objects; how they look is the style's. */
function objectsOf(style: Style): readonly unknown[] {
  const container = (name: string, command: readonly string[]): Record<string, unknown> => ({
    ...(style.pick(2) === 0 ? { name } : {}),
    image: 'registry.example/engine:1',
    command,
    ...(style.pick(3) === 0 ? { args: ['--port', '8100'] } : {}),
    ...(style.pick(3) === 0
      ? {
          env: [
            { name: 'A', value: '1' },
            { name: 'SCRIPT', value: SCRIPT },
          ],
        }
      : {}),
    ...(style.pick(3) === 0 ? { volumeMounts: [{ name: 'v', mountPath: '/v' }] } : {}),
    name,
  });
  const pod = (name: string, command: readonly string[]): Record<string, unknown> => ({
    ...(style.pick(3) === 0
      ? { initContainers: style.pick(2) === 0 ? [] : [{ name: 'init', image: 'i' }] }
      : {}),
    ...(style.pick(4) === 0 ? { initContainers: null } : {}),
    containers: [container(name, command)],
    ...(style.pick(3) === 0 ? { volumes: [{ name: 'v', emptyDir: {} }] } : {}),
  });
  const deployment = (name: string, command: readonly string[]): unknown => ({
    apiVersion: 'apps/v1',
    kind: style.pick(2) === 0 ? 'Deployment' : 'StatefulSet',
    metadata: { name, ...(style.pick(2) === 0 ? { annotations: { note: '  # no comment: [x' } } : {}) },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: pod(name, command) },
    },
  });
  const vllm = ['vllm', 'serve', 'tiny'];
  const frontend = style.pick(2) === 0 ? ['python3', '-m', 'dynamo.frontend'] : ['sh', '-c', SCRIPT];
  const graph = {
    apiVersion: 'nvidia.com/v1beta1',
    kind: 'DynamoGraphDeployment',
    metadata: { name: 'graph', namespace: 'n' },
    spec: {
      components: [
        { name: 'Frontend', type: 'frontend', podTemplate: { spec: pod('main', frontend) } },
        {
          name: 'worker',
          type: 'worker',
          podTemplate: { spec: pod('main', ['python3', '-m', 'dynamo.vllm']) },
        },
      ],
    },
  };
  const custom = (): unknown => {
    const template = { metadata: { labels: { app: 'worker' } }, spec: pod('main', vllm) };
    return (CUSTOM[style.pick(CUSTOM.length)] as (template: unknown, name: string) => unknown)(
      template,
      'worker',
    );
  };
  switch (style.pick(3)) {
    case 0:
      return [
        deployment('worker', vllm),
        { kind: 'ConfigMap', data: { script: SCRIPT } },
        deployment('front', frontend),
      ];
    case 1:
      return [custom(), deployment('front', frontend)];
    default:
      return [graph];
  }
}

/** The kinds of others, each with one pod template. */
const CUSTOM: readonly ((template: { readonly spec: unknown }, name: string) => unknown)[] = [
  (template, name) => ({
    apiVersion: 'workloads.x-k8s.io/v1alpha2',
    kind: 'RoleBasedGroup',
    metadata: { name },
    spec: { roles: [{ name: 'decode', replicas: 2, standalonePattern: { template } }] },
  }),
  (template, name) => ({
    apiVersion: 'orchestration.aibrix.ai/v1alpha1',
    kind: 'StormService',
    metadata: { name },
    spec: { template: { spec: { roles: [{ name: 'decode', template }] } } },
  }),
  (template, name) => ({
    apiVersion: 'workload.serving.volcano.sh/v1alpha1',
    kind: 'ModelServing',
    metadata: { name },
    spec: { template: { roles: [{ name: 'decode', entryTemplate: template }] } },
  }),
  ({ spec }, name) => ({
    apiVersion: 'serving.kserve.io/v1beta1',
    kind: 'InferenceService',
    metadata: { name },
    spec: { predictor: spec },
  }),
  ({ spec }, name) => ({
    apiVersion: 'serving.kserve.io/v1alpha2',
    kind: 'LLMInferenceService',
    metadata: { name },
    spec: { replicas: 2, template: spec },
  }),
  (template, name) => ({
    apiVersion: 'ray.io/v1',
    kind: 'RayService',
    metadata: { name },
    spec: { rayClusterConfig: { headGroupSpec: { rayStartParams: {}, template } } },
  }),
  (template, name) => ({
    apiVersion: 'ray.io/v1',
    kind: 'RayCluster',
    metadata: { name },
    spec: { headGroupSpec: { template } },
  }),
];

/** Writes a value as YAML, one way of many. */
class Writer {
  readonly #style: Style;

  constructor(style: Style) {
    this.#style = style;
  }

  document(value: unknown): string {
    return `${this.#comment('')}${this.#block(value, 0)}`;
  }

  /** Lines of a collection that begin at a column. */
  #block(value: unknown, column: number): string {
    const margin = ' '.repeat(column);
    if (Array.isArray(value))
      return value.map((item) => `${this.#comment(margin)}${margin}${this.#item(item, column)}`).join('');
    return Object.entries(value as object)
      .map(([key, inner]) => `${this.#comment(margin)}${margin}${this.#entry(key, inner, column)}`)
      .join('');
  }

  #item(item: unknown, column: number): string {
    const gap = this.#style.pick(4) === 0 ? 3 : 1;
    if (isCollection(item) && this.#style.pick(5) > 0) {
      const inner = this.#block(item, column + 1 + gap).replace(/^(?:[ \t]*#.*\n|\n)*/, '');
      return `-${' '.repeat(gap)}${inner.trimStart()}`;
    }
    return `-${' '.repeat(gap)}${this.#inline(item, column)}\n`;
  }

  #entry(key: string, value: unknown, column: number): string {
    if (!isCollection(value) || this.#style.pick(6) === 0) return `${key}: ${this.#inline(value, column)}\n`;
    const step = Array.isArray(value) ? this.#style.pick(3) * 2 : 2 + this.#style.pick(3);
    const end = this.#style.pick(8) === 0 ? ' # here' : '';
    return `${key}:${end}\n${this.#block(value, column + step)}`;
  }

  #inline(value: unknown, column: number): string {
    if (value === null) return '';
    if (typeof value === 'string' && value.includes('\n') && this.#style.pick(2) === 0) {
      const margin = ' '.repeat(column + 2);
      return `|\n${value
        .trimEnd()
        .split('\n')
        .map((line) => margin + line)
        .join('\n')}`;
    }
    if (!isCollection(value) && !Array.isArray(value)) return JSON.stringify(value);
    const open =
      this.#style.pick(3) === 0 ? `\n${' '.repeat(column + 3)}` : this.#style.pick(2) === 0 ? ' ' : '';
    return JSON.stringify(value).replace(/^([[{])/, `$1${open}`);
  }

  #comment(margin: string): string {
    switch (this.#style.pick(9)) {
      case 0:
        return `${margin}# A remark: with [ and "\n`;
      case 1:
        return '\n';
      case 2:
        return `${margin}    # further in\t\n`;
      default:
        return '';
    }
  }
}

function isCollection(value: unknown): boolean {
  return Array.isArray(value)
    ? value.length > 0
    : typeof value === 'object' && value !== null && Object.keys(value).length > 0;
}

/** Manifests of workers and frontends in many styles. */
export const randomManifest: fc.Arbitrary<string> = fc
  .record({
    answers: fc.array(fc.nat(359), { minLength: 40, maxLength: 200 }),
    eol: fc.constantFrom('\n', '\r\n'),
    end: fc.constantFrom('', '\n', '\n\n', '\n# the end', '\n...\n', '\n---\n'),
    mark: fc.constantFrom('', '\ufeff'),
  })
  .map(({ answers, eol, end, mark }) => {
    const style = new Style(answers);
    const writer = new Writer(style);
    const documents = objectsOf(style).map((object) => writer.document(object));
    const text = `${documents.join('---\n').replace(/\n+$/, '')}${end}`;
    return mark + text.replaceAll('\n', eol);
  });
