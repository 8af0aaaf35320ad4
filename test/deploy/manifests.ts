import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Anything that YAML can say. */
export type Node = Readonly<Record<string, unknown>>;

/** An object of a manifest with where it stands, for messages. */
export interface Placed {
  readonly at: string;
  readonly object: Node;
}

/** A pod template with what it belongs to. */
export interface PodTemplate {
  readonly at: string;
  readonly spec: Node;
  readonly labels: Readonly<Record<string, string>>;
}

/** The files below `deploy/` with this ending, as paths from the repository's root. */
export function deployFiles(ending: string): string[] {
  return readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** The text of a file of the repository. */
export function repositoryFile(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The objects of a YAML text. Throws at the first thing that is wrong with it. */
export function objectsOf(at: string, text: string): Placed[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  return (Array.isArray(documents) ? documents : []).flatMap((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${at}: ${problem.message}`);
    const object = asNode(document.toJS());
    if (object === undefined) return [];
    const { name } = asNode(object['metadata']) ?? {};
    return [{ at: `${at}: ${String(object['kind'])} ${String(name)}`, object }];
  });
}

/** Every manifest of the repository that is no template and no values of the chart. */
export function plainManifests(): Placed[] {
  return deployFiles('.yaml')
    .filter((file) => !file.startsWith('deploy/helm/'))
    .flatMap((file) => objectsOf(file, repositoryFile(file)));
}

/** The pod templates of workloads and of Dynamo's graphs, patches among them; the latter as the operator puts them together. */
export function podTemplatesOf({ at, object }: Placed): PodTemplate[] {
  const spec = asNode(object['spec']) ?? {};
  if (object['kind'] === 'DynamoGraphDeployment') return graphTemplates(at, spec);
  const template = asNode(spec['template']);
  if (template === undefined) return object['kind'] === 'Pod' ? [toTemplate(at, object)] : [];
  return [toTemplate(at, template)];
}

function toTemplate(at: string, template: Node): PodTemplate {
  const labels = asNode(asNode(template['metadata'])?.['labels']) ?? {};
  return { at, spec: asNode(template['spec']) ?? {}, labels: labels as Record<string, string> };
}

/** `v1beta1` has whole templates; `v1alpha1` has parts of them, from which the operator makes the container `main`. */
function graphTemplates(at: string, spec: Node): PodTemplate[] {
  const components = nodesOf(spec['components']).map((component) =>
    toTemplate(`${at}: ${String(component['name'])}`, asNode(component['podTemplate']) ?? {}),
  );
  const services = Object.entries(asNode(spec['services']) ?? {}).map(([name, service]): PodTemplate => {
    const { extraPodSpec, envs, resources } = asNode(service) ?? {};
    const { mainContainer, ...rest } = asNode(extraPodSpec) ?? {};
    const { gpu, ...limits } = (asNode(asNode(resources)?.['limits']) ?? {}) as Record<string, unknown>;
    const main = {
      name: 'main',
      env: envs,
      resources: {
        ...asNode(resources),
        limits: { ...limits, ...(gpu === undefined ? {} : { 'nvidia.com/gpu': gpu }) },
      },
      ...asNode(mainContainer),
    };
    return {
      at: `${at}: ${name}`,
      labels: {},
      spec: { ...rest, containers: [main, ...nodesOf(rest['containers'])] },
    };
  });
  return [...components, ...services];
}

/** A mapping, or undefined for anything else. */
export function asNode(value: unknown): Node | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Node) : undefined;
}

/** The mappings of a list; none where there is no list. */
export function nodesOf(value: unknown): Node[] {
  return Array.isArray(value) ? value.map(asNode).filter((item) => item !== undefined) : [];
}

/** The texts of a list; none where there is no list. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
