//! Packing, and inductor's pools.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use vramscope_plan::packing::csv::read;
use vramscope_plan::packing::{Fit, Order, Packed, Packer, Problem, greedy, lower_bound, verify};
use vramscope_plan::pool_planner::Planner;
use vramscope_synth::Rng;

use crate::{Clock, SPENT, Spent, timed, unpacked};

/// Time limit for each problem.
const TIME: Duration = Duration::from_secs(10);

/// The height into which minimalloc's benchmark must be packed.
const CAPACITY: u64 = 1_048_576;

/// Buffers of the large problems.
const MANY: usize = 1_000_000;

/// minimalloc's benchmark: how soon the capacity is reached, and how low the search gets.
pub(crate) fn benchmark(folder: &Path) {
    println!(
        "minimalloc's benchmark    buffers  within {CAPACITY} bytes: {SPENT}      lowest   no lower   {SPENT}  how"
    );
    for letter in 'A'..='K' {
        let file = File::open(folder.join(format!("{letter}.{CAPACITY}.csv"))).unwrap();
        let problem = Arc::new(read(file).unwrap().problem);
        let (fitting, fitting_s) = run(Packer::within(problem.clone(), CAPACITY), &problem, TIME);
        let (lowest, lowest_s) = run(Packer::new(problem.clone()), &problem, TIME);
        println!(
            "{letter:<25} {:>7} {:>21} {fitting_s} {:>11} {:>10}   {lowest_s}  {}{}",
            problem.size.len(),
            match fitting.packing.height <= CAPACITY {
                true => "found",
                false => "not found",
            },
            lowest.packing.height,
            lowest.bound,
            lowest.method,
            if lowest.is_optimal() { ", optimal" } else { "" },
        );
    }
}

/// Real lives: inductor's pools compared with the best packing.
pub(crate) fn eager(folder: &Path) {
    println!(
        "\neager traces              buffers      bound    pools {SPENT}   packed {SPENT}  how"
    );
    for (name, problem) in traces(folder) {
        let bound = lower_bound(&problem);
        let (pools, pools_s) = timed(|| {
            let mut planner = Planner::of_problem(&problem);
            planner.run(&mut || false);
            planner.finish().total_bytes()
        });
        let (packed, packed_s) = run(Packer::new(problem.clone()), &problem, TIME);
        println!(
            "{name:<25} {:>7} {bound:>10}   {:>6.4} {pools_s}   {:>6.4} {packed_s}  {}",
            problem.size.len(),
            ratio(pools, bound),
            ratio(packed.packing.height, bound),
            packed.method,
        );
    }
}

/// The same lives repeated one after another until there are a million: both everything computed for so many, and each
/// greedy packer separately. A million random ones, with a thousand live at once, are harder than any real program's.
pub(crate) fn many(folder: &Path) {
    println!("\na million buffers         buffers         bound   packed {SPENT}  how");
    let repeated = traces(folder).map(|(name, problem)| (name, repeated(&problem)));
    for (name, problem) in repeated.chain([("random", random())]) {
        let problem = Arc::new(problem);
        let bound = lower_bound(&problem);
        let row = |height, spent: &Spent, how: &str| {
            let count = problem.size.len();
            let ratio = ratio(height, bound);
            println!("{name:<25} {count:>7} {bound:>13}   {ratio:>6.4} {spent}  {how}");
        };
        let (packed, spent) = run(Packer::new(problem.clone()), &problem, TIME * 6);
        let how = format!("portfolio: {}", packed.method);
        row(packed.packing.height, &spent, &how);
        for order in [Order::Program, Order::Size, Order::ContentionDuration] {
            if name == "random" {
                break;
            }
            let (packing, spent) = timed(|| greedy(&problem, order, Fit::First));
            verify(&problem, &packing).unwrap();
            row(packing.height, &spent, &order.to_string());
        }
    }
}

fn traces(folder: &Path) -> impl Iterator<Item = (&'static str, Arc<Problem>)> {
    let names = [
        "convnet_train",
        "gpt6_generate",
        "gpt6_train",
        "gpt6_varlen_train",
    ];
    names.into_iter().map(move |name| {
        let text = unpacked(&folder.join(format!("eager_{name}.csv.zst")));
        (name, Arc::new(read(text.as_slice()).unwrap().problem))
    })
}

fn repeated(problem: &Problem) -> Problem {
    let span = problem.upper.iter().copied().max().unwrap_or(0);
    let mut all = Problem::default();
    for round in (0_u64..).take_while(|&round| round as usize * problem.size.len() < MANY) {
        let later = |at: &u64| at + round * span;
        all.lower.extend(problem.lower.iter().map(later));
        all.upper.extend(problem.upper.iter().map(later));
        all.size.extend(&problem.size);
    }
    all
}

/// Lives and sizes of all magnitudes, at random times: a thousand are live at once.
fn random() -> Problem {
    let mut random = Rng::new(1);
    let mut of_any_magnitude = |most: u32| {
        let magnitude = random.below(most.into());
        1 + random.below(1 << magnitude)
    };
    let mut problem = Problem::default();
    for begin in 0..MANY as u64 {
        problem.lower.push(begin);
        problem.upper.push(begin + of_any_magnitude(14));
        problem.size.push(512 * of_any_magnitude(16));
    }
    problem
}

/// The best packing found within a time, and how soon it was known to be optimal.
fn run(mut packer: Packer, problem: &Problem, most: Duration) -> (Packed, Spent) {
    let clock = Clock::start();
    packer.run(&mut || clock.wall() >= most);
    let spent = clock.stop();
    let best = packer.best().unwrap().clone();
    verify(problem, &best.packing).unwrap();
    (best, spent)
}

fn ratio(bytes: u64, bound: u64) -> f64 {
    bytes as f64 / bound as f64
}
