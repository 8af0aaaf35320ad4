import type { Clock } from '../../edge/platform/clock.js';
import { describeError } from '../../edge/platform/describe-error.js';
import type { Logger } from '../../edge/platform/logger.js';
import type { Environment } from '../../edge/platform/processes/environment.js';
import type { RequestTracer } from './request-tracer.js';
import { readTracingSettings } from './tracing-settings.js';

export interface TracingModules {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Opens the export of traces when OpenTelemetry's standard variables ask for
 * it. Undefined otherwise, and then nothing of its packages is loaded. What is
 * wrong with the variables is logged and leaves requests untraced: nobody's
 * requests depend on a trace.
 */
export async function openTracing(
  options: { readonly environment: Environment; readonly version: string },
  modules: TracingModules,
): Promise<RequestTracer | undefined> {
  const settings = readTracingSettings(options.environment);
  if (settings === undefined) return undefined;
  const { logger } = modules;
  for (const warning of settings.warnings) logger.warn({}, `${warning}.`);
  const url = URL.canParse(settings.url) ? new URL(settings.url) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    logger.warn(
      {},
      'Requests are not traced: the OTLP endpoint must be a URL such as http://127.0.0.1:4318.',
    );
    return undefined;
  }
  // A password that stands in it is nobody's business.
  const shown = `${url.origin}${url.pathname}`;
  try {
    const { OtlpTracer } = await import('./otlp-tracer.js');
    const tracer = new OtlpTracer({ ...settings, shown, version: options.version }, modules);
    logger.info({ endpoint: shown }, `Tracing requests to ${shown}.`);
    return tracer;
  } catch (error) {
    logger.warn({}, `Requests are not traced: ${describeError(error)}.`);
    return undefined;
  }
}
