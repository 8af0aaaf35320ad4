/** Calls one unary method of an engine's own gRPC; bounded in time. Rejects with a `ProbeError`. */
export interface EngineRpc {
  call<Request, Response>(
    address: string,
    method: {
      readonly path: string;
      readonly requestSerialize: (value: Request) => Buffer;
      readonly responseDeserialize: (value: Buffer) => Response;
    },
    request: Request,
    options: { readonly signal: AbortSignal },
  ): Promise<Response>;
}
