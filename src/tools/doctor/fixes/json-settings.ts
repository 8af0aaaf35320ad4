/** A demand that a value be an object of JSON, of Python and of pydantic, and what a parser of JSON says. */
const OBJECT =
  /\b(?:must|should) be (?:an? )?(?:(?:valid )?(?:JSON|json) ?(?:object|dict\w*|string)?|dict\w*|object|mapping)\b|valid dictionary|(?:[Ii]nvalid|not (?:a )?valid) JSON|JSONDecodeError|Expecting (?:property name|value|',' delimiter)|dict_type/;
/** Settings that are JSON, by the names that sentences have: the flag, and a key within it. */
const SETTINGS: readonly (readonly [pattern: RegExp, flag: string, example: string])[] = [
  [
    /kv_connector_extra_config/,
    '--kv-transfer-config',
    '{"kv_connector":"NAME","kv_role":"kv_both","kv_connector_extra_config":{"KEY":"VALUE"}}',
  ],
  [
    /kv[_-]transfer[_-]config|KVTransferConfig/,
    '--kv-transfer-config',
    '{"kv_connector":"NixlConnector","kv_role":"kv_both"}',
  ],
  [
    /kv[_-]events[_-]config|KVEventsConfig/,
    '--kv-events-config',
    '{"enable_kv_cache_events":true,"publisher":"zmq","endpoint":"tcp://*:5557"}',
  ],
  [
    /speculative[_-]config|SpeculativeConfig/,
    '--speculative-config',
    '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":4}',
  ],
  [/compilation[_-]config|CompilationConfig/, '--compilation-config', '{"cudagraph_mode":"PIECEWISE"}'],
  [
    /hicache[_-]storage[_-]backend[_-]extra[_-]config/,
    '--hicache-storage-backend-extra-config',
    '{"master_server_address":"HOST:50051"}',
  ],
  [/additional[_-]config/, '--additional-config', '{"KEY":"VALUE"}'],
];

/** A setting that has to be one object of JSON and is none; undefined for other sentences. */
export function jsonObject(
  sentence: string,
): readonly [says: string, why: string, commands: readonly string[]] | undefined {
  if (!OBJECT.test(sentence)) return undefined;
  const [, flag, example] = SETTINGS.find(([pattern]) => pattern.test(sentence)) ?? [];
  if (flag === undefined || example === undefined) return undefined;
  return [
    `Write ${flag} as one object of JSON, with double quotes within and single quotes around it: ${flag} '${example}'`,
    'What arrived is no object of JSON: a bare word or a list, text within quotes of its own, or JSON whose double quotes a shell, Helm or YAML took away. In args of a container each item arrives as it is: the flag and the object are two items, and the object has no quotes of a shell around it.',
    [
      `args: ["${flag}", "${example.replaceAll('"', '\\"')}"]    # in a manifest`,
      "kubectl exec POD -- sh -c \"tr '\\\\0' '\\\\n' < /proc/1/cmdline\"    # what arrived",
    ],
  ];
}
