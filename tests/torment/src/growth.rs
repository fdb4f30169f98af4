//! Growth: a file four times as large may take little more than four times the time and memory. Only ratios within one
//! run count, never seconds.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::child::{self, Ended};
use crate::commands::{QUESTIONS, words};
use crate::shapes::SHAPES;

/// The sizes that are compared.
const SIZES: [usize; 2] = [5_000, 20_000];

/// The limit for the ratio: four times, a logarithm, and noise.
const MOST_TIMES: f64 = 9.0;

/// Shorter times are all startup and noise.
const LEAST_CPU: Duration = Duration::from_millis(400);
const LEAST_BYTES: u64 = 96 << 20;

/// Number of runs, the best of which counts, if the first was suspicious.
const RUNS: usize = 3;

/// Compares all shapes in each printing command in turn, until the deadline. Returns the cases that grew too much.
///
/// # Errors
///
/// If the program cannot be started.
pub(crate) fn measure(program: &Path, deadline: Instant) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let folders = SHAPES.map(|(name, file)| {
        let folder = tempfile::tempdir()?;
        for n in SIZES {
            fs::write(folder.path().join(n.to_string()), file(n))?;
        }
        anyhow::Ok((name, folder))
    });
    let folders = folders.into_iter().collect::<Result<Vec<_>>>()?;
    for command in QUESTIONS {
        for (name, folder) in &folders {
            if Instant::now() >= deadline {
                return Ok(faults);
            }
            if let Some(fault) = grown(program, command, folder.path())? {
                faults.push(format!("vramscope {command}\n  shape {name}: {fault}"));
            }
        }
    }
    Ok(faults)
}

/// How much more the larger file takes, if that is too much.
fn grown(program: &Path, command: &str, folder: &Path) -> Result<Option<String>> {
    let ask = |n: usize| child::run(program, &words(command, &n.to_string()), folder);
    let large = ask(SIZES[1])?;
    if large.cpu < LEAST_CPU && large.resident_bytes < LEAST_BYTES {
        return Ok(None);
    }
    let mut small = best(&[ask(SIZES[0])?]);
    let mut large = best(&[large]);
    for _ in 1..RUNS {
        if fault(small, large).is_none() {
            return Ok(None);
        }
        small = least(small, best(&[ask(SIZES[0])?]));
        large = least(large, best(&[ask(SIZES[1])?]));
    }
    Ok(fault(small, large))
}

/// Processor time and peak bytes.
type Cost = (Duration, u64);

fn best(runs: &[Ended]) -> Cost {
    runs.iter()
        .map(|run| (run.cpu, run.resident_bytes))
        .fold((Duration::MAX, u64::MAX), least)
}

fn least(a: Cost, b: Cost) -> Cost {
    (a.0.min(b.0), a.1.min(b.1))
}

fn fault(small: Cost, large: Cost) -> Option<String> {
    let times = large.0.as_secs_f64() / small.0.as_secs_f64().max(0.01);
    if large.0 >= LEAST_CPU && times > MOST_TIMES {
        return Some(format!(
            "{:.2} s for {:.2} s at a quarter of the size",
            large.0.as_secs_f64(),
            small.0.as_secs_f64()
        ));
    }
    let times = large.1 as f64 / small.1.max(1) as f64;
    (large.1 >= LEAST_BYTES && times > MOST_TIMES).then(|| {
        format!(
            "{} MiB for {} MiB at a quarter of the size",
            large.1 >> 20,
            small.1 >> 20
        )
    })
}
