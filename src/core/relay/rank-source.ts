/** One data-parallel rank's stream of KV events on ZeroMQ, as vLLM and SGLang publish it. */
export interface ZmqSource {
  readonly kind?: 'zmq';
  readonly rank: number;
  /** `tcp://HOST:PORT` or `ipc://PATH`; a leading `@` binds, for publishers that connect. */
  readonly endpoint: string;
  /** What the engine puts in the first frame; empty for every topic. */
  readonly topic: string;
  /** The ROUTER that gives old batches again; absent when the engine has none. */
  readonly replayEndpoint?: string;
}

/** TensorRT-LLM's endpoint that loses what it answers: its reader has to be the only one. */
export interface TrtllmDrainSource {
  readonly kind: 'trtllm-drain';
  readonly rank: number;
  /** `http://HOST:PORT/kv_cache_events`. */
  readonly url: string;
  /** The engine's block width, when another source reports it: these events name none. */
  readonly tokensPerBlock?: number;
}

/** Where the events of one data-parallel rank come from. */
export type RankSource = ZmqSource | TrtllmDrainSource;

/** `KV events of tcp://127.0.0.1:5557`: a source as evidence and messages name it. */
export function describeSource(source: RankSource): string {
  return `KV events of ${source.kind === 'trtllm-drain' ? source.url : source.endpoint}`;
}

/** Whether both say the same, so that a probe round that found the same changes nothing. */
export function isSameSource(one: RankSource, other: RankSource): boolean {
  if (one.kind === 'trtllm-drain' || other.kind === 'trtllm-drain') {
    return (
      one.kind === 'trtllm-drain' &&
      other.kind === 'trtllm-drain' &&
      one.rank === other.rank &&
      one.url === other.url &&
      one.tokensPerBlock === other.tokensPerBlock
    );
  }
  return (
    one.rank === other.rank &&
    one.endpoint === other.endpoint &&
    one.topic === other.topic &&
    one.replayEndpoint === other.replayEndpoint
  );
}
