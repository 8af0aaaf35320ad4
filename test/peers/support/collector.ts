import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { openTraceReceiver, type TraceReceiver } from '../../frontend/tracing/trace-receiver.js';
import { freePort } from '../../support/ports.js';
import { peerPath } from './peers.js';
import { Program } from './program.js';
import { scratchFolder } from './scratch.js';
import { until } from './until.js';

/** A span as a collector hands it on. */
export interface CollectedSpan {
  /** `service.name` of who sent it. */
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  /** Every value as a text: OTLP in JSON has whole numbers as texts. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** A real OpenTelemetry Collector: it takes OTLP over HTTP, and what it understood of it is received here. */
export class Collector {
  readonly program: Program;
  readonly port: number;
  readonly #receiver: TraceReceiver;

  private constructor(program: Program, port: number, receiver: TraceReceiver) {
    this.program = program;
    this.port = port;
    this.#receiver = receiver;
  }

  /** Starts one and waits until it serves. */
  static async start(): Promise<Collector> {
    const port = await freePort();
    const receiver = await openTraceReceiver();
    const config = {
      receivers: { otlp: { protocols: { http: { endpoint: `127.0.0.1:${port}` } } } },
      exporters: { otlphttp: { endpoint: receiver.url, encoding: 'json', compression: 'none' } },
      service: {
        telemetry: { metrics: { level: 'none' } },
        pipelines: { traces: { receivers: ['otlp'], exporters: ['otlphttp'] } },
      },
    };
    const file = join(mkdtempSync(join(scratchFolder(), 'collector-')), 'config.yaml');
    writeFileSync(file, stringify(config));
    const program = new Program({
      name: 'collector',
      command: [peerPath('otelcol'), `--config=file:${file}`],
    });
    const takes = async (): Promise<boolean> => {
      const answer = await fetch(`http://127.0.0.1:${port}/v1/traces`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      return answer.ok;
    };
    const collector = new Collector(program, port, receiver);
    try {
      await until('the collector to take spans', takes, { needs: [program] });
    } catch (error) {
      await collector.stop();
      throw error;
    }
    return collector;
  }

  /** All that it handed on so far, as a text. */
  get text(): string {
    return JSON.stringify(this.#receiver.spans);
  }

  /** The spans that it handed on so far. */
  get spans(): readonly CollectedSpan[] {
    return this.#receiver.spans.map(({ traceId, spanId, parentSpanId = '', attributes, resource }) => ({
      ...{ traceId, spanId, parentSpanId },
      service: String(resource['service.name']),
      attributes: Object.fromEntries(
        Object.entries(attributes).map(([name, value]) => [name, String(value)]),
      ),
    }));
  }

  async stop(): Promise<void> {
    await this.program.stop();
    await this.#receiver[Symbol.asyncDispose]();
  }
}
