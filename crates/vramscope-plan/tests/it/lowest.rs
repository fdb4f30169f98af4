//! The exact search on minimalloc's benchmark and on lives of real training runs.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use vramscope_plan::packing::csv::read;
use vramscope_plan::packing::search::{Search, SearchResult};
use vramscope_plan::packing::{Packer, Problem, lower_bound, verify};
use vramscope_synth::files::fixtures_dir;

fn problem(file: &str) -> Arc<Problem> {
    let file = fixtures_dir().join("planning").join(file);
    let mut bytes = std::fs::read(&file).unwrap();
    if file.extension() == Some(Path::new("zst").as_os_str()) {
        let packed = bytes.split_off(0);
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
        decoder.read_to_end(&mut bytes).unwrap();
    }
    Arc::new(read(bytes.as_slice()).unwrap().problem)
}

/// The lowest packing, which is at the bound.
fn optimum(problem: &Arc<Problem>) -> u64 {
    let mut packer = Packer::new(problem.clone());
    assert!(packer.run(&mut || false));
    let best = packer.best().unwrap();
    assert_eq!(verify(problem, &best.packing), Ok(()));
    assert_eq!(best.bound, lower_bound(problem));
    assert!(best.is_optimal());
    best.packing.height
}

// A, B, E, G and H take too long in unoptimised builds; `cargo xtask bench planning` has them.
#[test]
fn the_benchmark_fits_into_its_capacity() {
    const CAPACITY: u64 = 1_048_576;
    for letter in ["C", "D", "F", "I", "J", "K"] {
        let problem = problem(&format!("minimalloc/{letter}.1048576.csv"));
        match Search::new(problem.clone(), CAPACITY).run(&mut || false) {
            SearchResult::Packing(packing) => {
                assert_eq!(verify(&problem, &packing), Ok(()), "{letter}");
                assert!(packing.height <= CAPACITY, "{letter}");
            }
            other => panic!("{letter}: {other:?}"),
        }
    }
}

#[test]
fn the_optimum_is_found_where_it_is_known() {
    assert_eq!(optimum(&problem("minimalloc/C.1048576.csv")), 1_039_360);
    assert_eq!(optimum(&problem("minimalloc/K.1048576.csv")), 1_048_576);
}

#[test]
fn lives_of_training_runs_are_packed_as_low_as_can_be() {
    for name in [
        "convnet_train",
        "gpt6_generate",
        "gpt6_train",
        "gpt6_varlen_train",
    ] {
        optimum(&problem(&format!("traces/eager_{name}.csv.zst")));
    }
}
