//! STORE, FIND, REMOVE and MEM: what an index costs.

use std::hint::black_box;

use dynamo_kv_router::protocols::{KvCacheEventData, LocalBlockHash, RouterEvent};
use serde_json::json;

use crate::measure::{cpu_ns, percentile, resident_bytes, timed};
use crate::peer_index::{PeerIndex, removed, stored};
use crate::workload::{Chain, DEPTH, HOT_SEQUENCES, SEQUENCES, WORKERS, Workload, hot, miss};

const HOLDERS: [u32; 3] = [4, 64, 1_000];
const LOOKUPS: u32 = 10_000;
const WARM_UP_LOOKUPS: u32 = 2_000;

/// Stores the workload, finds hot, missing and stored sequences in it, and removes it.
pub fn index(workload: &Workload, mut index: PeerIndex) {
    store(workload, &mut index);
    for (group, holders) in HOLDERS.into_iter().enumerate() {
        find_hot(&mut index, group as u32, holders);
        if group == 0 {
            let shared = u64::from(workload.shared * WORKERS + DEPTH - workload.shared);
            let query = |at: u32| workload.picked(at).blocks;
            find(&index, "stored", WORKERS, shared, query);
        }
    }
    remove(workload, &mut index);
    // What taking the index down costs is no part of it.
    std::mem::forget(index);
}

/// Stores the workload, event by event, and tells the memory of each pair of worker and block.
pub fn memory(workload: &Workload, mut index: PeerIndex) {
    let store = |worker, number| {
        stored(
            worker,
            &workload.sequence(worker, number),
            workload.skipped(number),
        )
    };
    index.apply(store(0, 0));
    index.settle();
    let before = resident_bytes();
    for number in 0..SEQUENCES {
        for worker in 0..WORKERS {
            index.apply(store(worker, number));
        }
        index.settle();
    }
    let bytes = resident_bytes() - before;
    println!(
        "{}",
        json!({ "workload": "MEM", "bytes_per_pair": bytes as f64 / f64::from(workload.pairs()) })
    );
    std::mem::forget(index);
}

fn store(workload: &Workload, index: &mut PeerIndex) {
    let mut events = Vec::new();
    for number in 0..SEQUENCES {
        for worker in 0..WORKERS {
            events.push(stored(
                worker,
                &workload.sequence(worker, number),
                workload.skipped(number),
            ));
        }
    }
    let (mut blocks, mut sum) = (0_u32, 0_u64);
    for event in &events {
        let KvCacheEventData::Stored(data) = &event.event.data else {
            unreachable!()
        };
        for block in &data.blocks {
            blocks += 1;
            sum = sum
                .wrapping_add(block.block_hash.0)
                .wrapping_add(block.tokens_hash.0.rotate_left(1));
        }
    }
    println!(
        "{}",
        json!({
            "workload": "STORE",
            "checksum": sum.to_string(),
            "ns_block_cpu": apply_all(index, events) / f64::from(blocks),
        })
    );
}

fn remove(workload: &Workload, index: &mut PeerIndex) {
    let shared = workload.shared as usize;
    let mut events = Vec::new();
    for number in 0..SEQUENCES {
        for worker in 0..WORKERS {
            events.push(removed(
                worker,
                &workload.sequence(worker, number).names[shared..],
            ));
        }
    }
    for number in 0..workload.prefixes {
        for worker in 0..WORKERS {
            events.push(removed(
                worker,
                &workload.sequence(worker, number).names[..shared],
            ));
        }
    }
    let ns = apply_all(index, events);
    println!(
        "{}",
        json!({ "workload": "REMOVE", "ns_block_cpu": ns / f64::from(workload.pairs()) })
    );
    for number in 0..SEQUENCES {
        let left = index.find(workload.sequence(0, number).blocks).scores;
        assert!(
            left.is_empty(),
            "sequence {number} is still held after its removal"
        );
    }
}

/// Processor time until all events are applied; freeing them is part of it.
fn apply_all(index: &mut PeerIndex, events: Vec<RouterEvent>) -> f64 {
    cpu_ns(|| {
        for event in events {
            index.apply(event);
        }
        index.settle();
    })
}

/// Looks up sequences that `holders` workers hold as a whole, such of which they hold half, and others.
fn find_hot(index: &mut PeerIndex, group: u32, holders: u32) {
    let sequences: Vec<Chain> = (0..HOT_SEQUENCES)
        .map(|number| hot(group, number))
        .collect();
    let hot_at = |at: u32| &sequences[(at % HOT_SEQUENCES) as usize].blocks;
    let half = DEPTH as usize / 2;
    for chain in &sequences {
        for worker in 0..holders {
            index.apply(stored(worker, chain, 0));
        }
    }
    index.settle();
    let each = u64::from(DEPTH * holders);
    find(index, "hit", holders, each, |at| hot_at(at).clone());
    let halves = |at| [&hot_at(at)[..half], &miss(at).blocks[half..]].concat();
    find(index, "partial", holders, each / 2, halves);
    find(index, "miss", holders, 0, |at| miss(at).blocks);
    for chain in &sequences {
        for worker in 0..holders {
            index.apply(removed(worker, &chain.names));
        }
    }
    index.settle();
}

/// Times look-ups one by one; each has to find `score` blocks, summed over all holders.
fn find(
    index: &PeerIndex,
    kind: &str,
    holders: u32,
    score: u64,
    query_at: impl Fn(u32) -> Vec<LocalBlockHash>,
) {
    let mut us = Vec::new();
    for at in 0..WARM_UP_LOOKUPS + LOOKUPS {
        // Making the query and freeing the answer are no part of it.
        let query = query_at(at);
        let (found, took_us) = timed(|| black_box(index.find(query)));
        let sum: u64 = found.scores.values().map(|score| u64::from(*score)).sum();
        assert_eq!(sum, score, "look-up {at} of {kind}, {holders} holders");
        if at >= WARM_UP_LOOKUPS {
            us.push(took_us);
        }
    }
    println!(
        "{}",
        json!({
            "workload": "FIND",
            "kind": kind,
            "holders": holders,
            "us_p50": percentile(&mut us, 50),
            "us_p99": percentile(&mut us, 99),
        })
    );
}
