//! The one of several files that an answer is about, and how it compares with the others.

use std::path::Path;

use serde::Serialize;
use vramscope_core::analysis::compare::changes::SettingChange;
use vramscope_core::analysis::report::causes::{Cause, CauseClass};
use vramscope_core::fleet::questions::{
    self, Odd, OddRank, OddValue, diff, failed_cohort, odd, ooms,
};
use vramscope_core::fleet::statistic::Measure;
use vramscope_core::fleet::{Detail, Fleet, Place, Rank, Source};
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::{Bytes, Count};

use crate::input::display_name;
use crate::subject::Subject;

/// A file that was read.
pub(super) struct Read {
    pub(super) name: String,
    /// Its index among the named files.
    pub(super) index: usize,
    fleet: Fleet,
    /// The file, if it was kept in memory.
    pub(super) subject: Option<Subject>,
}

impl Read {
    pub(super) fn of(subject: Subject, index: usize, place: &Place, is_kept: bool) -> Self {
        let source = Source {
            path: subject.name.clone(),
            ..Source::default()
        };
        let devices = subject.devices().map(|device| *device);
        Self {
            name: subject.name.clone(),
            index,
            fleet: Fleet::of(place, &source, devices, Detail::All),
            subject: is_kept.then_some(subject),
        }
    }

    /// Whether nothing happened on any device.
    pub(super) fn is_idle(&self) -> bool {
        self.fleet.ranks.is_empty()
    }
}

/// The device that an answer is about, among those of the same job and step.
pub(super) struct Chosen {
    fleet: Fleet,
    /// Its row in `fleet`.
    row: usize,
    /// How it is odd, if it is.
    odd: Option<OddRank>,
    /// The rank with the median peak.
    median: usize,
    /// Number of files, of all jobs and steps.
    files: usize,
}

impl Chosen {
    pub(super) fn of_files(reads: &[Read]) -> Option<Self> {
        Self::of(&Fleet::of_all(reads.iter().map(|read| read.fleet.clone())))
    }

    /// The device on which a request failed first, or else the one that stands out, or else the one with the highest
    /// peak. `None` if nothing happened on any device.
    pub(super) fn of(all: &Fleet) -> Option<Self> {
        let fleet = all.cohort(failed_cohort(&all.cohorts())?);
        let files = files(&all.ranks).count();
        // Devices of one file are not ranks.
        let Odd { peaks, ranks } = odd(&fleet)?;
        let odd = ranks.into_iter().filter(|_| files > 1);
        let outlier = || {
            let found = questions::ranks(&fleet).filter(|_| files > 1)?;
            found.outliers.first().map(|outlier| outlier.rank)
        };
        let failed = ooms(&fleet).ranks.first().copied();
        let odd: Vec<OddRank> = odd.collect();
        let row = failed
            .or_else(outlier)
            .or_else(|| odd.first().map(|odd| odd.rank))
            .unwrap_or_else(|| peaks.highest());
        Some(Self {
            odd: odd.into_iter().find(|odd| odd.rank == row),
            row,
            median: peaks.median,
            fleet,
            files,
        })
    }

    fn rank(&self) -> &Rank {
        &self.fleet.ranks[self.row]
    }

    /// The file's name.
    pub(super) fn file(&self) -> &str {
        &self.rank().source.path
    }

    /// Makes file names relative to the user's folder. `root`: the folder they are relative to now.
    pub(super) fn name_from(&mut self, root: &Path) {
        for rank in &mut self.fleet.ranks {
            rank.source.path = display_name(&root.join(&rank.source.path));
        }
    }

    /// Size and date of the file when it was read for a dataset.
    pub(super) fn packed(&self) -> (u64, Option<i64>) {
        let source = &self.rank().source;
        (source.bytes, source.modified_us)
    }

    pub(super) fn device(&self) -> DeviceIndex {
        self.rank().device
    }

    /// How the file compares with the others; `None` if there is only one.
    pub(super) fn among(&self) -> Option<Among> {
        let ranks = &self.fleet.ranks;
        let median = &ranks[self.median];
        let count = files(ranks).count();
        let Place { job, step, .. } = &self.rank().place;
        (self.files > 1).then(|| Among {
            job: Some(job.clone()).filter(|job| !job.is_empty()),
            step: *step,
            files: count,
            failed: files(ranks.iter().filter(|rank| rank.has_failed())).count(),
            left_out: self.files.saturating_sub(count),
            median_file: median.source.path.clone(),
            median_peak_bytes: median.peak_bytes,
        })
    }

    /// If the file is odd, makes that its first cause, or the second after a failure. Returns the verdict if it comes
    /// first.
    pub(super) fn tell_odd(&self, causes: &mut Vec<Cause>, has_failed: bool) -> Option<String> {
        let cause = self.odd.as_ref().map(|odd| self.odd_cause(odd))?;
        causes.retain(|cause| cause.class != CauseClass::OddRank);
        let place = usize::from(has_failed).min(causes.len());
        let verdict = (place == 0).then(|| cause.sentence());
        causes.insert(place, cause);
        verdict
    }

    fn odd_cause(&self, odd: &OddRank) -> Cause {
        // The most important measure, as the others usually follow from it.
        let value = odd.values.iter().min_by_key(|value| value.measure);
        let by = value.map_or_else(|| settings(odd), in_words);
        let is_bytes = value.is_some_and(|value| value.measure.is_bytes());
        let most = diff(&self.fleet, self.median, self.row).sites;
        let most = most.into_iter().next().filter(|_| is_bytes);
        let (seen, place) = most.map_or_else(Default::default, |site| {
            let change = &site.change;
            let (here, there) = (Bytes(change.after.bytes), Bytes(change.before.bytes));
            let seen = format!("The largest difference: {here} here, {there} there.");
            (seen, site.label)
        });
        let (name, count) = (self.file(), self.fleet.ranks.len());
        let bytes = value.filter(|_| is_bytes);
        let bytes = bytes.map_or(0, |value| value.value.abs_diff(value.usual.median));
        let title = format!("{name} is odd among {count} ranks by its {by}");
        Cause {
            seen,
            place,
            ..Cause::new(CauseClass::OddRank, bytes, title)
        }
    }
}

/// The files of sorted ranks.
fn files<'a>(ranks: impl IntoIterator<Item = &'a Rank>) -> impl Iterator<Item = &'a str> {
    let mut before = None;
    ranks.into_iter().filter_map(move |rank| {
        let file = (&rank.place, rank.source.path.as_str());
        (before.replace(file) != Some(file)).then_some(file.1)
    })
}

/// A value that stands out, and what is usual.
fn in_words(odd: &OddValue) -> String {
    let told = |value: u64| match odd.measure {
        Measure::PeakTime => format!("after {:.0} % of its recording", value as f64 / 10.0),
        measure if measure.is_bytes() => Bytes(value).to_string(),
        _ => Count(value).to_string(),
    };
    format!(
        "{}: {}, the median {}",
        odd.measure.name(),
        told(odd.value),
        told(odd.usual.median)
    )
}

/// A rank's settings that differ from those of most ranks.
fn settings(odd: &OddRank) -> String {
    const NAMED: usize = 3;
    let named = odd.settings.iter().take(NAMED).map(|setting| {
        let SettingChange {
            name,
            before,
            after,
        } = setting;
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "not set".to_owned());
        format!("{name} is {}, of most {}", value(after), value(before))
    });
    let mut named: Vec<String> = named.collect();
    let more = odd.setting_count.saturating_sub(named.len() as u64);
    if more > 0 {
        named.push(format!("{more} more"));
    }
    format!("settings: {}", named.join("; "))
}

/// How the file compares with others of its job and step.
#[derive(Serialize)]
pub(super) struct Among {
    pub(super) job: Option<String>,
    pub(super) step: Option<u64>,
    pub(super) files: usize,
    pub(super) failed: usize,
    /// Number of files of other jobs and steps.
    pub(super) left_out: usize,
    pub(super) median_file: String,
    pub(super) median_peak_bytes: u64,
}
