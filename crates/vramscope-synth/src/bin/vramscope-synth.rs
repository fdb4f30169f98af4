//! Writes synthetic snapshots: `vramscope-synth training --events 1000000 -o f.pickle`.

#![expect(clippy::print_stdout, reason = "lists what it wrote")]

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use vramscope_synth::snapshot::{Producer, Snapshot, WriteOptions};
use vramscope_synth::{fixtures, fleet, samples, scenario, text, training};

/// Writes PyTorch CUDA memory snapshots of simulated runs.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Args)]
struct Target {
    /// The file to write.
    #[arg(short, long)]
    output: PathBuf,
    /// The producer to imitate: 1.13 to 2.15, cpp, xpu, profile.
    #[arg(long, default_value = "2.8")]
    producer: Producer,
    /// Python's pickle protocol.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u8).range(0..=5))]
    protocol: u8,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A training run of many events.
    Training {
        /// Number of events to record; the file may have two more or fewer.
        #[arg(long, default_value_t = 100_000)]
        events: usize,
        /// Seed of everything that varies.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        target: Target,
    },
    /// A run that shows one feature.
    Scenario {
        /// One of annotated, expandable, fragmented, host, multi-device, oom, pools, state-only; or of the large ones:
        /// many-live, tiny, segment-each, annotations.
        name: String,
        /// Seed of everything that varies.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        target: Target,
    },
    /// The ranks of a job, a few of them odd.
    Fleet {
        /// The folder to write to.
        dir: PathBuf,
        /// Number of ranks.
        #[arg(long, default_value_t = 16)]
        ranks: u32,
        /// The first rank to write; all if it is not given.
        #[arg(long, default_value_t = 0)]
        from: u32,
        /// How many ranks to write.
        #[arg(long)]
        count: Option<u32>,
        /// Number of events of each rank.
        #[arg(long, default_value_t = 100_000)]
        events: usize,
        /// Seed of everything that varies.
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// The samples of the start page.
    Samples {
        /// The folder to write to.
        dir: PathBuf,
    },
    /// One small snapshot per producer.
    Fixtures {
        /// The folder to write to.
        dir: PathBuf,
    },
    /// A snapshot described by a text.
    Text {
        /// The text; its language is documented in `vramscope_synth::text`.
        file: PathBuf,
        #[command(flatten)]
        target: Target,
    },
    /// A run with given counts of frames, stacks, devices and others.
    Shape {
        #[command(flatten)]
        shape: scenario::Shape,
        /// Seed of everything that varies.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        target: Target,
    },
    /// Many live blocks freed in random order.
    Torture {
        /// Number of blocks live at once.
        #[arg(long, default_value_t = 3000)]
        live: usize,
        /// Seed of everything that varies.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        #[command(flatten)]
        target: Target,
    },
}

fn main() -> io::Result<()> {
    match Arguments::parse().command {
        Command::Training {
            events,
            seed,
            target,
        } => {
            let Target {
                output,
                producer,
                protocol,
            } = target;
            let options = training::Options {
                events,
                seed,
                producer,
                protocol,
                ..Default::default()
            };
            training::write(&options, create(&output)?)?;
        }
        Command::Scenario { name, seed, target } => {
            let mut known = scenario::ALL.into_iter().chain(scenario::LARGE);
            let known = known.find(|(known, _)| *known == name);
            let made = known.map(|(_, make)| make(seed));
            let made = made.or_else(|| scenario::failure(&name));
            let made =
                made.ok_or_else(|| io::Error::other(format!("no scenario is called {name:?}")))?;
            save(&made, &target)?;
        }
        Command::Fleet {
            dir,
            ranks,
            from,
            count,
            events,
            seed,
        } => {
            let fleet = fleet::Fleet::new(ranks, events, training::Scale::LARGE, seed);
            let end = count.map_or(ranks, |count| ranks.min(from.saturating_add(count)));
            for rank in from..end {
                let path = dir.join(fleet.name(rank));
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                fleet.write(rank, create(&path)?)?;
            }
        }
        Command::Samples { dir } => list(&samples::write_all(&dir)?),
        Command::Fixtures { dir } => list(&fixtures::write_all(&dir)?),
        Command::Text { file, target } => {
            let words = fs::read_to_string(&file).map_err(|error| named(&file, &error))?;
            save(&text::snapshot(&words).map_err(io::Error::other)?, &target)?;
        }
        Command::Shape {
            shape,
            seed,
            target,
        } => save(&scenario::shape(&shape, seed), &target)?,
        Command::Torture { live, seed, target } => save(&scenario::torture(live, seed), &target)?,
    }
    Ok(())
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn create(path: &Path) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::new(
        File::create(path).map_err(|error| named(path, &error))?,
    ))
}

fn save(snapshot: &Snapshot, target: &Target) -> io::Result<()> {
    let options = WriteOptions::new(target.producer).protocol(target.protocol);
    snapshot.write(&options, create(&target.output)?)?;
    Ok(())
}

fn list(paths: &[PathBuf]) {
    for path in paths {
        println!("{}", path.display());
    }
}
