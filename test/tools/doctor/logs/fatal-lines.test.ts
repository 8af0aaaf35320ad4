import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/tools/doctor/diagnose.js';
import type { Diagnosis } from '../../../../src/tools/doctor/diagnosis.js';
import { joined } from '../support/evidence.js';
import { summaryOf } from './summaries.js';

async function diagnosisOf(...lines: readonly string[]): Promise<Diagnosis> {
  return diagnose(joined({ logs: [await summaryOf(lines.map((line) => `${line}\n`).join(''))] }));
}

const INFO = 'I0303 10:00:00.175809       1 main.go:80] starting';

describe('a line with which a program ends itself', () => {
  it.each([
    'F0303 10:00:00.175809       1 main.go:95] the frob is out of tune',
    'F1120 10:00:00.123456  7053 master.cpp:173] the frob is out of tune',
    '{"level":"fatal","ts":"2026-03-03T10:00:00Z","msg":"the frob is out of tune"}',
  ])('%s', async (line) => {
    const { headline, assessments } = await diagnosisOf(INFO, line, INFO);
    expect(assessments[0]?.cause).toBe('program_ended');
    expect(headline).toContain('the frob is out of tune');
  });

  it('is the "Error: …" that a log ends with', async () => {
    const error = 'Error: the frob is out of tune';
    expect((await diagnosisOf(INFO, error)).assessments[0]?.cause).toBe('program_ended');
    expect((await diagnosisOf(INFO, error, INFO)).verdict).toBe('unknown');
    const cut = `${error} of the widgets that stand in the way of the gadget which is the`;
    expect((await diagnosisOf(INFO, cut, 'last of its kind')).assessments[0]?.cause).toBe('program_ended');
  });

  it('is none of an "Error: …" below which something else is written', async () => {
    const error = 'Error: Pod logs ended but target pattern was not detected';
    const { verdict } = await diagnosisOf(INFO, error, 'job.batch.volcano.sh "sglang-single" deleted');
    expect(verdict).toBe('unknown');
  });

  it.each([
    'E0303 10:00:00.175809       1 main.go:95] the frob is out of tune',
    '{"level":"error","ts":"2026-03-03T10:00:00Z","msg":"the frob is out of tune"}',
    '(APIServer pid=7) CRITICAL 11-20 10:00:00 [a.py:1] the frob is out of tune',
  ])('is none of %s', async (line) => {
    expect((await diagnosisOf(INFO, line, INFO)).verdict).toBe('unknown');
  });
});

describe('a part that is made with what it does not take', () => {
  const frames = (place: string): readonly string[] => [
    'Traceback (most recent call last):',
    `  File "/usr/lib/python3.12/site-packages/lmcache/v1/storage_backend/frob.py", line 7, in ${place}`,
    '    raise ValueError(',
  ];

  it('refuses its settings', async () => {
    const { assessments, advice } = await diagnosisOf(
      ...frames('__init__'),
      'ValueError: FrobBackend is not supported with P2P mode',
    );
    expect(assessments[0]?.cause).toBe('settings_refused');
    expect(advice).toContain('without FrobBackend, or without P2P mode');
  });

  it('lacks a package that its sentence names', async () => {
    const { assessments, advice } = await diagnosisOf(
      ...frames('create_connector'),
      "RuntimeError: Frob support requires the frob module. Install: pip install 'frob-sync>=2.3.0' (of 2026)",
    );
    expect(assessments[0]?.cause).toBe('library_missing');
    expect(advice).toContain("Run pip install 'frob-sync>=2.3.0' in the image");
  });

  it.each([
    ['put', 'ValueError: FrobBackend is not supported with P2P mode'],
    ['__init__', 'ValueError: the remote peer must be known'],
    ['__init__', 'KeyError: 7'],
  ])('is none in %s of %s', async (place, last) => {
    expect((await diagnosisOf(...frames(place), last)).assessments[0]?.cause).toBe('connector_crashed');
  });
});
