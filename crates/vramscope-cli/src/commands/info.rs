//! `vramscope info`: a summary of a file.

mod parts;
mod text;

use std::path::Path;

use clap::Args;
use vramscope_core::analysis::groups::live_at::{TopSites, live_at, top_call_sites};
use vramscope_core::analysis::report::facts::{Fact, facts};
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::analysis::report::summary::{Summary, summary};
use vramscope_core::fleet::Fleet;
use vramscope_core::model::DeviceIndex;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Source, each, files, ranks_of, ranks_part, report_all};
use crate::output;
use crate::report;
use crate::subject::Subject;

/// The number of call sites listed per device.
const SITES: usize = 5;

/// Show what a snapshot holds: format, version, devices, peaks, gaps
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Print JSON instead of text: schema 3, described by `vramscope man json`
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope info snapshot.pickle
  vramscope info run/ --device 0
  zstd -dc snapshot.pickle.zst | vramscope info -
  vramscope info --json snapshot.pickle | jq '.parts[] | select(.peak_bytes) | [.device, .peak_bytes]'";

/// The answer of `info` about one file.
struct Info {
    file: String,
    /// Of the summary's devices, in their order.
    device_titles: Vec<String>,
    summary: Summary,
    facts: Vec<Fact>,
    /// In the order of the summary's devices.
    peaks: Vec<PeakSites>,
}

/// The verdict on a device, and the call sites and the roles of its peak.
struct PeakSites {
    device: DeviceIndex,
    sites: TopSites,
    roles: PeakRoles,
    verdict: String,
}

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    if let Source::Open { subjects, answer } = source {
        let mut parts = Vec::new();
        for subject in *subjects {
            let subject = subject.narrowed(options.inputs.device)?;
            parts.extend(parts::parts(&gather(&subject)));
        }
        return report::write_json(answer, "info", parts, Show::default());
    }
    let files = files(&options.inputs.files)?;
    let is_one = files.len() == 1;
    let answer = |place, file: &Path| {
        let subject = Subject::load(file, options.inputs.device)?;
        let ranks = (!is_one).then(|| ranks_of(&subject, place));
        Ok((gather(&subject), ranks))
    };
    let (mut infos, mut ranks, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    each(&files, options.inputs.memory, answer, |answers| {
        for answer in answers {
            match answer {
                Ok((info, summaries)) => {
                    infos.push(info);
                    ranks.extend(summaries);
                }
                Err(failure) => failures.push(failure),
            }
        }
    });
    if !infos.is_empty() {
        let ranks = ranks_part(&Fleet::of_all(ranks));
        let printed = if options.json {
            let parts = infos.iter().flat_map(parts::parts).chain(ranks);
            let show = Show {
                json: true,
                ..Show::default()
            };
            report::print("info", parts, show)
        } else {
            output::styled(|out| text::write(out, &infos, ranks.as_ref()))
        };
        failures.extend(printed.err());
    }
    report_all(failures)
}

fn gather(subject: &Subject) -> Info {
    let mut summary = summary(subject);
    let is_wanted = |index| subject.devices().any(|device| device.index() == index);
    summary.devices.retain(|device| is_wanted(device.device));
    let peaks = summary.devices.iter().filter_map(|summary| {
        let mut devices = subject.devices();
        let device = devices.find(|device| device.index() == summary.device)?;
        let history = device.history;
        let live = live_at(history, history.peak_moment);
        let overview = overview(*device, 0);
        Some(PeakSites {
            device: summary.device,
            sites: top_call_sites(*device, live, SITES),
            verdict: overview.verdict(),
            roles: overview.roles,
        })
    });
    let peaks = peaks.collect();
    let mut facts = facts(subject);
    facts.retain(|fact| fact.device.is_none_or(is_wanted));
    let titles = summary.devices.iter();
    let titles = titles.map(|device| subject.snapshot.device_title(device.device));
    Info {
        file: subject.name.clone(),
        device_titles: titles.collect(),
        facts,
        peaks,
        summary,
    }
}
