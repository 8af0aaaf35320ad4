import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Document, isCollection, parse, visit } from 'yaml';
import { fixAll } from '../../../../../src/tools/manifests/lint/fixes/apply-fixes.js';
import { lintFiles } from '../../../../../src/tools/manifests/lint/lint-files.js';
import { readSourceFile } from '../../../../../src/tools/manifests/source-file.js';
import { applyEdits } from '../../../../../src/tools/manifests/text-edit.js';
import { propertyRuns } from '../../../../support/property-runs.js';

/** How the frontend is set to route by KV cache, and what else its lists hold. */
interface Shape {
  readonly mode: 'envs' | 'env' | 'args' | 'script' | 'graph';
  readonly isBeta: boolean;
  readonly others: number;
}

type Env = readonly { readonly name: string; readonly value: string }[];

/** The two containers of a graph with the fault, as an object. */
function graphOf({ mode, isBeta, others }: Shape): Record<string, unknown> {
  const kv = { name: 'DYN_ROUTER_MODE', value: 'kv' };
  const rest: Env = Array.from({ length: others }, (_, index) => ({
    name: `OTHER_${index}`,
    value: `${index}`,
  }));
  const frontend = {
    name: 'main',
    image: 'my-registry/tensorrtllm-runtime:my-tag',
    ...(mode === 'env' ? { env: [...rest, kv] } : {}),
    ...(mode === 'args'
      ? { args: ['-m', 'dynamo.frontend', '--router-mode', 'kv'], command: ['python3'] }
      : {}),
    ...(mode === 'script'
      ? { command: ['sh', '-c'], args: ['exec python3 -m dynamo.frontend --router-mode kv'] }
      : {}),
  };
  const worker = {
    name: 'main',
    image: 'my-registry/tensorrtllm-runtime:my-tag',
    command: ['python3', '-m', 'dynamo.trtllm'],
    args: ['--model-path', 'm'],
  };
  const envs = mode === 'envs' ? { envs: [kv, ...rest] } : {};
  return {
    apiVersion: `nvidia.com/v1${isBeta ? 'beta1' : 'alpha1'}`,
    kind: 'DynamoGraphDeployment',
    metadata: { name: 'g' },
    spec: {
      ...(mode === 'graph' ? { envs: [kv] } : {}),
      ...(isBeta
        ? {
            components: [
              {
                name: 'Frontend',
                type: 'frontend',
                ...envs,
                podTemplate: { spec: { containers: [frontend] } },
              },
              { name: 'Worker', type: 'worker', podTemplate: { spec: { containers: [worker] } } },
            ],
          }
        : {
            services: {
              Frontend: { componentType: 'frontend', ...envs, extraPodSpec: { mainContainer: frontend } },
              Worker: { componentType: 'worker', extraPodSpec: { mainContainer: worker } },
            },
          }),
    },
  };
}

const shapes: fc.Arbitrary<Shape> = fc.record({
  mode: fc.constantFrom('envs', 'env', 'args', 'script', 'graph'),
  isBeta: fc.boolean(),
  others: fc.nat(2),
});

/** The same object in one of the ways in which people write YAML. */
const texts: fc.Arbitrary<string> = fc
  .record({
    shape: shapes,
    indent: fc.constantFrom(2, 3, 4, 8),
    indentSeq: fc.boolean(),
    quoted: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE', 'BLOCK_LITERAL'),
    flow: fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
    ends: fc.constantFrom('\n', '\r\n'),
    isJson: fc.boolean(),
    comment: fc.boolean(),
    isTrimmed: fc.boolean(),
  })
  .map(({ shape, indent, indentSeq, quoted, flow, ends, isJson, comment, isTrimmed }) => {
    const object = graphOf(shape);
    if (isJson) {
      return JSON.stringify(object, undefined, indent);
    }
    const document = new Document(object);
    let index = 0;
    visit(document, {
      Collection(_key, node) {
        index += 1;
        if (isCollection(node)) {
          node.flow = flow[index % flow.length] === true && index > 3;
        }
      },
      Scalar(key, node) {
        if (key === 'value' && comment && !String(node.value).includes('\n')) {
          node.comment = ' kept';
        }
      },
    });
    const text = document.toString({
      indent,
      indentSeq,
      lineWidth: 0,
      defaultStringType: quoted as 'PLAIN',
      defaultKeyType: 'PLAIN',
    });
    return (isTrimmed ? text.trimEnd() : text).replaceAll('\n', ends);
  });

const lint = (text: string): ReturnType<typeof lintFiles> => lintFiles([readSourceFile('x.yaml', text)], []);

/** Every variable and argument of an object, in order. */
function without(object: unknown): unknown {
  const text = JSON.stringify(object, (_key, value: unknown) => {
    if (Array.isArray(value)) {
      const kept = value.filter(
        (one: unknown) =>
          !(
            typeof one === 'object' &&
            one !== null &&
            'name' in one &&
            one.name === 'DYN_KV_CACHE_BLOCK_SIZE'
          ) && one !== '--publish-events-and-metrics',
      );
      return kept.length === 0 ? undefined : kept;
    }
    return value;
  });
  return JSON.parse(text) as unknown;
}

describe('fixes in every style of YAML', () => {
  it('add what is missing, and change nothing else', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const before = lint(text);
        expect(before.map(({ ruleId }) => ruleId).sort()).toEqual(['block-size-unset', 'kv-events-off']);
        for (const { fix } of before) {
          expect(fix).toBeDefined();
          const fixed = applyEdits(text, fix?.edits ?? []);
          const [edit] = fix?.edits ?? [];
          expect(fixed.startsWith(text.slice(0, edit?.start))).toBe(true);
          expect(fixed.endsWith(text.slice(edit?.end))).toBe(true);
        }
        const fixed = fixAll([{ file: 'x.yaml', text }], ([one]) => lint(one?.text ?? ''));
        expect(fixed.findings).toEqual([]);
        const after = fixed.texts[0]?.text ?? '';
        expect(without(parse(after))).toEqual(without(parse(text)));
        expect(after).toContain('DYN_KV_CACHE_BLOCK_SIZE');
        expect((after.match(/# kept/g) ?? []).length).toBe((text.match(/# kept/g) ?? []).length);
      }),
      { numRuns: propertyRuns(60) },
    );
  });
});

describe('lists that are shared', () => {
  const shared = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Frontend:
      componentType: frontend
      envs: &shared
        - {name: DYN_ROUTER_MODE, value: kv}
      extraPodSpec: {mainContainer: {image: i}}
    Worker:
      componentType: worker
      envs: *shared
      extraPodSpec:
        mainContainer:
          image: i
          command: [python3, -m, dynamo.trtllm, --model-path, m, --publish-kv-events]
`;

  it('are left to a person', () => {
    const [finding] = lint(shared);
    expect(finding).toMatchObject({ ruleId: 'block-size-unset' });
    const fixed = applyEdits(shared, finding?.fix?.edits ?? []);
    expect(fixed).toContain(
      'envs: &shared\n        - {name: DYN_ROUTER_MODE, value: kv}\n      extraPodSpec',
    );
  });
});
