import { describe, expect, it } from 'vitest';
import { readTracingSettings } from '../../../src/frontend/tracing/tracing-settings.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('traces are exported', () => {
  it.each([
    [{}],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    [{ OTEL_SERVICE_NAME: 'x' }],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }],
    [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }],
  ])('not with %j', (environment) => {
    expect(readTracingSettings(environment)).toBeUndefined();
  });

  it.each([
    [ENDPOINT, 'http://collector:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/otlp/' }, 'http://collector:4318/otlp/v1/traces'],
    [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/x' }, 'https://t/x'],
    [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'false' }, 'http://collector:4318/v1/traces'],
  ])('with %j to %s', (environment, url) => {
    expect(readTracingSettings(environment)).toEqual({
      url,
      serviceName: undefined,
      sampling: { isParentBased: true, ratio: 1 },
      timeoutMs: 3_000,
      warnings: [],
    });
  });

  it.each([
    [{ OTEL_TRACES_SAMPLER: 'always_on' }, { isParentBased: false, ratio: 1 }, []],
    [{ OTEL_TRACES_SAMPLER: 'parentbased_always_off' }, { isParentBased: true, ratio: 0 }, []],
    [
      { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
      { isParentBased: true, ratio: 0.25 },
      [],
    ],
    [{ OTEL_TRACES_SAMPLER: 'traceidratio' }, { isParentBased: false, ratio: 1 }, []],
    [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '25%' },
      { isParentBased: false, ratio: 1 },
      [expect.stringContaining('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1')],
    ],
    [
      { OTEL_TRACES_SAMPLER: 'xray' },
      { isParentBased: true, ratio: 1 },
      [expect.stringContaining('OTEL_TRACES_SAMPLER must be always_on')],
    ],
  ])('of the traces that %j keeps', (environment, sampling, warnings) => {
    expect(readTracingSettings({ ...ENDPOINT, ...environment })).toMatchObject({ sampling, warnings });
  });

  it('over HTTP, which is said to anyone who asks for gRPC', () => {
    const { warnings } = readTracingSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }) ?? {};
    expect(warnings).toEqual([expect.stringContaining('http/json')]);
  });

  it('with the time-out that the variables give', () => {
    const of = (text: string): unknown =>
      readTracingSettings({ ...ENDPOINT, OTEL_EXPORTER_OTLP_TIMEOUT: text });
    expect(of('100')).toMatchObject({ timeoutMs: 100, warnings: [] });
    for (const wrong of ['0', '3s', '-1', '1e9']) {
      const warnings = [expect.stringContaining('OTEL_EXPORTER_OTLP_TIMEOUT')];
      expect(of(wrong)).toMatchObject({ timeoutMs: 3_000, warnings });
    }
  });
});
