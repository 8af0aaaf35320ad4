import { describe, expect, it } from 'vitest';
import { found, inspect } from '../support.js';

/** Values of production-stack, a model of which reports to LMCache's controller, or not. */
function values(reports: boolean): string {
  return `servingEngineSpec:
  modelSpec:
    - name: m
      modelURL: org/m
      lmcacheConfig: {enabled: ${reports}, enableController: ${reports}}
routerSpec:
  routingLogic: kvaware
`;
}

const indent = (text: string, by: number): string => text.replace(/^(?=.)/gm, ' '.repeat(by));

const release = (text: string, more = ''): string => `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: v}
spec:
  chart: {spec: {chart: vllm-stack}}
${more}  values:
${indent(text, 4)}`;

const application = (helm: string): string => `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: v}
spec:
  source:
    chart: vllm-stack
    helm:
${indent(helm, 6)}`;

const FORMS: readonly (readonly [string, (text: string) => string])[] = [
  ['a HelmRelease of Flux', (text) => release(text)],
  ['an Application of Argo CD', (text) => application(`valuesObject:\n${indent(text, 2)}`)],
  ['a text of such an Application', (text) => application(`values: |\n${indent(text, 2)}`)],
  [
    'one of several sources',
    (text) =>
      `apiVersion: argoproj.io/v1alpha1\nkind: Application\nspec:\n  sources:\n    - chart: x\n      helm:\n        valuesObject:\n${indent(text, 10)}`,
  ],
  [
    'a HelmChart of k3s',
    (text) =>
      `apiVersion: helm.cattle.io/v1\nkind: HelmChart\nspec:\n  chart: vllm-stack\n  valuesContent: |\n${indent(text, 4)}`,
  ],
];

describe('the values of a chart in an object that installs it', () => {
  it.each(FORMS)('are read in %s', (_, form) => {
    const text = form(values(false));
    const line = text.split('\n').findIndex((one) => one.includes('modelURL')) + 1;
    expect(found({ 'x.yaml': text })).toEqual([`kvaware-without-lmcache x.yaml:${line} error`]);
    expect(found({ 'x.yaml': form(values(true)) })).toEqual([]);
  });

  it('are read in a kustomization that renders the chart', () => {
    const text = `helmCharts:\n  - name: vllm-stack\n    valuesInline:\n${indent(values(false), 6)}`;
    expect(found({ 'kustomization.yaml': text })).toEqual([
      'kvaware-without-lmcache kustomization.yaml:7 error',
    ]);
  });

  it.each([
    ['valuesFrom', release(values(false), '  valuesFrom: [{kind: ConfigMap, name: more}]\n')],
    ['valueFiles', application(`valueFiles: [a.yaml]\nvaluesObject:\n${indent(values(false), 2)}`)],
    [
      'parameters',
      application(`parameters: [{name: a, value: b}]\nvaluesObject:\n${indent(values(false), 2)}`),
    ],
  ])('prove nothing beside %s', (_, text) => {
    expect(found({ 'x.yaml': text })).toEqual([]);
  });

  it("are those of llm-d's model service only where its chart is named", () => {
    const section = `decode:
  containers:
    - name: vllm
      image: ghcr.io/llm-d/llm-d:v0.2
      modelCommand: vllmServe
      args: [--block-size, "64"]
`;
    const named = (chart: string): readonly unknown[] =>
      inspect({ 'x.yaml': release(section).replace('chart: vllm-stack', `chart: ${chart}`) }).notChecked.map(
        ({ program }) => program,
      );
    expect(named('llm-d-modelservice')).toEqual(['vllm']);
    expect(named('radio')).toEqual(['vLLM image']);
  });
});
