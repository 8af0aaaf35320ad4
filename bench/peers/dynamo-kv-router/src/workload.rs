//! The input, made from a seed: the same as `bench/support/index-workload.ts`
//! and `bench/block-hashing.ts` make.

use dynamo_kv_router::protocols::{ExternalSequenceBlockHash, LocalBlockHash};

pub const WORKERS: u32 = 1_000;
/// Sequences of each worker.
pub const SEQUENCES: u32 = 64;
/// Blocks of each sequence.
pub const DEPTH: u32 = 64;
/// Sequences that many workers hold, of each number of holders.
pub const HOT_SEQUENCES: u32 = 16;
/// Sequences that nobody holds.
const MISSED_SEQUENCES: u32 = 256;

const SEED: u32 = 42;
const HOT: u32 = 0xd000_0000;
const PREFIX: u32 = 0xe000_0000;
const MISS: u32 = 0xf000_0000;

/// How the sequences of different workers overlap.
pub struct Workload {
    /// Blocks at the head of each sequence that it shares with others.
    pub shared: u32,
    /// Different heads.
    pub prefixes: u32,
    /// Whether a worker that has a head already says so again, or only its own blocks.
    pub tells_heads_again: bool,
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            shared: 16,
            prefixes: 4,
            tells_heads_again: true,
        }
    }
}

/// One sequence: the hash of each block alone, and of all up to it as an engine names it.
pub struct Chain {
    pub blocks: Vec<LocalBlockHash>,
    pub names: Vec<ExternalSequenceBlockHash>,
}

impl Workload {
    pub fn sequence(&self, worker: u32, number: u32) -> Chain {
        let own = number * WORKERS + worker;
        let head = PREFIX + number % self.prefixes;
        chain(|place| if place < self.shared { head } else { own })
    }

    /// Blocks that the store of sequence `number` leaves out at its head.
    pub fn skipped(&self, number: u32) -> usize {
        if self.tells_heads_again || number < self.prefixes {
            0
        } else {
            self.shared as usize
        }
    }

    /// The stored sequence that look-up `index` asks for.
    pub fn picked(&self, index: u32) -> Chain {
        let worker = scattered(SEED ^ 0x4444_4444, 0, index) % WORKERS;
        self.sequence(worker, scattered(SEED ^ 0x5555_5555, 0, index) % SEQUENCES)
    }

    /// Distinct pairs of a worker and a block.
    pub fn pairs(&self) -> u32 {
        WORKERS * (SEQUENCES * (DEPTH - self.shared) + self.prefixes * self.shared)
    }
}

/// A sequence that the holders of group `group` hold.
pub fn hot(group: u32, number: u32) -> Chain {
    chain(|_| HOT + (group << 8) + number)
}

/// A sequence that nobody holds.
pub fn miss(index: u32) -> Chain {
    chain(|_| MISS + index % MISSED_SEQUENCES)
}

/// Tokens of a vocabulary of 128,000.
pub fn tokens(count: u32) -> Vec<u32> {
    (0..count)
        .map(|place| scattered(SEED ^ 0x3333_3333, 0, place) % 128_000)
        .collect()
}

fn chain(id_at: impl Fn(u32) -> u32) -> Chain {
    let (mut high, mut low) = (0x243f_6a88_u32, 0x85a3_08d3_u32);
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let (blocks, names) = (0..DEPTH)
        .map(|place| {
            let high_block = scattered(SEED ^ 0x1111_1111, id_at(place), place);
            let low_block = scattered(SEED ^ 0x2222_2222, id_at(place), place);
            high = mix(high.wrapping_add(high_block));
            low = mix(low.wrapping_add(low_block));
            (
                LocalBlockHash(pair(high_block, low_block)),
                ExternalSequenceBlockHash(pair(high, low)),
            )
        })
        .unzip();
    Chain { blocks, names }
}

/// The finalizer of MurmurHash3.
fn mix(mut value: u32) -> u32 {
    value = (value ^ value >> 16).wrapping_mul(0x85eb_ca6b);
    value = (value ^ value >> 13).wrapping_mul(0xc2b2_ae35);
    value ^ value >> 16
}

fn scattered(stream: u32, id: u32, place: u32) -> u32 {
    mix(mix(mix(stream).wrapping_add(id)).wrapping_add(place))
}
