import {
  Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  type Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
} from '@grpc/grpc-js';

const pass = (bytes: Buffer): Buffer => bytes;

function method(name: string, responseStream: boolean): MethodDefinition<Buffer, Buffer> {
  return {
    path: `/test.v1.Bytes/${name}`,
    requestStream: false,
    responseStream,
    requestSerialize: pass,
    requestDeserialize: pass,
    responseSerialize: pass,
    responseDeserialize: pass,
  };
}

/** A service whose messages are bytes, for tests of what is below the messages. */
export const BytesService: ServiceDefinition = {
  echo: method('Echo', false),
  watch: method('Watch', true),
};

export class BytesClient extends Client {
  echo(
    request: Buffer,
    metadata: Metadata,
    done: (error: ServiceError | null, response?: Buffer) => void,
  ): ClientUnaryCall {
    return this.makeUnaryRequest('/test.v1.Bytes/Echo', pass, pass, request, metadata, done);
  }

  watch(request: Buffer): ClientReadableStream<Buffer> {
    return this.makeServerStreamRequest('/test.v1.Bytes/Watch', pass, pass, request);
  }
}
