import { fromBinary } from '@bufbuild/protobuf';
import { type FileDescriptorProto, FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { wrapServerStream, wrapUnary } from '../../../src/edge/rpc/handlers.js';
import { Reflection } from '../../../src/edge/rpc/reflection.js';
import {
  ServerReflectionClient,
  type ServerReflectionRequest,
  type ServerReflectionResponse,
} from '../../../src/gen/grpc/reflection/v1/reflection.js';
import { ServerReflectionClient as ServerReflectionClientAlpha } from '../../../src/gen/grpc/reflection/v1alpha/reflection.js';
import { CapabilitiesService, GetCapabilitiesResponse } from '../../../src/gen/kvaccord/v1/capabilities.js';
import { createTestServer, dial } from './rpc-test-server.js';

type Asked = NonNullable<ServerReflectionRequest['messageRequest']>;

async function startedServer() {
  const { server } = createTestServer();
  server.addService(CapabilitiesService, {
    getCapabilities: wrapUnary(server.edge, () => GetCapabilitiesResponse.fromPartial({})),
    watchCapabilities: wrapServerStream(server.edge, { mode: 'latest-value' }, (_request, stream) =>
      stream.end(),
    ),
  });
  return { server, at: await server.start() };
}

/** Asks one thing after another on one stream, as tools do. */
async function ask(version: 'v1' | 'v1alpha', ...asked: Asked[]): Promise<ServerReflectionResponse[]> {
  const { at } = await startedServer();
  const Client = version === 'v1' ? ServerReflectionClient : ServerReflectionClientAlpha;
  const call = dial(at).createClient(Client).serverReflectionInfo();
  const answers: ServerReflectionResponse[] = [];
  for (const messageRequest of asked) call.write({ host: '', messageRequest });
  call.end();
  for await (const answer of call) answers.push(answer as ServerReflectionResponse);
  return answers;
}

async function filesOf(asked: Asked): Promise<FileDescriptorProto[]> {
  const [answer] = await ask('v1', asked);
  if (answer?.messageResponse?.$case !== 'fileDescriptorResponse') return expect.fail(JSON.stringify(answer));
  return answer.messageResponse.value.fileDescriptorProto.map((bytes) =>
    fromBinary(FileDescriptorProtoSchema, bytes),
  );
}

describe('server reflection', () => {
  for (const version of ['v1', 'v1alpha'] as const) {
    it(`lists in ${version} the services that this server has, and no others`, async () => {
      const [answer] = await ask(version, { $case: 'listServices', value: '*' });
      expect(answer?.messageResponse).toEqual({
        $case: 'listServicesResponse',
        value: {
          service: [
            { name: 'grpc.health.v1.Health' },
            { name: 'grpc.reflection.v1.ServerReflection' },
            { name: 'grpc.reflection.v1alpha.ServerReflection' },
            { name: 'kvaccord.v1.Capabilities' },
          ],
        },
      });
    });
  }

  it('gives the file of every service that it lists, with all that the file imports', async () => {
    for (const symbol of [
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
      'kvaccord.v1.Capabilities',
      'kvaccord.v1.Capabilities.GetCapabilities',
    ]) {
      const files = await filesOf({ $case: 'fileContainingSymbol', value: symbol });
      const names = new Set(files.map((file) => file.name));
      for (const file of files) for (const name of file.dependency) expect(names).toContain(name);
      const services = files[0]?.service.map((service) => `${files[0]?.package}.${service.name}`) ?? [];
      expect(services.some((service) => symbol.startsWith(service))).toBe(true);
    }
  });

  it('reports maps as the compiler wrote them: a nested entry of the field`s own name', async () => {
    const [health] = await filesOf({
      $case: 'fileContainingSymbol',
      value: 'grpc.health.v1.HealthListResponse',
    });
    const message = health?.messageType.find(({ name }) => name === 'HealthListResponse');
    expect(message?.field[0]).toMatchObject({
      name: 'statuses',
      typeName: '.grpc.health.v1.HealthListResponse.StatusesEntry',
    });
    expect(message?.nestedType[0]).toMatchObject({ name: 'StatusesEntry', options: { mapEntry: true } });
    expect(message?.options?.mapEntry ?? false).toBe(false);
  });

  it('reports `optional` and the names of fields as they were written', async () => {
    const [file] = await filesOf({ $case: 'fileContainingSymbol', value: 'kvaccord.v1.Contract' });
    const field = file?.messageType.find(({ name }) => name === 'Contract')?.field[0];
    expect(field).toMatchObject({ name: 'tokens_per_block', proto3Optional: true });
  });

  it('finds files by name, nested messages, enums, and the details of errors', async () => {
    const [byName] = await filesOf({ $case: 'fileByFilename', value: 'kvaccord/v1/fleet.proto' });
    expect(byName?.name).toBe('kvaccord/v1/fleet.proto');
    for (const [symbol, name] of [
      ['grpc.health.v1.HealthCheckResponse.ServingStatus', 'grpc/health/v1/health.proto'],
      ['.kvaccord.v1.AgreementState', 'kvaccord/v1/fleet.proto'],
      ['google.rpc.ErrorInfo', 'google/rpc/status.proto'],
      ['google.protobuf.Timestamp', 'google/protobuf/timestamp.proto'],
    ]) {
      const [file] = await filesOf({ $case: 'fileContainingSymbol', value: symbol as string });
      expect(file?.name, symbol).toBe(name);
    }
  });

  it('says what it does not know and goes on', async () => {
    const answers = await ask(
      'v1',
      { $case: 'fileContainingSymbol', value: 'nobody.v1.Nothing' },
      { $case: 'fileByFilename', value: 'nothing.proto' },
      { $case: 'allExtensionNumbersOfType', value: 'kvaccord.v1.Contract' },
      { $case: 'fileContainingExtension', value: { containingType: 'x', extensionNumber: 1 } },
      { $case: 'listServices', value: '' },
    );
    const codes = answers.map(({ messageResponse }) =>
      messageResponse?.$case === 'errorResponse' ? messageResponse.value.errorCode : status.OK,
    );
    expect(codes).toEqual([
      status.NOT_FOUND,
      status.NOT_FOUND,
      status.UNIMPLEMENTED,
      status.UNIMPLEMENTED,
      status.OK,
    ]);
    expect(answers[0]?.originalRequest?.messageRequest?.value).toBe('nobody.v1.Nothing');
  });

  it('ends a stream that asks without end', async () => {
    const { at } = await startedServer();
    const call = dial(at).createClient(ServerReflectionClient).serverReflectionInfo();
    let answers = 0;
    call.on('data', () => {
      answers += 1;
    });
    const failed = new Promise<{ code: number; details: string }>((resolve) => {
      call.on('error', (error) => resolve(error as never));
    });
    for (let i = 0; i < 1_100; i += 1)
      call.write({ host: '', messageRequest: { $case: 'listServices', value: '' } });
    expect(await failed).toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
      details: 'one reflection stream takes at most 1000 requests',
    });
    expect(answers).toBeLessThanOrEqual(1_000);
  });

  it('lets go of a stream when the caller leaves and when the server stops', async () => {
    const { server, at } = await startedServer();
    const client = dial(at).createClient(ServerReflectionClient);
    const leaving = client.serverReflectionInfo();
    leaving.on('error', () => undefined);
    leaving.write({ host: '', messageRequest: { $case: 'listServices', value: '' } });
    await new Promise((resolve) => leaving.once('data', resolve));
    expect(server.edge.streams.size).toBe(1);
    leaving.cancel();
    await expect.poll(() => server.edge.streams.size).toBe(0);
    const staying = client.serverReflectionInfo();
    const ended = new Promise((resolve) => staying.on('status', resolve));
    staying.resume();
    staying.write({ host: '', messageRequest: { $case: 'listServices', value: '' } });
    await expect.poll(() => server.edge.streams.size).toBe(1);
    await server.stop(2_000);
    expect(await ended).toMatchObject({ code: status.OK });
  });

  it('is refused while no files can be opened, and works when they can', async () => {
    let hasRoom = false;
    const reflection = new Reflection({ serviceNames: () => ['a.B'], hasRoom: () => hasRoom });
    const request = { host: '', messageRequest: { $case: 'listServices', value: '*' } } as const;
    await expect(reflection.answer(request)).rejects.toMatchObject({ code: 'unavailable' });
    hasRoom = true;
    expect((await reflection.answer(request)).messageResponse?.$case).toBe('listServicesResponse');
  });
});
