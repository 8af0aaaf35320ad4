/**
 * The floor of a sidecar: a plain grpc-js server that answers one fixed report,
 * with pino for its log and prom-client's default metrics over node:http.
 */
import { createServer } from 'node:http';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { pino } from 'pino';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { CapabilitiesService } from '../../src/gen/kvaccord/v1/capabilities.js';
import { makeBenchReport } from '../support/reports.js';

const registry = new Registry();
collectDefaultMetrics({ register: registry });
const logger = pino({ base: null }, pino.destination({ fd: 2, sync: true }));
const report = makeBenchReport('worker-0', 16, 1);

const server = new Server({ 'grpc.enable_channelz': 0 });
server.addService(CapabilitiesService, {
  getCapabilities: (_call: unknown, answer: (error: null, value: unknown) => void) =>
    answer(null, { report }),
  watchCapabilities: () => {},
});
const http = createServer((_request, response) => {
  void registry.metrics().then((text) => response.end(text));
});
http.listen(0, '127.0.0.1', () => {
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (_error, port) => {
    logger.info({ port }, 'serving');
    process.stdout.write(`${JSON.stringify({ grpc: `127.0.0.1:${port}` })}\n`);
  });
});
