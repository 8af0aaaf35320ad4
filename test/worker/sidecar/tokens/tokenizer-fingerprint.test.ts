import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openFilePieces } from '../../../../src/edge/platform/files/file-pieces.js';
import {
  type Fingerprint,
  fingerprintTokenizer,
} from '../../../../src/worker/sidecar/tokens/tokenizer-fingerprint.js';
import { FakeClock } from '../../../support/fake-clock.js';

const never = new AbortController().signal;
let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'kv-accord-tokenizer-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

function fingerprint(root = folder, signal = never): Promise<Fingerprint> {
  return fingerprintTokenizer(root, { clock: new FakeClock(), openFile: openFilePieces }, signal);
}

async function value(): Promise<unknown> {
  const { fact } = await fingerprint();
  return fact?.type === 'field' ? fact.value : undefined;
}

describe('the fingerprint of a tokenizer', () => {
  it('is the same for the same files, and says which they were', async () => {
    await writeFile(join(folder, 'tokenizer.json'), '{}');
    await writeFile(join(folder, 'config.json'), 'not of the tokenizer');
    const { fact } = await fingerprint();
    expect(fact?.evidence.raw).toBe('tokenizer.json 2 bytes');
    expect(fact?.evidence.origin).toBe(`tokenizer files in ${folder}`);
    expect(await value()).toMatch(/^[0-9a-f]{64}$/);
    const before = await value();
    await writeFile(join(folder, 'config.json'), 'changed');
    expect(await value()).toBe(before);
  });

  it('differs when a byte differs, or when bytes move from one file to the next', async () => {
    await writeFile(join(folder, 'merges.txt'), 'ab');
    await writeFile(join(folder, 'vocab.json'), 'cd');
    const first = await value();
    await writeFile(join(folder, 'vocab.json'), 'ce');
    const second = await value();
    await writeFile(join(folder, 'merges.txt'), 'abc');
    await writeFile(join(folder, 'vocab.json'), 'd');
    expect(new Set([first, second, await value()]).size).toBe(3);
  });

  it.each(['meta-llama/Llama-3.1-8B', './model', ''])(
    'is absent for %j, which is no folder here',
    async (root) => {
      expect(await fingerprint(root)).toEqual({});
    },
  );

  it('is absent when the folder is not there, or holds no tokenizer', async () => {
    expect(await fingerprint(join(folder, 'gone'))).toEqual({});
    await writeFile(join(folder, 'tokenizer_config.json'), '{}');
    expect(await fingerprint()).toEqual({});
  });

  it('says why when a file is too large, and does not read it', async () => {
    await writeFile(join(folder, 'tokenizer.json'), '');
    await truncate(join(folder, 'tokenizer.json'), 200 * 1024 * 1024);
    expect((await fingerprint()).warning).toContain('has 209715200 bytes, at most 134217728');
  });

  it('gives up when it is aborted', async () => {
    await writeFile(join(folder, 'tokenizer.json'), '{}');
    expect(await fingerprint(folder, AbortSignal.abort())).toEqual({});
  });
});
