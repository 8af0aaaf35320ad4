/** Plugins of the endpoint picker of Dynamo that ask its KV router. */
export const KV_SCORER: RegExp = /^(?:dyn-(?:decode|prefill|kv)-scorer|kv-aware-scorer)$/;
