import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const read = (name: string) => readFileSync(new URL(`../../dist/page/${name}`, import.meta.url), 'utf8');

/** All that a browser loads, not compressed. */
const MAX_BYTES = 200_000;

describe('the web app, as built', () => {
  it('is smaller than 200 KB in all', () => {
    expect(Buffer.byteLength(read('app.js')) + Buffer.byteLength(read('app.css'))).toBeLessThan(MAX_BYTES);
  });

  it('has no address of another server to load from', () => {
    const named = [...`${read('app.js')}${read('app.css')}`.matchAll(/https?:\/\/[\w./-]+/g)].map(
      ([url]) => url,
    );
    // The names of XML namespaces are addresses of nothing.
    expect(named.filter((url) => !url.startsWith('http://www.w3.org/'))).toEqual([]);
  });

  it('makes no code of text', () => {
    // Not by toMatch, which would print the whole script.
    expect(/\beval\(|new Function\(|insertAdjacentHTML|document\.write/.test(read('app.js'))).toBe(false);
  });

  it('brings the licence of each package that stands in it', () => {
    const licences = read('licences.txt');
    for (const name of ['preact', '@preact/signals', 'uplot', '@tanstack/virtual-core'])
      expect(licences).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(MIT\\)$`, 'm'));
  });
});

describe('the sources of the web app', () => {
  it('never make markup of a text', () => {
    const folder = new URL('../../src/page/', import.meta.url);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
      /\.tsx?$/.test(file),
    );
    expect(files.length).toBeGreaterThan(20);
    for (const file of files)
      expect([file, /innerHTML/i.test(readFileSync(new URL(file, folder), 'utf8'))]).toEqual([file, false]);
  });
});
