import { describe, expect, it } from 'vitest';
import { BlockHasher } from '../../../src/core/blocks/block-hasher.js';
import { parseAddress } from '../../../src/edge/platform/address.js';
import { systemClock } from '../../../src/edge/platform/clock.js';
import { RpcDialer } from '../../../src/edge/rpc/channel.js';
import { createPlaintextSecurity } from '../../../src/edge/security/security.js';
import { findHeldBlocks, readHeldBlocks } from '../../../src/tools/demo/held-blocks.js';
import { unpack } from '../../worker/kv-events/support/engine-payloads.js';

const PROMPT = Array.from({ length: 70 }, (_, index) => index + 1);

/** The sequence hashes of a prompt. */
function hashesOf(tokenIds: readonly number[], tokensPerBlock: number): bigint[] {
  const hasher = new BlockHasher();
  const options = { tokensPerBlock, unit: 'token', seed: hasher.seedOf('', '') } as const;
  return unpack(hasher.hashTokens(Uint32Array.from(tokenIds), options).sequenceHashes);
}

describe('the blocks that a router finds', () => {
  it('are the leading ones that are held', () => {
    const held = hashesOf(PROMPT, 16);
    expect(findHeldBlocks(new Set(held), PROMPT, 16)).toEqual({ blockCount: 4, found: 4 });
    expect(findHeldBlocks(new Set(held.slice(0, 2)), PROMPT, 16)).toEqual({ blockCount: 4, found: 2 });
    expect(findHeldBlocks(new Set(held.slice(1)), PROMPT, 16)).toEqual({ blockCount: 4, found: 0 });
  });

  it('are none where it uses another block size', () => {
    expect(findHeldBlocks(new Set(hashesOf(PROMPT, 32)), PROMPT, 16)).toEqual({ blockCount: 4, found: 0 });
  });

  it('cannot be asked of a sidecar that is not there', async () => {
    const address = parseAddress('127.0.0.1:1');
    if (address === undefined) throw new Error('no address');
    const channel = new RpcDialer({}, { clock: systemClock, security: createPlaintextSecurity() }).dial(
      address,
    );
    try {
      await expect(readHeldBlocks(channel, new AbortController().signal)).rejects.toThrow('127.0.0.1:1');
    } finally {
      channel.close();
    }
  });
});
