import { posix } from 'node:path';
import { isMap, type YAMLMap } from 'yaml';
import { readSourceFile } from '../../source-file.js';
import { placedText, YamlAccess } from '../../yaml-access.js';

/** Services of one file; large ones have some dozens. */
const MAX_SERVICES = 500;

/** The container files that a text builds images of if it is a compose file, relative to it, and below or beside it. */
export function buildFilesIn(text: string): readonly string[] {
  if (!/^services:/m.test(text) || !/\bbuild:/.test(text) || !/\bdynamo\./.test(text)) return [];
  const paths = readSourceFile('', text).documents.flatMap((document) => {
    const access = new YamlAccess(document);
    const root = isMap(document.contents) ? document.contents : undefined;
    const services = [...access.entries(access.map(root, 'services'))].slice(0, MAX_SERVICES);
    return services.flatMap(([, node]) => (isMap(node) ? (buildFile(access, node) ?? []) : []));
  });
  return [...new Set(paths)].filter((path) => !posix.isAbsolute(path) && !path.startsWith('..'));
}

/** The container file of a service, relative to the compose file. */
export function buildFile(access: YamlAccess, service: YAMLMap): string | undefined {
  const build = access.get(service, 'build');
  const context = placedText(build)?.value ?? access.text(access.map(service, 'build'), 'context')?.value;
  const file = access.text(access.map(service, 'build'), 'dockerfile')?.value;
  return build === undefined || `${context}${file}`.includes('$')
    ? undefined
    : posix.join(context ?? '.', file ?? 'Dockerfile');
}
