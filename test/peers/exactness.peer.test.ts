import { describe, expect, it } from 'vitest';
import { prefill, words } from './support/completions.js';
import { type ExactFleet, routesExactly, startExactFleet } from './support/exact-fleet.js';
import { EXACT_KINDS, EXACT_MODEL, type ExactKind } from './support/exact-kinds.js';
import { type Exactness, measureExactness } from './support/exactness.js';
import { probe } from './support/kv-accord.js';
import { lacks } from './support/peers.js';
import { reportThat } from './support/report.js';
import { until } from './support/until.js';

/** 500 take 5 minutes for each kind. */
const REQUESTS = Number(process.env['KV_ACCORD_EXACT_REQUESTS'] ?? 40);
/** Names of `EXACT_KINDS`, or `all`. */
const KINDS = (process.env['KV_ACCORD_EXACT_KINDS'] ?? 'gemma3').split(',');
const SEED = 13;
const LIMIT_MS = 3_600_000;

describe.skipIf(lacks('vllm', 'sglang', 'grpcurl'))(
  'two real engines of small caches, one request at a time',
  () => {
    const chosen = EXACT_KINDS.filter(({ name }) => KINDS.includes(name) || KINDS.includes('all'));

    it.each(chosen)(
      '$name: what is predicted of a request is what its engine counts',
      { timeout: LIMIT_MS },
      async (kind) => {
        const engines = await Promise.all([kind.start(), kind.start()]);
        const fleet = await startExactFleet(engines);
        try {
          const tokensPerBlock = await untilOpen(fleet, kind);
          const { longestWords, hasChats } = kind;
          const measured = await measureExactness(fleet, {
            model: EXACT_MODEL,
            tokensPerBlock,
            requests: REQUESTS,
            seed: SEED,
            longestWords,
            hasChats,
          });
          console.log(rowOf(kind, tokensPerBlock, measured));
          expect([...measured.over, ...measured.under]).toEqual([]);
          expect(measured.modes).toEqual({ exact: REQUESTS });
          // With nothing in common between requests all of this would be true as well.
          expect(measured.cachedTokens).toBeGreaterThan(0);
        } finally {
          await fleet.stopOwn();
          for (const { program } of engines) await program.stop();
        }
      },
    );
  },
);

/** Has each engine compute a prompt, so that it publishes; resolves with the agreed size once the gate is open. */
async function untilOpen(
  { engines, sidecars, frontend }: ExactFleet,
  { longestWords, hasDraft }: ExactKind,
): Promise<number> {
  // vLLM's /server_info takes its time when it is asked first: it looks at the whole machine.
  if (hasDraft) {
    for (const sidecar of sidecars)
      await reportThat(
        sidecar,
        'that reports the draft model',
        ({ contract }) => contract?.dropsLastHitBlock === true,
      );
  }
  for (const engine of engines) await prefill(engine, { tokens: words(Math.ceil(longestWords / 4), 0, 3) });
  const { program } = frontend;
  return until(
    'all caches to be known',
    async () => {
      const { body } = await probe(frontend, '/metrics');
      const size = Number(/^kv_accord_agreed_tokens_per_block\{[^}]*\} (\d+)$/m.exec(body)?.[1]);
      return size > 0 && (await routesExactly(frontend)) && size;
    },
    { needs: [program] },
  );
}

/** A row of the table in docs/indexer.md. */
function rowOf(kind: ExactKind, tokensPerBlock: number, { seen, over, under, ...sums }: Exactness): string {
  const cells = [
    kind.name,
    tokensPerBlock,
    seen.length,
    sums.predictedTokens,
    sums.cachedTokens,
    over.length,
    under.length,
  ];
  return `| ${cells.join(' | ')} | ${JSON.stringify(sums.modes)}`;
}
