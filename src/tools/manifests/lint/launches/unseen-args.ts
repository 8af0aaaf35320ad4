import type { Word } from '../shell/words.js';
import type { Launch } from './launch.js';

/** Flags of engines that take exactly one value: a variable behind one is that value, with quotes or without. */
const ONE_VALUE =
  /^--(?:tensor-parallel-size|pipeline-parallel-size|data-parallel-size|tp-size|dp-size|ep-size|pp-size|tp|dp|pp|port|host|model|model-path|model-name|served-model-name|max-model-len|max-num-seqs|max-num-batched-tokens|gpu-memory-utilization|mem-fraction-static|context-length|block-size|page-size|kv-block-size|kv-cache-dtype|dtype|kv-transfer-config|kv-events-config|disaggregation-mode|extra-engine-args|nnodes|node-rank|dist-init-addr)$/;

/**
 * A whole item that something fills in which these files do not show: `$(NAME)`, which Kubernetes leaves as it is where nothing sets it, and
 * what `envsubst`, `sed` and templates look for.
 */
const FILLED_IN =
  /^(?:\$\(\w+\)|\$\{?[A-Za-z_][^}\s]{0,200}\}?|\{\{.{1,200}\}\}|<[A-Z][A-Z0-9_-]{2,}>|@[A-Z][A-Z0-9_]*@|__[A-Z][A-Z0-9_]*__)$/;

/** Whether a word may be arguments that are not seen: also an item of a list that is nothing but an unknown variable. */
export function mayHideArgs(word: Word, before: Word | undefined, argsAre: Launch['argsAre']): boolean {
  const isWholeItem = argsAre === 'items' && word.value === undefined && (word.known?.prefix ?? '') === '';
  if (ONE_VALUE.test(before?.value ?? '')) return false;
  if (argsAre === 'items' && FILLED_IN.test(word.value ?? '')) return true;
  return word.mayBeMore || (isWholeItem && before !== undefined && before.value?.startsWith('-') !== true);
}
