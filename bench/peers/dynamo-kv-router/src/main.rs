//! Runs the workloads of kv-accord's benches against the crate
//! `dynamo-kv-router` and prints one JSON object a line. See README.md.

mod hashing;
mod indexing;
mod measure;
mod peer_index;
mod workload;

use std::process::ExitCode;

use peer_index::PeerIndex;
use workload::Workload;

const USAGE: &str = "usage: kv-accord-index-peer hash
       kv-accord-index-peer index --backend radix|crtc [--mode full|tail]
       kv-accord-index-peer mem --backend radix|crtc [--shared-ratio 0.25] [--prefixes 4]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[String]) -> Result<(), String> {
    let (name, options) = words.split_first().ok_or("no workload is named")?;
    let mut workload = Workload::default();
    let mut index = None;
    for option in options.chunks(2) {
        let [key, value] = option else {
            return Err(format!("{} has no value", option[0]));
        };
        let wrong = || format!("{key} cannot be {value}");
        match key.as_str() {
            "--backend" => index = Some(PeerIndex::named(value).ok_or_else(wrong)?),
            "--mode" => {
                workload.tells_heads_again = match value.as_str() {
                    "full" => true,
                    "tail" => false,
                    _ => return Err(wrong()),
                }
            }
            "--shared-ratio" => {
                let ratio: f64 = value.parse().map_err(|_| wrong())?;
                if !(0.0..=1.0).contains(&ratio) {
                    return Err(wrong());
                }
                workload.shared = (f64::from(workload::DEPTH) * ratio).round() as u32;
            }
            "--prefixes" => {
                workload.prefixes = value.parse().map_err(|_| wrong())?;
                if !(1..=workload::SEQUENCES).contains(&workload.prefixes) {
                    return Err(wrong());
                }
            }
            _ => return Err(format!("there is no option {key}")),
        }
    }
    match (name.as_str(), index) {
        ("hash", None) => hashing::hash(),
        ("index", Some(index)) => indexing::index(&workload, index),
        ("mem", Some(index)) => indexing::memory(&workload, index),
        ("hash", Some(_)) => return Err("hash takes no --backend".into()),
        ("index" | "mem", None) => return Err(format!("{name} needs --backend")),
        _ => return Err(format!("there is no workload {name}")),
    }
    Ok(())
}
