import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const root = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8');

describe('the Dockerfile', () => {
  it('says of the program what package.json says', () => {
    expect(/^ARG VERSION=(.*)$/m.exec(dockerfile)?.[1]).toBe(manifest.version);
    for (const [label, value] of [
      ['title', manifest.name],
      ['description', manifest.description],
      ['licenses', manifest.license],
    ]) {
      expect(dockerfile).toContain(`org.opencontainers.image.${label}="${value}"`);
    }
  });

  it('stands on a base that is pinned by its digest, of the line of Node that is recommended', () => {
    expect(/^ARG NODE_IMAGE=(.*)$/m.exec(dockerfile)?.[1]).toMatch(
      /^node:22-bookworm-slim@sha256:[0-9a-f]{64}$/,
    );
    const bases = [...dockerfile.matchAll(/^FROM (.*)$/gm)].map(([, base]) => base);
    expect(bases).toEqual([
      expect.stringMatching(/^--platform=\$BUILDPLATFORM \$\{NODE_IMAGE\} AS build$/),
      expect.stringMatching(/^\$\{NODE_IMAGE\}$/),
    ]);
  });

  it('fails to build on a Node that does not know its options, in place of an image that never starts', () => {
    const lastStage = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    const options = lastStage.indexOf('ENV NODE_OPTIONS=--disable-sigusr1');
    expect(options).toBeGreaterThan(0);
    expect(lastStage.indexOf('node --eval')).toBeGreaterThan(options);
  });

  it('copies out of the checkout nothing that .dockerignore keeps away', () => {
    const ignore = readFileSync(join(root, '.dockerignore'), 'utf8').split('\n');
    const sent = ignore.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
      sources.split(' '),
    );
    expect(ignore).toContain('*');
    expect([...copied].sort()).toEqual([...sent].sort());
  });
});
