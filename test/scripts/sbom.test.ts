import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import lock from '../../package-lock.json' with { type: 'json' };

const SCRIPT = fileURLToPath(new URL('../../scripts/sbom.mjs', import.meta.url));

/** One run of the script, as an operator would call it from another folder. */
function printSbom(): string {
  return execFileSync(process.execPath, [SCRIPT], {
    cwd: '/',
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** What the lock file installs in production. */
const production = Object.entries<{ version?: string; dev?: boolean }>(lock.packages)
  .filter(([path, { dev }]) => path !== '' && dev !== true)
  .map(([path, { version }]) => `${path.replace(/^.*node_modules\//, '')}@${version}`);

describe('the bill of materials', { timeout: 60_000 }, () => {
  const text = printSbom();
  const sbom = JSON.parse(text);

  it('lists what production installs, also what development needs too, and nothing else', () => {
    const listed = sbom.components.map(
      ({ name, version }: { name: string; version: string }) => `${name}@${version}`,
    );
    expect(new Set(listed)).toEqual(new Set(production));
    expect(listed).toContain(`yaml@${manifest.dependencies.yaml}`);
  });

  it('gives each package its hash, its licence and its name for scanners', () => {
    for (const { name, hashes, licenses, purl } of sbom.components) {
      expect(purl).toMatch(/^pkg:npm\//);
      expect([name, hashes?.[0].alg]).toEqual([name, 'SHA-512']);
      expect([name, licenses?.length]).toEqual([name, 1]);
    }
  });

  it('names the program by its own name, and not by the folder of the checkout', () => {
    expect(sbom.metadata.component).toMatchObject({
      type: 'application',
      name: manifest.name,
      version: manifest.version,
      'bom-ref': `${manifest.name}@${manifest.version}`,
    });
  });

  it('refers to nothing that it does not list', () => {
    const refs = new Set([sbom.metadata.component['bom-ref']]);
    for (const component of sbom.components) refs.add(component['bom-ref']);
    for (const { ref, dependsOn } of sbom.dependencies) {
      for (const name of [ref, ...dependsOn]) expect(refs).toContain(name);
    }
  });

  it('is the same text every time', () => {
    expect(printSbom()).toBe(text);
    expect(sbom.serialNumber).toMatch(
      /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
  });
});
