//! `vramscope text`: why memory ran out, from the text of an error or a whole log.

mod parts;

use std::path::PathBuf;

use clap::Args;
use vramscope_text::Reading;

use crate::arguments::Show;
use crate::failure::Failure;
use crate::input::{display_name, is_stdin, read_text};
use crate::inputs::{none_read, report_all};
use crate::report::{self, Part};

/// Say why memory ran out from the text of an error, or a log
///
/// Finds out-of-memory errors in any text, even in gigabytes of log from many ranks, compressed or not: those of
/// PyTorch since 0.4 on CUDA, HIP, XPU, NPU and MPS, with cudaMallocAsync, of the driver, XLA (JAX), llama.cpp and
/// vLLM; tables of memory_summary(), nvidia-smi and npu-smi; and lines in which frameworks report their memory. Says
/// who held the device, why that was too much, how sure that is, what to change, and which command would show more. If
/// the text does not say, the answer says so.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Texts; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Explain the first N failures in full; all are listed
    #[arg(long, value_name = "N", default_value_t = 1)]
    first: usize,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope text train.log
  python train.py 2>&1 | vramscope text -
  vramscope text slurm-*.out --first 3
  vramscope text train.log --json | jq '.parts[] | select(.why) | [.line, .class, .sure, .explanation]'";

/// The command that takes texts as well as snapshots.
const OOM: &str = "oom";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    answer("text", &options.files, options.first, options.show)
}

/// Answers about texts under the name of a command.
pub(crate) fn answer(
    command: &str,
    files: &[PathBuf],
    first: usize,
    show: Show,
) -> Result<(), Failure> {
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        let text = "standard input (-) can be given only once";
        return Err(Failure::Usage(text.to_owned()));
    }
    let (parts, mut failures) = parts_of(command, files, first);
    if !parts.is_empty() {
        failures.extend(report::print(command, parts, show).err());
    }
    report_all(failures)
}

/// The parts of an answer about texts, and the files that could not be read.
fn parts_of(command: &str, files: &[PathBuf], first: usize) -> (Vec<Part>, Vec<Failure>) {
    let (mut parts, mut failures) = (Vec::new(), Vec::new());
    for file in files {
        match read_text(file) {
            // A user who asks about a failure, and names a text without any, has probably named the wrong file.
            Ok(reading) if command == OOM && reading.records.is_empty() => {
                failures.push(Failure::Input(format!(
                    "{}: this is text, without an error of memory that vramscope knows",
                    display_name(file)
                )));
            }
            Ok(reading) => parts.extend(parts::of(&display_name(file), &reading, first)),
            Err(failure) => failures.push(failure),
        }
    }
    (parts, failures)
}

/// The JSON of an answer about a text, with all failures in full.
pub(crate) fn json_of(name: &str, reading: &Reading) -> Result<Vec<u8>, Failure> {
    let (mut answer, parts) = (Vec::new(), parts::of(name, reading, usize::MAX));
    report::write_json(&mut answer, "text", parts, Show::default())?;
    Ok(answer)
}

/// The JSON of an answer about texts, for agents. `limit`: rows per table.
pub(crate) fn json(files: &[PathBuf], limit: Option<usize>) -> Result<Vec<u8>, Failure> {
    let (parts, failures) = parts_of(OOM, files, 1);
    if parts.is_empty() {
        return Err(none_read(failures));
    }
    let (mut answer, show) = (
        Vec::new(),
        Show {
            limit,
            ..Show::default()
        },
    );
    report::write_json(&mut answer, OOM, parts, show)?;
    Ok(answer)
}
