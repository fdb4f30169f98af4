//! `vramscope info`: what a file is, in figures.

mod json;
mod text;

use clap::Args;
use vramscope_core::analysis::facts::{Fact, facts};
use vramscope_core::analysis::live_at::{TopSites, live_at, top_call_sites};
use vramscope_core::analysis::summary::{Summary, summary};
use vramscope_core::model::DeviceIndex;

use crate::arguments::Inputs;
use crate::failure::Failure;
use crate::inputs::{each, files, ranks_part, report_all, summaries};
use crate::output;
use crate::subject::Subject;

/// How many call sites are listed per device.
const SITES: usize = 5;

/// Tell what a snapshot holds: format, version, devices, peaks, gaps
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Print JSON instead of text: schema 1, described by `vramscope man info-json`
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope info snapshot.pickle
  vramscope info run/ --device 0
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
    let files = files(&options.inputs.files)?;
    let is_one = files.len() == 1;
    let answers = each(&files, options.inputs.memory, |_, file| {
        let subject = Subject::load(file, options.inputs.device)?;
        let ranks = if is_one {
            Vec::new()
        } else {
            summaries(&subject)
        };
        Ok((gather(&subject), ranks))
    });
    let (mut infos, mut ranks, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok((info, summaries)) => {
                infos.push(info);
                ranks.extend(summaries);
            }
            Err(failure) => failures.push(failure),
        }
    }
    if !infos.is_empty() {
        let ranks = ranks_part(&ranks);
        if options.json {
            output::print_bytes(json::render(&infos, is_one, ranks.as_ref())?.as_bytes())?;
        } else {
            output::print(&text::render(&infos, ranks.as_ref()))?;
        }
    }
    report_all(failures)
}

fn gather(subject: &Subject) -> Info {
    let Subject {
        snapshot, sites, ..
    } = subject;
    let mut summary = summary(snapshot, subject.histories());
    let is_wanted = |index| subject.devices().any(|device| device.index() == index);
    summary.devices.retain(|device| is_wanted(device.device));
    let peaks = summary.devices.iter().filter_map(|summary| {
        let mut devices = subject.devices();
        let device = devices.find(|device| device.index() == summary.device)?;
        let history = device.history;
        let live = live_at(history, history.peak_moment);
        let top = top_call_sites(history, device.site_of(), live, SITES);
        let labels = top
            .sites
            .iter()
            .map(|total| sites.get(total.site).label.clone())
            .collect();
        Some(PeakSites {
            device: summary.device,
            sites: top,
            labels,
        })
    });
    let peaks = peaks.collect();
    let mut facts = facts(snapshot, subject.histories());
    facts.retain(|fact| fact.device.is_none_or(is_wanted));
    Info {
        file: subject.name.clone(),
        facts,
        peaks,
        summary,
    }
}
