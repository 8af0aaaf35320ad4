import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PromptRequest } from '../../../../src/engines/descriptor/token-endpoint.js';
import type { CatalogueGroup, CatalogueWorker } from '../../../../src/fleet/catalogue/catalogue.js';
import type { PromptTokens } from '../../../../src/frontend/tokens/prompt-tokens.js';
import { DEFAULT_PROMPT_LIMITS, readPrompt } from '../../../../src/frontend/tokens/read-prompt.js';

export const TOKENIZERS = ['chatml', 'llama3', 'pieces'] as const;
export type TokenizerName = (typeof TOKENIZERS)[number];

/** A request of OpenAI's API, and what Hugging Face's own library makes of it. */
export interface Golden {
  readonly request: Readonly<Record<string, unknown>>;
  readonly text: string | null;
  readonly tokens: readonly number[];
}

export function tokenizerFolder(name: TokenizerName): string {
  return fileURLToPath(new URL(`../../../fixtures/tokenizers/${name}`, import.meta.url));
}

export function readFixture(name: TokenizerName, file: string): string {
  return readFileSync(`${tokenizerFolder(name)}/${file}`, 'utf8');
}

export function golden(name: TokenizerName): readonly Golden[] {
  return JSON.parse(readFixture(name, 'golden.json')) as Golden[];
}

/** A request as a tokenizer gets it. */
export function promptOf(body: Readonly<Record<string, unknown>>): PromptRequest {
  const read = readPrompt({ kind: 'messages' in body ? 'chat' : 'completion', body }, DEFAULT_PROMPT_LIMITS);
  if (read.kind !== 'chat' && read.kind !== 'completion') throw new Error(`${read.kind} is no text`);
  return read;
}

/** Its tokens, or the reason why there are none, in a form that a test can compare. */
export function plain({ tokens, reason }: PromptTokens): number[] | string {
  return tokens === undefined ? reason : [...tokens];
}

/** A group of workers, each reached at one of the URLs. */
export function groupOf(...workers: readonly (string | Partial<CatalogueWorker>)[]): CatalogueGroup {
  return {
    group: 'tiny',
    isReady: true,
    reasons: [],
    epoch: 1,
    tokensPerBlock: 32,
    workers: workers.map((worker, i) => ({
      target: `worker-${i}:50051`,
      workerId: `worker-${i}`,
      instanceId: `worker-${i}-1`,
      baseUrl: undefined,
      isOffered: true,
      tokenizerFingerprint: undefined,
      ...(typeof worker === 'string' ? { baseUrl: worker } : worker),
    })),
  };
}
