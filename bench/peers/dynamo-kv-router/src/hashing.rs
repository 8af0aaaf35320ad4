//! HASH: block hashes and sequence hashes of the tokens of one request.

use std::hint::black_box;

use dynamo_kv_router::protocols::{
    BlockHashOptions, compute_block_hash_for_seq, compute_seq_hash_for_block,
};
use serde_json::json;

use crate::measure::{percentile, timed};
use crate::workload::tokens;

const TOKENS: u32 = 10_000;
const CALLS: usize = 4_500;
const WARM_UP_CALLS: usize = 500;

pub fn hash() {
    let tokens = tokens(TOKENS);
    for tokens_per_block in [16, 64] {
        let hash = || {
            compute_block_hash_for_seq(
                black_box(&tokens),
                tokens_per_block,
                BlockHashOptions::default(),
            )
        };
        let (mut us, mut chain_us) = (Vec::new(), Vec::new());
        for call in 0..WARM_UP_CALLS + CALLS {
            let (blocks, took_us) = timed(hash);
            let (_, chain_took_us) =
                timed(|| black_box(compute_seq_hash_for_block(black_box(&blocks))));
            if call >= WARM_UP_CALLS {
                us.push(took_us);
                chain_us.push(chain_took_us);
            }
        }
        let blocks = hash();
        let sum = blocks
            .iter()
            .fold(0_u64, |sum, block| sum.wrapping_add(block.0));
        let chain = compute_seq_hash_for_block(&blocks);
        let chain_sum = chain
            .iter()
            .fold(0_u64, |sum, hash| sum.wrapping_add(*hash));
        println!(
            "{}",
            json!({
                "workload": "HASH",
                "block_size": tokens_per_block,
                "us_call_p50": percentile(&mut us, 50),
                "seq_us_call_p50": percentile(&mut chain_us, 50),
                "checksum": sum.to_string(),
                "seq_checksum": chain_sum.to_string(),
            })
        );
    }
}
