import type { ProposedFix } from '../diagnosis.js';
import { argumentsOf } from './lines.js';

/** Shows which processes hold memory of a GPU. */
export const WHO_HAS_IT = 'nvidia-smi --query-compute-apps=pid,used_memory --format=csv    # who has it';

/** A way to room; cures that leave it out restart one worker at a time. */
export type Way = Pick<ProposedFix, 'says' | 'why'> & {
  readonly commands?: readonly string[];
  readonly isSafe?: boolean;
};

/** Why graphs find no room where the cache takes more. */
export const AFTER_CACHE =
  'Graphs are captured when the cache has its part. More of the GPU for the cache makes it worse. Without graphs an engine starts, and decodes slower.';

/** Ranks whose GPUs have unlike free memory. */
export function emptyRank(): Way {
  return {
    says: 'Move other processes off the GPUs of all ranks (nvidia-smi on each host; an engine that has not ended yet counts), then start SGLang again; only with unlike GPUs on purpose SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0',
    why: 'Ranks of one engine get caches of one size: the GPU with the least free memory decides. SGLang refuses to start where one has a tenth less than another (SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1 in older versions).',
    isSafe: true,
    commands: [WHO_HAS_IT],
  };
}

/** Graphs that find no memory beside the cache. */
export function smallerGraphsOfSglang(): Way {
  return {
    says: 'Start SGLang with a smaller --mem-fraction-static (0.05 less at a time), or with a smaller --cuda-graph-max-bs; without graphs: --disable-cuda-graph',
    why: AFTER_CACHE,
    commands: [argumentsOf('SGLang', '--mem-fraction-static 0.8 --cuda-graph-max-bs 64')],
  };
}

/** A pool of mamba states that is full. */
export function moreMambaSlots(): Way {
  return {
    says: 'Start the engine with a larger --max-mamba-cache-size (3 times --max-running-requests, 4 times and 4 more with speculative decoding) or --mamba-full-memory-ratio, or with fewer --max-running-requests',
    why: 'States of mamba layers have a pool of their own, and cached prefixes hold slots of it beside running requests. More memory for the KV cache gives it none; --mamba-full-memory-ratio divides the two. Without --enable-hierarchical-cache fewer slots are locked.',
  };
}

/** A table of requests that is full. */
export function fewerRequests(): Way {
  return {
    says: 'Start SGLang with fewer --max-running-requests, or update it: it should not admit more requests than it has rows for',
    why: 'Each request that runs has a row in a table beside the cache. More memory for the cache gives it no rows.',
    commands: [argumentsOf('SGLang', '--max-running-requests FEWER')],
  };
}

/** One request that needs more than the whole cache. */
export function shorterRequests(): Way {
  return {
    says: 'Start SGLang with a larger --mem-fraction-static, or with a --context-length that the cache holds (max_total_num_tokens in its log), and a smaller default of max_new_tokens',
    why: 'The last request that ran could not go on with the whole cache for itself: prompt and answer are longer than the cache.',
    commands: ['kubectl logs WORKER | grep -m1 -oE "max_total_num_tokens=[0-9]+"    # tokens of the cache'],
  };
}

/** A pool of layers with a window that is full. */
export function largerWindowPool(): Way {
  return {
    says: 'Start SGLang with a larger --swa-full-tokens-ratio, which gives layers with a window more of the cache, or with fewer --max-running-requests; with --enable-hierarchical-cache a later version',
    why: 'Layers with a window have a pool of their own, and it is full while that of the other layers has room: more memory for both helps little.',
    commands: [argumentsOf('SGLang', '--swa-full-tokens-ratio 0.9', '0.8 unless set')],
  };
}

/** Blocks that count as evictable and were not freed. */
export function freeableRoom(): Way {
  return {
    says: 'Update SGLang: its cache has the room, and could not free it. Until then start it without what holds blocks: no --hicache-storage-backend and --hicache-write-policy write_through, or without --enable-hierarchical-cache',
    why: 'Blocks that count as evictable were held all the same: by copies to a cache behind the engine that are under way, or by a count of that version that is not true. A larger cache only puts it off.',
    commands: [
      'kubectl exec POD -- pip list | grep -i sglang    # the version that is there',
      argumentsOf('SGLang', '--hicache-write-policy write_through', 'where there is a hierarchical cache'),
    ],
  };
}

/** More requests admitted than the cache holds. */
export function smallerBatches(): Way {
  return {
    says: 'Start SGLang with a larger --mem-fraction-static, or have it admit less at a time: fewer --max-running-requests, a --schedule-conservativeness above 1 (1.3), a smaller --chunked-prefill-size',
    why: 'SGLang admits requests by an estimate of their answers. Where answers are longer, or many requests come together, a batch finds the cache full; all that counts as evictable is gone by then.',
    commands: [
      argumentsOf('SGLang', '--schedule-conservativeness 1.3 --max-running-requests FEWER'),
      'kubectl logs WORKER | grep -m1 -oE "max_total_num_tokens=[0-9]+"    # tokens of the cache',
    ],
  };
}
