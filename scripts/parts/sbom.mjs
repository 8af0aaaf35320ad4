import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The bill of materials of production, as CycloneDX: npm's own, out of the lock
 * file, made the same every time. npm writes the hour and a random number, and
 * takes the checkout's folder for the name of the program. Its `--omit dev`
 * leaves out what production and development share, so all of it is asked for,
 * and the lock file's own mark decides. `isIn` can leave out more, by the path
 * in the lock file.
 */
export function readSbom(root, isIn = () => true) {
  const { name } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const refs = new Set(
    Object.entries(lock.packages)
      .filter(([path, entry]) => path === '' || (entry.dev !== true && isIn(path)))
      .map(([path, entry]) => `${entry.name ?? path.replace(/^.*node_modules\//, '')}@${entry.version}`),
  );
  const text = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { $schema, bomFormat, specVersion, version, metadata, components, dependencies } = JSON.parse(text);
  const { timestamp: _, ...kept } = metadata;
  const body = {
    version,
    metadata: { ...kept, component: { ...metadata.component, type: 'application', name } },
    components: components.filter((component) => refs.has(component['bom-ref'])),
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((needed) => refs.has(needed)) })),
  };
  return { $schema, bomFormat, specVersion, serialNumber: serialNumberOf(body), ...body };
}

/** A UUID of version 8, which is what its maker makes of it: here, the content's hash. */
function serialNumberOf(body) {
  const hex = createHash('sha256').update(JSON.stringify(body)).digest('hex');
  const variant = ((Number.parseInt(hex[16], 16) & 3) | 8).toString(16);
  const groups = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return `urn:uuid:${groups.join('-')}-${hex.slice(20, 32)}`;
}
