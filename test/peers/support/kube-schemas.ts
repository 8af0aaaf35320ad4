import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Kube } from './kube.js';
import { peerPath } from './peers.js';
import { type Outcome, run } from './run.js';
import { scratchFolder } from './scratch.js';

/** A type in the server's description of itself, OpenAPI 2. */
interface Definition {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: unknown;
  readonly 'x-kubernetes-group-version-kind'?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

/** Described as text alone, although manifests have numbers there as well. */
const TEXT_OR_NUMBER: Readonly<Record<string, object>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
};

/**
 * Writes the schemas of all kinds that the server has, in the layout that
 * kubeconform reads, and returns their folder. Unknown fields are refused, as
 * the server itself does.
 */
export async function writeKubeSchemas(kube: Kube): Promise<string> {
  const { definitions } = await kube.ask<{ definitions: Record<string, Definition> }>('GET', '/openapi/v2');
  const strict = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [
      name,
      TEXT_OR_NUMBER[name] ?? withoutUnknownFields(definition),
    ]),
  );
  const folder = mkdtempSync(join(scratchFolder(), 'kube-schemas-'));
  // Types refer to each other, so that one file holds them all.
  const write = (file: string, content: object): void =>
    writeFileSync(
      join(folder, file),
      JSON.stringify(content).replaceAll('"#/definitions/', '"types.json#/definitions/'),
    );
  writeFileSync(join(folder, 'types.json'), JSON.stringify({ definitions: strict }));
  for (const definition of Object.values(strict) as Definition[]) {
    for (const { group, version, kind } of definition['x-kubernetes-group-version-kind'] ?? []) {
      const apiVersion = group === '' ? version : `${group}/${version}`;
      // kubeconform names the file by the kind, the first part of the group, and the version.
      const names = [kind.toLowerCase(), ...(group === '' ? [] : [group.split('.')[0]]), version];
      write(`${names.join('-')}.json`, {
        ...definition,
        properties: { ...definition.properties, apiVersion: { const: apiVersion }, kind: { const: kind } },
        required: [...new Set([...(definition.required ?? []), 'apiVersion', 'kind'])],
      });
    }
  }
  return folder;
}

/** Runs kubeconform on manifests; `ignore` names kinds that have no schema here, such as `ServiceMonitor`. */
export function kubeconform(
  schemas: string,
  files: readonly string[],
  ignore: readonly string[] = [],
): Promise<Outcome> {
  return run(peerPath('kubeconform'), [
    ...['-strict', '-summary', '-output', 'text'],
    ...['-schema-location', join(schemas, '{{.ResourceKind}}{{.KindSuffix}}.json')],
    ...(ignore.length === 0 ? [] : ['-skip', ignore.join(',')]),
    ...files,
  ]);
}

function withoutUnknownFields(definition: Definition): Definition {
  return definition.properties === undefined ? definition : { additionalProperties: false, ...definition };
}
