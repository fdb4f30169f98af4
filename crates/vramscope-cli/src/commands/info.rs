//! `vramscope info`: what a file is, in figures.

mod json;
mod text;

use std::path::PathBuf;

use clap::Args;
use vramscope_core::analysis::call_sites::CallSites;
use vramscope_core::analysis::facts::{Fact, facts};
use vramscope_core::analysis::frames::FrameClasses;
use vramscope_core::analysis::live_at::{TopSites, live_at, top_call_sites};
use vramscope_core::analysis::summary::{Summary, summary};
use vramscope_core::model::DeviceIndex;

use crate::failure::Failure;
use crate::input::{Loaded, load};
use crate::output;

/// How many call sites are listed per device.
const SITES: usize = 5;

/// Tell what a snapshot holds: format, version, devices, peaks, gaps
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The snapshot; `-` reads standard input
    file: PathBuf,
    /// Print JSON instead of text: schema 1, described in crates/vramscope-cli/info-json.md
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope info snapshot.pickle
  zstd -dc snapshot.pickle.zst | vramscope info -
  vramscope info --json snapshot.pickle | jq '.summary.devices[] | [.device, .peak.active_bytes]'";

/// All that `info` tells.
struct Info {
    file: String,
    summary: Summary,
    facts: Vec<Fact>,
    /// In the order of the summary's devices.
    peaks: Vec<PeakSites>,
}

/// Whose memory the peak of a device is.
struct PeakSites {
    device: DeviceIndex,
    sites: TopSites,
    /// The labels of `sites.sites`.
    labels: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// When the file cannot be read or the result cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let loaded = load(&options.file)?;
    let info = gather(&loaded);
    let text = if options.json {
        json::render(&info)?
    } else {
        text::render(&info)
    };
    output::print(&text)
}

fn gather(loaded: &Loaded) -> Info {
    let Loaded {
        name,
        snapshot,
        histories,
    } = loaded;
    let classes = FrameClasses::of(snapshot);
    let sites = CallSites::of(snapshot, &classes, histories);
    let summary = summary(snapshot, histories);
    let peaks = summary.devices.iter().filter_map(|device| {
        let history = histories
            .iter()
            .find(|history| history.device == device.device)?;
        let column = sites.of_allocations(snapshot, history);
        let live = live_at(history, history.peak_moment);
        let top = top_call_sites(history, &column, live, SITES);
        let labels = top
            .sites
            .iter()
            .map(|total| sites.get(total.site).label.clone())
            .collect();
        Some(PeakSites {
            device: device.device,
            sites: top,
            labels,
        })
    });
    let peaks = peaks.collect();
    Info {
        file: name.clone(),
        facts: facts(snapshot, histories),
        peaks,
        summary,
    }
}
