//! The crate's two indexes behind one face.

use dynamo_kv_router::indexer::{SyncIndexer, ThreadPoolIndexer};
use dynamo_kv_router::protocols::{
    ExternalSequenceBlockHash, KvCacheEvent, KvCacheEventData, KvCacheRemoveData, KvCacheStoreData,
    KvCacheStoredBlockData, LocalBlockHash, OverlapScores, RouterEvent,
};
use dynamo_kv_router::{ConcurrentRadixTreeCompressed, RadixTree};
use tokio::runtime::{Builder, Runtime};

use crate::workload::Chain;

/// The crate wants to know it, and uses it for nothing here.
const TOKENS_PER_BLOCK: u32 = 16;

pub enum PeerIndex {
    /// One thread does everything.
    Radix(Box<RadixTree>),
    /// Events go through a queue to one thread; look-ups run in the caller's.
    Crtc {
        pool: ThreadPoolIndexer<ConcurrentRadixTreeCompressed>,
        runtime: Runtime,
    },
}

impl PeerIndex {
    /// The index of that name, empty.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "radix" => Some(Self::Radix(Box::new(RadixTree::new()))),
            "crtc" => Some(Self::Crtc {
                pool: ThreadPoolIndexer::new(
                    ConcurrentRadixTreeCompressed::new(),
                    1,
                    TOKENS_PER_BLOCK,
                ),
                runtime: Builder::new_current_thread().build().expect("a runtime"),
            }),
            _ => None,
        }
    }

    /// Applies an event, or queues it. What the queue's thread could not apply is only
    /// logged by the crate: the look-ups' sums show it.
    pub fn apply(&mut self, event: RouterEvent) {
        match self {
            Self::Radix(tree) => tree.apply_event(event).expect("an event that applies"),
            Self::Crtc { pool, .. } => pool.enqueue_event(event).expect("a running thread"),
        }
    }

    /// Waits until everything queued is applied.
    pub fn settle(&self) {
        if let Self::Crtc { pool, runtime } = self {
            runtime
                .block_on(pool.flush_and_wait())
                .expect("a running thread");
        }
    }

    /// Who holds how many blocks of the query from its beginning.
    pub fn find(&self, query: Vec<LocalBlockHash>) -> OverlapScores {
        match self {
            Self::Radix(tree) => tree.find_matches(query, false),
            Self::Crtc { pool, .. } => pool.backend().find_matches(&query, false),
        }
    }
}

/// The event with which `worker` tells of the sequence's blocks from number `first` on.
pub fn stored(worker: u32, chain: &Chain, first: usize) -> RouterEvent {
    let block = |at: usize| KvCacheStoredBlockData {
        block_hash: chain.names[at],
        tokens_hash: chain.blocks[at],
        mm_extra_info: None,
    };
    event(
        worker,
        KvCacheEventData::Stored(KvCacheStoreData {
            parent_hash: first.checked_sub(1).map(|parent| chain.names[parent]),
            start_position: None,
            blocks: (first..chain.blocks.len()).map(block).collect(),
        }),
    )
}

/// The event with which `worker` takes blocks back, the last of a sequence first, as engines evict.
pub fn removed(worker: u32, names: &[ExternalSequenceBlockHash]) -> RouterEvent {
    let block_hashes = names.iter().rev().copied().collect();
    event(
        worker,
        KvCacheEventData::Removed(KvCacheRemoveData { block_hashes }),
    )
}

fn event(worker: u32, data: KvCacheEventData) -> RouterEvent {
    RouterEvent::new(
        worker.into(),
        KvCacheEvent {
            event_id: 0,
            data,
            dp_rank: 0,
        },
    )
}
