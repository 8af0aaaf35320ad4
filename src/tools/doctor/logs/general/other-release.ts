/** The engines that Dynamo has workers for, by the folder of these. */
const ENGINES = { vllm: 'vLLM', sglang: 'SGLang', trtllm: 'TensorRT-LLM' } as const;

/** A folder of such a worker, which is also the name of the extra of ai-dynamo. */
type WorkerFolder = keyof typeof ENGINES;

/** A worker of Dynamo that calls its engine by names which this release of the engine does not have. */
interface OtherRelease {
  readonly folder: WorkerFolder;
  readonly engine: string;
}

const OTHER_RELEASE = /^Dynamo's worker was built for another release of (vLLM|SGLang|TensorRT-LLM)(?![\w-])/;

/** As a value of the sign `library_missing`, with what the call says; undefined for a folder of no such worker. */
export function otherReleaseSays(folder: string, words: string): string | undefined {
  const engine = Object.entries(ENGINES).find(([name]) => name === folder)?.[1];
  return engine === undefined
    ? undefined
    : `Dynamo's worker was built for another release of ${engine} (${words})`;
}

/** Of which engine such a value is; undefined for others. */
export function otherReleaseIn(value: string): OtherRelease | undefined {
  const engine = OTHER_RELEASE.exec(value)?.[1];
  const folder = (Object.keys(ENGINES) as WorkerFolder[]).find((name) => ENGINES[name] === engine);
  return folder === undefined ? undefined : { folder, engine: ENGINES[folder] };
}
