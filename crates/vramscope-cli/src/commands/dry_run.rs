//! `vramscope dry-run`: the memory of a program before there is a GPU.

mod verdict;

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use clap::{Args, ValueEnum};
use vramscope_core::analysis::recording::Recording;
use vramscope_core::cards::Card;
use vramscope_core::open::decode;
use vramscope_core::units::Bytes;
use vramscope_dryrun::device::Device;
use vramscope_dryrun::fit::largest;
use vramscope_dryrun::run::{self, Options as Running, Output, Run, Values, is_possible};

use self::verdict::{Circumstances, Judged};
use crate::arguments::{Show, parse_capacity};
use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::inputs::report_all;
use crate::report::{self, Cell, Part};
use crate::temporary::PassingFolder;
use crate::{interruption, output};

/// Run a program without a GPU, and say whether it would fit
///
/// The program, its torch and PyTorch's allocator are yours and unchanged; only CUDA is replaced, by a stand-in that
/// computes nothing. So the memory is what the allocator makes of the program's requests, as fast as the program's
/// Python runs. Needs a torch built for CUDA (2.1 or later), but no GPU, driver or NVIDIA libraries; a GPU is not
/// touched if there is one. Values are zeros: losses mean nothing, and anything that depends on them may differ. Code
/// for torch.compile runs as it is written. Models of transformers and diffusers need their configuration but no
/// weights.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The card, by its name as in torch or nvidia-smi, or by its amount of memory
    #[arg(long, value_name = "CARD", value_parser = parse_device, default_value = "h100")]
    gpu: Device,
    /// How many cards the program sees, at most 8
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8), default_value_t = 1)]
    gpus: u32,
    /// Which rank of `--world` the program is; the other ranks are only simulated
    #[arg(long, value_name = "R", requires = "world", default_value_t = 0)]
    rank: u32,
    /// Number of ranks
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    world: Option<u32>,
    /// What the program reads back from the GPU
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = Read::Zeros)]
    values: Read,
    /// Find the largest number in this range with which it fits; it replaces `{}` in the program's arguments
    #[arg(long, value_name = "FROM..TO", value_parser = parse_range)]
    fit: Option<(u64, u64)>,
    /// Keep the snapshot
    #[arg(short, long, value_name = "OUT.pickle")]
    output: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
    /// The program and its arguments
    #[arg(
        value_name = "PROGRAM",
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    program: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Read {
    Zeros,
    Ones,
    Uniform,
}

const EXAMPLES: &str = "\
Examples:
  vramscope dry-run -- python train.py --batch-size 8
  vramscope dry-run --gpu rtx4090 -o dry.pickle -- uv run train.py
  vramscope dry-run --gpu a100-40gb --fit 1..64 -- python train.py --batch-size {}
  vramscope dry-run --rank 3 --world 8 -- python train_ddp.py
  vramscope dry-run --json -- python train.py | jq '.parts[0] | {fits, reserved_bytes}'

With --json and --csv the program's standard output goes to standard error.

Exit codes: the program's own; 3 nothing in the range of --fit fits; 1 it cannot be run, 2 wrong usage";

fn parse_device(text: &str) -> Result<Device, String> {
    match Card::called(text) {
        Some(card) => Device::of(card).ok_or_else(|| format!("{} has no CUDA", card.name)),
        None => parse_capacity(text).map(|size| Device::with_bytes(size.0)),
    }
}

fn parse_range(text: &str) -> Result<(u64, u64), String> {
    let numbers = text
        .split_once("..")
        .and_then(|(least, most)| Some((least.trim().parse().ok()?, most.trim().parse().ok()?)));
    let in_order = numbers.filter(|(least, most)| least <= most);
    in_order.ok_or_else(|| "write a range such as 1..64".to_owned())
}

/// Runs the command.
///
/// # Errors
/// If the program cannot be run or fails, or if nothing fits.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let destination = options.output.as_deref().map(Destination::of);
    destination
        .as_ref()
        .map_or(Ok(()), destination::check_place)?;
    if !is_possible() {
        let text =
            "this build cannot run programs: it can on Linux with glibc, on x86-64 and aarch64";
        return Err(Failure::Usage(text.to_owned()));
    }
    if options.world.is_some_and(|world| options.rank >= world) {
        return Err(Failure::Usage(
            "ranks are counted from 0 and fewer than --world".to_owned(),
        ));
    }
    let has_place = options
        .program
        .iter()
        .any(|word| word.to_string_lossy().contains("{}"));
    if options.fit.is_some() && !has_place {
        let text =
            "--fit puts numbers in place of {} in the program's arguments, and there is none";
        return Err(Failure::Usage(text.to_owned()));
    }
    let folder = PassingFolder::create_in(&env::temp_dir(), "vramscope-")
        .map_err(Failure::io("cannot create a temporary folder"))?;
    let place = Place {
        options,
        folder: folder.as_ref(),
    };
    match options.fit {
        Some(range) => place.fit(range, destination.as_ref()),
        None => place.once(destination.as_ref()),
    }
}

/// Where and how programs are run.
struct Place<'a> {
    options: &'a Options,
    folder: &'a Path,
}

impl Place<'_> {
    /// Runs the program as given.
    fn once(&self, destination: Option<&Destination>) -> Result<(), Failure> {
        let ran = self.run(&self.options.program, self.output())?;
        let mut judged = self.judged(&ran)?;
        let mut failures: Vec<_> = self.keep(&judged, destination).err().into_iter().collect();
        let parts = self.parts(&mut judged, ended(ran.status).as_ref());
        failures.extend(self.print(parts).err());
        failures.extend(ended(ran.status));
        report_all(failures)
    }

    /// Finds the largest number that fits.
    fn fit(
        &self,
        (least, most): (u64, u64),
        destination: Option<&Destination>,
    ) -> Result<(), Failure> {
        let mut best = Vec::new();
        // The traceback of a try that does not fit is of no interest.
        let log = self.folder.join("output");
        let found = largest(least, most, |number| {
            let words = self.options.program.iter();
            let words = words.map(|word| {
                word.to_string_lossy()
                    .replace("{}", &number.to_string())
                    .into()
            });
            let ran = self.run(&words.collect::<Vec<_>>(), Output::File(log.clone()))?;
            let judged = self.judged(&ran).and_then(|judged| {
                let fits = judged.iter().all(Judged::fits);
                // It ended for another reason than memory, so nothing is known.
                match ended(ran.status).filter(|_| fits) {
                    Some(failure) => Err(failure),
                    None => Ok((judged, fits)),
                }
            });
            let (judged, fits) = judged.inspect_err(|_| {
                // If the output cannot be read, the failure says enough.
                output::note(&end_of(&log).unwrap_or_default());
            })?;
            tell(number, &judged, fits);
            if fits {
                self.keep(&judged, destination)?;
                best = judged;
            }
            Ok::<_, Failure>(fits)
        })?;
        let Some(found) = found else {
            let card = &self.options.gpu.name;
            return Err(Failure::Broken(format!(
                "not even {least} fits on the {card}"
            )));
        };
        let mut parts = self.parts(&mut best, None);
        if let Some(part) = parts.first_mut() {
            part.fact_with(
                "largest_that_fits",
                "largest that fits",
                Cell::Number(found),
                format!("of {least} to {most}"),
            );
        }
        self.print(parts)
    }

    /// Where the program's output goes if it runs once.
    fn output(&self) -> Output {
        match self.options.show.json || self.options.show.csv {
            true => Output::Stderr,
            false => Output::Ours,
        }
    }

    fn run(&self, program: &[OsString], output: Output) -> Result<Run, Failure> {
        let options = self.options;
        let running = Running {
            device: options.gpu.clone(),
            devices: options.gpus,
            rank: options.world.map(|world| (options.rank, world)),
            values: match options.values {
                Read::Zeros => Values::Zeros,
                Read::Ones => Values::Ones,
                Read::Uniform => Values::Uniform,
            },
            output,
        };
        let name = program
            .first()
            .map(|name| name.to_string_lossy().into_owned());
        let doing = format!("cannot start {}", name.unwrap_or_default());
        // An interrupt ends the program, but this process still reports what was recorded.
        interruption::without(|| run::run(program, &running, self.folder))
            .map_err(Failure::io(doing))
    }

    /// One answer per process.
    fn parts(&self, judged: &mut [Judged], ended: Option<&Failure>) -> Vec<Part> {
        let device = &self.options.gpu;
        let others = |own: usize| {
            let others = judged.iter().enumerate().filter(|(index, _)| *index != own);
            let taken = others.map(|(_, other)| other.taken_of(&judged[own], device));
            taken.sum::<u64>()
        };
        let others: Vec<u64> = (0..judged.len()).map(others).collect();
        let parts = judged.iter_mut().zip(others);
        let parts = parts.map(|(judged, others_bytes)| {
            judged.part(&Circumstances {
                device,
                ended: ended.map(ToString::to_string),
                others_bytes,
            })
        });
        parts.collect()
    }

    /// The processes that used CUDA, the one that reserved most first. There is at least one.
    fn judged(&self, ran: &Run) -> Result<Vec<Judged>, Failure> {
        let read = ran.snapshots.iter().map(|path| {
            let file = File::open(path).map_err(Failure::io("cannot read the recording"))?;
            let snapshot = decode(file).map_err(|error| Failure::Decode {
                file: "the recording".to_owned(),
                error: Box::new(error),
            })?;
            Ok(Judged::of(path.clone(), Recording::of(snapshot)))
        });
        let mut judged = read.collect::<Result<Vec<_>, Failure>>()?;
        judged.retain(Judged::has_used_memory);
        judged.sort_by_key(|judged| std::cmp::Reverse(judged.reserved_bytes()));
        if judged.is_empty() {
            let text = "no process of it took CUDA's memory through torch: is the model moved to the GPU (.to(\"cuda\"))? If it \
                        is, something keeps the recording away: os._exit, Python's -I, -E and -S, or PYTORCH_NO_CUDA_MEMORY_CACHING";
            let unusable = ran.unusable.clone().map(Failure::Input);
            let failure = unusable.or_else(|| ended(ran.status));
            return Err(failure.unwrap_or_else(|| Failure::Input(text.to_owned())));
        }
        Ok(judged)
    }

    /// Writes the snapshots: the first under the given name, others with a number added.
    fn keep(&self, judged: &[Judged], destination: Option<&Destination>) -> Result<(), Failure> {
        let Some(destination) = destination else {
            return Ok(());
        };
        judged.iter().enumerate().try_for_each(|(index, judged)| {
            let numbered = match (index, destination) {
                (0, _) => destination.clone(),
                (_, Destination::Stdout) => return Ok(()),
                (_, Destination::Path(path)) => Destination::Path(numbered(path, index + 1)),
            };
            numbered.write(false, |out| {
                let copied = File::open(&judged.path).and_then(|mut file| io::copy(&mut file, out));
                copied
                    .map(drop)
                    .map_err(Failure::io("cannot write the snapshot"))
            })
        })
    }

    fn print(&self, parts: Vec<Part>) -> Result<(), Failure> {
        report::print("dry-run", parts, self.options.show)
    }
}

/// The end of a program's output, which may be long.
fn end_of(log: &Path) -> io::Result<String> {
    const MOST_BYTES: u64 = 64 << 10;
    let mut file = File::open(log)?;
    let left_out = file.metadata()?.len().saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(left_out))?;
    let mut written = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut written)?;
    let text = String::from_utf8_lossy(&written);
    Ok(match left_out {
        0 => text.into_owned(),
        _ => format!("({} before this are left out)\n{text}", Bytes(left_out)),
    })
}

/// `dry.pickle` becomes `dry-2.pickle`.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let end = path
        .extension()
        .map_or(String::new(), |end| format!(".{}", end.to_string_lossy()));
    path.with_file_name(format!("{name}-{number}{end}"))
}

/// Prints one line for each try.
fn tell(number: u64, judged: &[Judged], fits: bool) {
    let reserved = judged.first().map_or(0, Judged::reserved_bytes);
    let reserved = Bytes(reserved);
    let word = if fits { "fits" } else { "does not fit" };
    output::note(&format!("{number}: {word}, {reserved} reserved at most\n"));
}

/// The failure of a program that did not succeed; its exit code becomes ours.
fn ended(status: ExitStatus) -> Option<Failure> {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal.map(|signal| 128 + signal));
    let code = u8::try_from(code.unwrap_or(1)).unwrap_or(1);
    let text = match signal {
        Some(signal) => format!("the program was ended by signal {signal}"),
        None => format!("the program ended with exit code {code}"),
    };
    (!status.success()).then_some(Failure::Ended { code, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_sizes_and_ranges_are_read() {
        assert_eq!(parse_device("rtx4090").unwrap().capability, 89);
        assert_eq!(parse_device("24GiB").unwrap().total_bytes, 24 << 30);
        assert!(parse_device("mi300x").unwrap_err().contains("no CUDA"));
        assert!(parse_device("80GB").unwrap_err().contains("79.10GiB"));
        assert_eq!(parse_range("1..64"), Ok((1, 64)));
        assert!(parse_range("64..1").is_err() && parse_range("8").is_err());
        assert_eq!(
            numbered(Path::new("a/dry.pickle"), 2),
            Path::new("a/dry-2.pickle")
        );
    }

    #[test]
    fn of_long_output_the_end_is_shown() -> io::Result<()> {
        let log = tempfile::NamedTempFile::new()?;
        std::fs::write(&log, "Traceback")?;
        assert_eq!(end_of(log.path())?, "Traceback");
        std::fs::write(&log, format!("{}end", "x".repeat(1 << 20)))?;
        let text = end_of(log.path())?;
        assert!(text.starts_with("(960 KiB before this") && text.ends_with("xend"));
        Ok(())
    }
}
