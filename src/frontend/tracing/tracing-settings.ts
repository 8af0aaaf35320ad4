import type { Environment } from '../../edge/platform/processes/environment.js';

/** Which new traces are kept. */
export interface Sampling {
  /** Whether the client's own decision is kept where it has a trace. */
  readonly isParentBased: boolean;
  /** The part of the traces that is kept, from 0 to 1. */
  readonly ratio: number;
}

/** How traces are exported, as OpenTelemetry's standard variables say. */
export interface TracingSettings {
  /** Where spans are posted. */
  readonly url: string;
  readonly serviceName: string | undefined;
  readonly sampling: Sampling;
  /** How long one export may take, tries included. */
  readonly timeoutMs: number;
  /** Values that were not understood, for the log. */
  readonly warnings: readonly string[];
}

/** Less than the 10 s of the specification: the end of the process waits for the last export. */
const DEFAULT_TIMEOUT_MS = 3_000;
const MAX_TIMEOUT_MS = 60_000;
const DEFAULT_SAMPLING: Sampling = { isParentBased: true, ratio: 1 };

/**
 * Reads the variables of
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 * that decide whether, where to and what is exported; undefined when nothing
 * is. Empty values count as absent, as the specification has it. Headers,
 * certificates and compression are read by the exporter itself.
 */
export function readTracingSettings(environment: Environment): TracingSettings | undefined {
  const of = (name: string): string | undefined => environment[name]?.trim() || undefined;
  if (of('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  if (of('OTEL_TRACES_EXPORTER') === 'none') return undefined;
  const own = of('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const all = of('OTEL_EXPORTER_OTLP_ENDPOINT');
  const given = own ?? all;
  if (given === undefined) return undefined;
  const warnings: string[] = [];
  const protocol = of('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? of('OTEL_EXPORTER_OTLP_PROTOCOL');
  if (protocol === 'grpc') {
    warnings.push(
      'OTEL_EXPORTER_OTLP_PROTOCOL asks for grpc, and spans are sent as http/json: the endpoint must take that, usually on port 4318',
    );
  }
  return {
    // The endpoint of traces is taken as it is; the common one is a base URL.
    url: own ?? `${given.replace(/\/+$/, '')}/v1/traces`,
    serviceName: of('OTEL_SERVICE_NAME'),
    sampling: readSampling(of('OTEL_TRACES_SAMPLER'), of('OTEL_TRACES_SAMPLER_ARG'), warnings),
    timeoutMs: readTimeout(
      of('OTEL_EXPORTER_OTLP_TRACES_TIMEOUT') ?? of('OTEL_EXPORTER_OTLP_TIMEOUT'),
      warnings,
    ),
    warnings,
  };
}

function readSampling(sampler: string | undefined, arg: string | undefined, warnings: string[]): Sampling {
  if (sampler === undefined) return DEFAULT_SAMPLING;
  const isParentBased = sampler.startsWith('parentbased_');
  switch (isParentBased ? sampler.slice('parentbased_'.length) : sampler) {
    case 'always_on':
      return { isParentBased, ratio: 1 };
    case 'always_off':
      return { isParentBased, ratio: 0 };
    case 'traceidratio':
      return { isParentBased, ratio: readRatio(arg, warnings) };
    default:
      warnings.push(
        'OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, alone or after parentbased_; parentbased_always_on is taken',
      );
      return DEFAULT_SAMPLING;
  }
}

function readRatio(arg: string | undefined, warnings: string[]): number {
  if (arg === undefined) return 1;
  const ratio = Number(arg);
  if (ratio >= 0 && ratio <= 1) return ratio;
  warnings.push('OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; 1 is taken');
  return 1;
}

function readTimeout(text: string | undefined, warnings: string[]): number {
  if (text === undefined) return DEFAULT_TIMEOUT_MS;
  const timeoutMs = Number(text);
  if (timeoutMs >= 1 && timeoutMs <= MAX_TIMEOUT_MS) return timeoutMs;
  warnings.push(
    `OTEL_EXPORTER_OTLP_TIMEOUT must be milliseconds from 1 to ${MAX_TIMEOUT_MS}; ${DEFAULT_TIMEOUT_MS} is taken`,
  );
  return DEFAULT_TIMEOUT_MS;
}
