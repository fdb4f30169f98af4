//! Measures planning: `cargo xtask bench planning` runs it with the folder of the planning fixtures.
//!
//! Heights and sizes are ratios of the lower bound, so that they mean the same on every machine; seconds do not.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on has failed; its result is what it prints"
)]

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use vramscope_core::analysis::packing::csv::read;
use vramscope_core::analysis::packing::{
    Fit, Order, Packed, Packer, Problem, greedy, lower_bound, verify,
};
use vramscope_core::analysis::pools::Planner;

/// How long each problem is worked at.
const TIME: Duration = Duration::from_secs(10);
/// Buffers of the large problems.
const MANY: usize = 1_000_000;

fn main() {
    let folder = PathBuf::from(std::env::args().nth(1).unwrap());
    benchmark(&folder);
    eager(&folder);
    many(&folder);
}

/// minimalloc's benchmark: the best greedy packer, and what the search makes of it.
fn benchmark(folder: &Path) {
    println!("minimalloc's benchmark      buffers      bound  greedy  packed         s  how");
    for letter in 'A'..='K' {
        let file = File::open(folder.join(format!("minimalloc/{letter}.1048576.csv"))).unwrap();
        let problem = Arc::new(read(file).unwrap().problem);
        let bound = lower_bound(&problem);
        let fits = |order| [Fit::First, Fit::Best].map(|fit| greedy(&problem, order, fit).height);
        let lowest = Order::ALL.into_iter().flat_map(fits).min().unwrap();
        let (packed, seconds) = packed(&problem);
        println!(
            "{letter:<25} {:>9} {bound:>10}  {:>6.4}  {:>6.4} {seconds:>9.3}  {}{}",
            problem.size.len(),
            ratio(lowest, bound),
            ratio(packed.packing.height, bound),
            packed.method,
            if packed.is_optimal() { ", optimal" } else { "" },
        );
    }
}

/// Real lives: inductor's pools beside the best packing.
fn eager(folder: &Path) {
    println!(
        "\neager traces                buffers      bound   pools         s  packed         s"
    );
    for (name, problem) in traces(folder) {
        let bound = lower_bound(&problem);
        let start = Instant::now();
        let mut planner = Planner::of_problem(&problem);
        planner.run(&mut || false);
        let pools = planner.finish().total_bytes();
        let pools_s = start.elapsed().as_secs_f64();
        let (packed, seconds) = packed(&Arc::new(problem.clone()));
        println!(
            "{name:<25} {:>9} {bound:>10}  {:>6.4} {pools_s:>9.3}  {:>6.4} {seconds:>9.3}",
            problem.size.len(),
            ratio(pools, bound),
            ratio(packed.packing.height, bound),
        );
    }
}

/// The same lives one after another until there are a million.
fn many(folder: &Path) {
    println!("\na million buffers           buffers      bound  greedy         s  how");
    for (name, problem) in traces(folder) {
        let problem = repeated(&problem);
        let bound = lower_bound(&problem);
        for order in [Order::Program, Order::Size, Order::ContentionDuration] {
            let start = Instant::now();
            let packing = greedy(&problem, order, Fit::First);
            let seconds = start.elapsed().as_secs_f64();
            verify(&problem, &packing).unwrap();
            println!(
                "{name:<25} {:>9} {bound:>10}  {:>6.4} {seconds:>9.3}  {order}",
                problem.size.len(),
                ratio(packing.height, bound),
            );
        }
    }
}

fn traces(folder: &Path) -> impl Iterator<Item = (&'static str, Problem)> {
    let names = [
        "convnet_train",
        "gpt6_generate",
        "gpt6_train",
        "gpt6_varlen_train",
    ];
    let folder = folder.join("traces");
    names.into_iter().map(move |name| {
        let packed = fs::read(folder.join(format!("eager_{name}.csv.zst"))).unwrap();
        let mut text = Vec::new();
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
        decoder.read_to_end(&mut text).unwrap();
        (name, read(text.as_slice()).unwrap().problem)
    })
}

fn repeated(problem: &Problem) -> Problem {
    let span = problem.upper.iter().copied().max().unwrap_or(0);
    let mut all = Problem::default();
    for round in (0_u64..).take_while(|&round| round as usize * problem.size.len() < MANY) {
        all.lower
            .extend(problem.lower.iter().map(|at| at + round * span));
        all.upper
            .extend(problem.upper.iter().map(|at| at + round * span));
        all.size.extend(&problem.size);
    }
    all
}

/// The best packing within [`TIME`], and when it was found to be the best.
fn packed(problem: &Arc<Problem>) -> (Packed, f64) {
    let start = Instant::now();
    let mut packer = Packer::new(problem.clone());
    packer.run(&mut || start.elapsed() >= TIME);
    let seconds = start.elapsed().as_secs_f64();
    let best = packer.best().unwrap().clone();
    verify(problem, &best.packing).unwrap();
    (best, seconds)
}

fn ratio(bytes: u64, bound: u64) -> f64 {
    bytes as f64 / bound as f64
}
