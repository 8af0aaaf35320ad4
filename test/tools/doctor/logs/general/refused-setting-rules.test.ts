import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../../src/tools/doctor/diagnose.js';
import { joined } from '../../support/evidence.js';
import { summaryOf } from '../summaries.js';

async function diagnosisOf(fields: object) {
  return diagnose(joined({ logs: [await summaryOf(`${JSON.stringify({ level: 'error', ...fields })}\n`)] }));
}

describe('a configuration that cannot be loaded', () => {
  it('is of the program that says so, which need not be an endpoint picker', async () => {
    const { headline, assessments } = await diagnosisOf({
      msg: 'failed to load config',
      error: 'open /etc/coordinator/config.yaml: no such file or directory',
    });
    expect(headline).toBe(
      'A program refuses its settings: failed to load config: open /etc/coordinator/config.yaml: no such file or directory',
    );
    expect(assessments[0]?.fixes[0]?.says).toContain('the configuration that the program loads');
  });

  it('is that of a picker where its loader says so', async () => {
    const { headline } = await diagnosisOf({
      msg: 'Failed to parse configuration',
      error:
        'failed to load config from a file \'/config/default.yaml\' - the configuration is invalid - unknown field "foo"',
    });
    expect(headline).toBe('A program refuses its settings: EndpointPickerConfig: unknown field "foo"');
  });

  it('is no refusal where a controller tries again', async () => {
    const { assessments } = await diagnosisOf({
      msg: 'Reconciler error',
      controller: 'llminferenceservice',
      error: 'failed to load config: configmaps "inferenceservice-config" not found',
    });
    expect(assessments).toEqual([]);
  });
});

describe('a configuration of a store', () => {
  it('is none of an endpoint picker', async () => {
    const log = 'ValueError: Mooncake configuration requires metadata_server\n';
    const { assessments } = diagnose(joined({ logs: [await summaryOf(log)] }));
    expect(assessments[0]?.cause).toBe('settings_refused');
    expect(assessments[0]?.fixes[0]?.says).not.toContain('EndpointPickerConfig');
  });
});

describe('a sentence that is long', () => {
  it('is cut behind a word, so that no half of a flag is taken for one', async () => {
    const { assessments } = await diagnosisOf({
      msg: `failed to load config: ${'parameter '.repeat(14)}needs --chunked-prefill-size`,
    });
    expect(assessments[0]?.fixes[0]?.says).not.toMatch(/--chunked-prefill-siz(?!e)|--chun\b/);
  });
});
