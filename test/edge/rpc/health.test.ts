import type { ServiceError } from '@grpc/grpc-js';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  type HealthCheckResponse,
  HealthClient,
  HealthCheckResponse_ServingStatus as Serving,
} from '../../../src/gen/grpc/health/v1/health.js';
import { collect, unary } from './rpc-calls.js';
import { createTestServer, dial } from './rpc-test-server.js';

async function startedServer() {
  const { server, logger } = createTestServer();
  const client = dial(await server.start()).createClient(HealthClient);
  const check = (service: string) =>
    unary<HealthCheckResponse>((done) => client.check({ service }, done)).then((answer) => answer.status);
  return { server, logger, client, check };
}

describe('grpc.health.v1', () => {
  it('says SERVING of the process from the start', async () => {
    const { check } = await startedServer();
    expect(await check('')).toBe(Serving.SERVING);
  });

  it('answers NOT_FOUND for an unknown service and names the known ones', async () => {
    const { server, check } = await startedServer();
    server.health.setStatus('kvaccord.v1.Fleet', 'NOT_SERVING');
    const error: ServiceError = await check('nobody').catch((thrown) => thrown);
    expect(error.code).toBe(status.NOT_FOUND);
    expect(error.details).toBe('no health service "nobody"; there are "", "kvaccord.v1.Fleet"');
    expect(await check('kvaccord.v1.Fleet')).toBe(Serving.NOT_SERVING);
  });

  it('lists all services with their status', async () => {
    const { server, client } = await startedServer();
    server.health.setStatus('engine', 'NOT_SERVING');
    const { statuses } = await unary<{ statuses: Record<string, HealthCheckResponse> }>((done) =>
      client.list({}, done),
    );
    expect(statuses).toEqual({
      '': { status: Serving.SERVING },
      engine: { status: Serving.NOT_SERVING },
    });
  });

  it('watches a service that does not exist yet, then each of its changes, then its removal', async () => {
    const { server, client } = await startedServer();
    const watch = collect(client.watch({ service: 'engine' }));
    expect(await watch.next()).toEqual({ status: Serving.SERVICE_UNKNOWN });
    server.health.setStatus('engine', 'NOT_SERVING');
    expect(await watch.next()).toEqual({ status: Serving.NOT_SERVING });
    server.health.setStatus('engine', 'SERVING');
    expect(await watch.next()).toEqual({ status: Serving.SERVING });
    watch.cancel();
  });

  it('says nothing twice when a status is set to what it is', async () => {
    const { server, client } = await startedServer();
    server.health.setStatus('engine', 'SERVING');
    const watch = collect(client.watch({ service: 'engine' }));
    await watch.next();
    server.health.setStatus('engine', 'SERVING');
    server.health.setStatus('engine', 'NOT_SERVING');
    expect(await watch.next()).toEqual({ status: Serving.NOT_SERVING });
    watch.cancel();
  });

  it('sends watchers NOT_SERVING and ends their streams when the server stops', async () => {
    const { server, client } = await startedServer();
    const watch = collect(client.watch({ service: '' }));
    expect(await watch.next()).toEqual({ status: Serving.SERVING });
    const stopped = server.stop(2_000);
    expect(await watch.next()).toEqual({ status: Serving.NOT_SERVING });
    expect((await watch.ended).code).toBe(status.OK);
    await stopped;
  });

  it('refuses a service name that is far too long', async () => {
    const { client } = await startedServer();
    const watch = collect(client.watch({ service: 'x'.repeat(257) }));
    const end = await watch.ended;
    expect(end.code).toBe(status.INVALID_ARGUMENT);
    expect(end.details).toBe('service has 257 characters, at most 256 are taken');
  });

  it('lets go of a watcher that has left', async () => {
    const { server, client } = await startedServer();
    const watch = collect(client.watch({ service: 'engine' }));
    await watch.next();
    expect(server.edge.streams.size).toBe(1);
    watch.cancel();
    await expect.poll(() => server.edge.streams.size).toBe(0);
    await expect.poll(() => server.openCalls).toBe(0);
  });
});
