//! The subcommands, one file each, and their common options.

pub(crate) mod convert;
#[cfg(target_os = "linux")]
pub(crate) mod dump;
#[cfg(target_os = "linux")]
pub(crate) mod live;
#[cfg(target_os = "linux")]
pub(crate) mod run;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use vramscope_core::model::Action;
use vramscope_record::model::{self, RecordingOptions};

/// Options about the content of the snapshot, common to all commands.
#[derive(Args, Clone)]
pub(crate) struct Contents {
    /// How much history to include, as torch's `enabled`: `state` is only the memory held at the end, `alloc` adds
    /// all events with the stacks of allocations, `all` also the stacks of frees
    #[arg(long, value_enum, default_value_t = Enabled::All)]
    pub(crate) enabled: Enabled,
    /// Keep only the newest N trace entries of each device, as torch's `max_entries`. Default: all
    #[arg(long, value_name = "N")]
    pub(crate) max_entries: Option<usize>,
    /// Only the memory of device N
    #[arg(long, value_name = "N")]
    device: Option<u32>,
    /// Leave out trace entries with these actions, as torch's `skip_actions`
    #[arg(long, value_name = "ACTION,…", value_delimiter = ',', value_parser = actions())]
    skip_actions: Vec<String>,
    /// Also look here for the program's executables, libraries and debug information. Can be given several times
    #[arg(long = "debug-dir", value_name = "DIR")]
    pub(crate) debug_folders: Vec<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Enabled {
    State,
    Alloc,
    All,
}

impl Contents {
    /// The options for reading a log.
    pub(crate) fn recording(&self) -> RecordingOptions {
        let skipped = self.skip_actions.iter();
        let action = |name: &String| Action::known().iter().find(|(_, known)| known == name);
        RecordingOptions {
            enabled: match self.enabled {
                Enabled::State => model::Enabled::State,
                Enabled::Alloc => model::Enabled::Alloc,
                Enabled::All => model::Enabled::All,
            },
            max_entries: self.max_entries,
            skip_actions: skipped
                .filter_map(action)
                .map(|&(action, _)| action)
                .collect(),
            device: self.device,
        }
    }
}

fn actions() -> PossibleValuesParser {
    Action::known().iter().map(|&(_, name)| name).into()
}
