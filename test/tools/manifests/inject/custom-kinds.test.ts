import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import {
  type InjectResult,
  injectManifests,
  removeFromManifests,
} from '../../../../src/tools/manifests/inject/inject.js';
import type { InjectOptions } from '../../../../src/tools/manifests/inject/options.js';
import { DEFAULT_INJECT_OPTIONS } from './inject-options.js';

const FIXTURE = readFileSync(
  new URL('../../../fixtures/manifests/inject/custom-kinds.yaml', import.meta.url),
  'utf8',
);

function inject(text: string, options: Partial<InjectOptions> = {}): InjectResult {
  return injectManifests([{ file: 'x.yaml', text }], { ...DEFAULT_INJECT_OPTIONS, ...options });
}

const notes = (text: string, options: Partial<InjectOptions> = {}): readonly string[] =>
  inject(text, options).notes.map(({ type, text: said }) => `${type}: ${said}`);

describe('pod specs inside the kinds of others', () => {
  it('get a sidecar each, at the port of their command; followers get none', () => {
    expect(notes(FIXTURE)).toEqual([
      'left: ModelServing serving/decode/workerTemplate: left alone: the engine of a group answers at its leader',
      'left: RayService ray/gpu: left alone: the engine of a group answers at its leader',
      'done: RoleBasedGroup roles/prefill: sidecar beside sglang, at http://127.0.0.1:8100',
      'done: RoleBasedGroup roles/decode: sidecar beside sglang, at http://127.0.0.1:30000',
      'done: StormService storm/decode: sidecar beside vllm, at http://127.0.0.1:8200',
      'done: ModelServing serving/decode: sidecar beside vllm, at http://127.0.0.1:8000',
      'done: InferenceService service/predictor: sidecar beside vllm, at http://127.0.0.1:8080',
      'done: LLMInferenceService llm: sidecar beside vllm, at http://127.0.0.1:8000',
      'done: LLMInferenceService llm/prefill: sidecar beside vllm, at http://127.0.0.1:8000',
      'done: RayService ray: sidecar beside vllm, at http://127.0.0.1:8000',
      'left: PodCliqueSet cliques/worker: left alone: it has no labels by which a Service could find its pods; say with --workers how the gate finds them',
      expect.stringMatching(/^done: Deployment front: gate \(wait\) for --workers=dns:/),
    ]);
  });

  it('have Services that select by the labels of their controllers', () => {
    const after = inject(FIXTURE).files[0]?.after ?? '';
    const services = parseAllDocuments(after)
      .map((document) => document.toJS())
      .filter(({ kind }) => kind === 'Service')
      .map(({ metadata, spec }) => [metadata.name, spec.selector]);
    expect(Object.fromEntries(services)).toEqual({
      'roles-prefill-kv-accord': {
        'rolebasedgroup.workloads.x-k8s.io/name': 'roles',
        'rolebasedgroup.workloads.x-k8s.io/role': 'prefill',
      },
      'roles-decode-kv-accord': {
        'rolebasedgroup.workloads.x-k8s.io/name': 'roles',
        'rolebasedgroup.workloads.x-k8s.io/role': 'decode',
      },
      'storm-decode-kv-accord': { 'storm-service-name': 'storm', 'role-name': 'decode' },
      'serving-decode-kv-accord': {
        'modelserving.volcano.sh/name': 'serving',
        'modelserving.volcano.sh/role': 'decode',
        'modelserving.volcano.sh/entry': 'true',
      },
      'service-predictor-kv-accord': {
        'serving.kserve.io/inferenceservice': 'service',
        component: 'predictor',
      },
      'llm-kv-accord': {
        'app.kubernetes.io/name': 'llm',
        'app.kubernetes.io/component': 'llminferenceservice-workload',
      },
      'llm-prefill-kv-accord': {
        'app.kubernetes.io/name': 'llm',
        'app.kubernetes.io/component': 'llminferenceservice-workload-prefill',
      },
      'ray-kv-accord': {
        'ray.io/originated-from-cr-name': 'ray',
        'ray.io/node-type': 'head',
      },
    });
  });
});

const UNKNOWN = `apiVersion: example.com/v1
kind: EngineFleet
metadata: {name: fleet}
spec:
  pods:
    template:
      metadata: {labels: {app: fleet}}
      spec:
        containers:
        - {name: e, image: x, command: [vllm, serve, m]}
`;

describe('a kind that is not known', () => {
  it('is left alone, with the place of its pod spec and what to do', () => {
    expect(notes(UNKNOWN)).toEqual([
      'left: EngineFleet fleet/pods: left alone: inject does not know what the controller of a EngineFleet does with the pod spec at spec.pods.template.spec; if it makes pods of all of it, say --is-worker or --is-frontend fleet/pods',
    ]);
    expect(inject(UNKNOWN).files[0]?.after).toBe(UNKNOWN);
  });

  it('is refused where it was named and can be given no Service, and not left alone', () => {
    const text = `apiVersion: serving.knative.dev/v1
kind: Service
metadata: {name: p}
spec:
  template:
    spec:
      containers:
      - {name: v, image: "vllm/vllm-openai:v0.11.0"}
`;
    const { refused, files } = inject(text, { workerNames: ['p'] });
    expect(refused).toEqual([
      expect.objectContaining({
        line: 3,
        message: expect.stringMatching(/^Service p: .*say with --workers/),
      }),
    ]);
    expect(files).toEqual([]);
    expect(inject(text, { workerNames: ['p'], workers: ['dns:///w:50061'] }).refused).toEqual([]);
  });

  it('is changed when it is named, and comes back byte for byte', () => {
    const { files, refused } = inject(UNKNOWN, { workerNames: ['fleet'] });
    const after = files[0]?.after ?? '';
    expect(refused).toEqual([]);
    expect(after).toContain('name: kv-accord-sidecar');
    expect(removeFromManifests([{ file: 'x.yaml', text: after }]).files[0]?.after).toBe(UNKNOWN);
  });

  it('without a pod spec is named as one that shows none', () => {
    const text = 'apiVersion: stack.example.com/v1\nkind: Runtime\nmetadata: {name: r}\nspec: {model: m}\n';
    const { unknownNames, podless, pods } = inject(text, { workerNames: ['r'] });
    expect({ unknownNames, podless, pods }).toEqual({
      unknownNames: ['r'],
      podless: [{ kind: 'Runtime', name: 'r' }],
      pods: [],
    });
  });
});
