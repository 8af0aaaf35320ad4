/**
 * Words of arguments, variables and keys that findings are about. What changes an image, a number of replicas, a namespace, a token or a
 * model's name changes none of them.
 */
const DECIDING =
  /\bargs?\b|argument|extra|flags?\b|\bopts?\b|options|\bcommand|\bcmd\b|\benvs?\b|\bdata\b|\bvalue\b|\bspec$|containers(?:\[[^\]]*\])?$|\bkv|block|page.?size|tokens_per|prefix|event|cache|caching|rout(?:er|ing)|hash|seed|channel|bootstrap|nixl|connector|plugin|dtype|backend|vllmConfig|modelSpec|controller/i;

/** Whether a text may be about what findings are about. */
export function mayDecide(text: string): boolean {
  return DECIDING.test(text.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/_/g, ' ')) || DECIDING.test(text);
}
