import type { MethodDefinition, PackageDefinition } from '@grpc/proto-loader';

/** What `examples/node-client/kv-accord.mjs` exports, as far as tests use it. */
export interface NodeClientModule {
  readonly PROTO_FOLDER: string;
  readonly LOADER_OPTIONS: Readonly<Record<string, unknown>>;
  readonly packageDefinition: PackageDefinition;
}

/** The example itself: JavaScript, so that TypeScript takes it by its URL only. */
export async function importNodeClient(): Promise<NodeClientModule> {
  const url = new URL('../../../examples/node-client/kv-accord.mjs', import.meta.url).href;
  return (await import(/* @vite-ignore */ url)) as NodeClientModule;
}

/** A method as proto-loader defines it. */
export type LoadedMethod = MethodDefinition<object, object>;

/** One method of a loaded package, such as `kvaccord.v1.Fleet` and `GetAgreement`. */
export function methodOf(loaded: PackageDefinition, service: string, name: string): LoadedMethod {
  const method = (loaded[service] as Readonly<Record<string, LoadedMethod>> | undefined)?.[name];
  if (method === undefined) throw new Error(`the .proto files have no ${service}/${name}`);
  return method;
}
