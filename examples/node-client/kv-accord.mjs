// kv-accord's gRPC services for Node, loaded from the published .proto files.
// Nothing of kv-accord's own code runs here: copy this file into your program.
import { fileURLToPath } from 'node:url';
import { loadPackageDefinition } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

/** The folder that the imports inside the .proto files are relative to. */
export const PROTO_FOLDER = fileURLToPath(new URL('proto', import.meta.resolve('kv-accord/package.json')));

/** How messages are read. README.md says what other choices would lose. */
export const LOADER_OPTIONS = {
  keepCase: true, // tokens_per_block, as in the .proto files, not tokensPerBlock
  longs: String, // uint64 as decimal text, exact to 2^64 - 1; BigInt(text) calculates
  enums: String, // 'MEMBER_STATE_VERIFIED'; a value that is newer than these files stays a number
  defaults: true, // plain fields are always there: 0, '', false, [], {}, null; absent `optional` ones never
  oneofs: false, // a member of a oneof is there only when it is set, and that says which one
  includeDirs: [PROTO_FOLDER],
};

const FILES = ['capabilities', 'fleet', 'indexer', 'kv_events', 'router', 'view'];

/** What `loadPackageDefinition` of `@grpc/grpc-js` takes: every method with its (de)serializers. */
export const packageDefinition = loadSync(
  FILES.map((name) => `kvaccord/v1/${name}.proto`),
  LOADER_OPTIONS,
);

/** The client classes: `Capabilities`, `KvEvents` (sidecar), `Fleet`, `Indexer`, `Router` (aggregator). */
export const { Capabilities, KvEvents, Fleet, Indexer, Router } =
  loadPackageDefinition(packageDefinition).kvaccord.v1;
