//! Of several files the one that an answer is about, and how it compares with the others.

use serde::Serialize;
use vramscope_core::analysis::compare::changes::SettingChange;
use vramscope_core::analysis::report::brief::{Brief, Cause, CauseClass};
use vramscope_core::fleet::questions::{diff, failed_cohort, median_rank, odd, ooms, ranks};
use vramscope_core::fleet::{Detail, Fleet, Place, Rank, Source};
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::Bytes;

use crate::subject::Subject;

/// A file that was read.
pub(super) struct Read {
    pub(super) name: String,
    /// Its place among the files that are named.
    pub(super) index: usize,
    /// Its devices.
    fleet: Fleet,
    /// The devices on which a request failed, with the time of the first failure if that is known.
    failed: Vec<(DeviceIndex, Option<i64>)>,
    /// The file, if it is kept.
    pub(super) subject: Option<Subject>,
}

impl Read {
    pub(super) fn of(subject: Subject, index: usize, place: &Place, is_kept: bool) -> Self {
        let failed = subject.devices().filter_map(|device| {
            let first = *device.failed_requests().first()?;
            Some((device.index(), device.history.moment_start_us.get(first)))
        });
        let source = Source {
            path: subject.name.clone(),
            ..Source::default()
        };
        let devices = subject.devices().map(|device| *device);
        Self {
            name: subject.name.clone(),
            index,
            fleet: Fleet::of(place, &source, devices, Detail::Peak),
            failed: failed.collect(),
            subject: is_kept.then_some(subject),
        }
    }

    /// When a request failed first on a device; without a time it comes last. `None` if none failed.
    fn failed_at(&self, device: DeviceIndex) -> Option<(bool, Option<i64>)> {
        let mut failed = self.failed.iter();
        let &(_, time) = failed.find(|(of, _)| *of == device)?;
        Some((time.is_none(), time))
    }
}

/// The device that an answer is about, among those of the same job and step.
pub(super) struct Chosen {
    fleet: Fleet,
    /// Its row in `fleet`.
    row: usize,
    /// Number of files, of all jobs and steps.
    files: usize,
}

impl Chosen {
    /// The device on which a request failed first, or else the one that stands out, or else the one with the highest
    /// peak. `None` if nothing happened on any device.
    pub(super) fn of(reads: &[Read]) -> Option<Self> {
        let all = Fleet::of_all(reads.iter().map(|read| read.fleet.clone()));
        let first = |fleet: &Fleet| {
            let failed = fleet.ranks.iter().enumerate().filter_map(|(row, rank)| {
                let mut reads = reads.iter();
                let read = reads.find(|read| read.name == rank.source.path)?;
                Some((read.failed_at(rank.device)?, row))
            });
            failed.min().map(|(_, row)| row)
        };
        Self::by(&all, first, reads.len())
    }

    /// The same of the ranks of a dataset.
    pub(super) fn in_dataset(all: &Fleet) -> Option<Self> {
        let first = |fleet: &Fleet| ooms(fleet).ranks.first().copied();
        Self::by(all, first, files(&all.ranks).count())
    }

    fn by(
        all: &Fleet,
        first_failed: impl FnOnce(&Fleet) -> Option<usize>,
        files: usize,
    ) -> Option<Self> {
        let fleet = all.cohort(failed_cohort(&all.cohorts())?);
        let odd = || (files > 1).then(|| odd_one(&fleet)).flatten();
        let highest = || {
            let rows = 0..fleet.ranks.len();
            rows.rev().max_by_key(|&row| fleet.ranks[row].peak_bytes)
        };
        let row = first_failed(&fleet).or_else(odd).or_else(highest)?;
        Some(Self { fleet, row, files })
    }

    fn rank(&self) -> &Rank {
        &self.fleet.ranks[self.row]
    }

    /// The file's name.
    pub(super) fn file(&self) -> &str {
        &self.rank().source.path
    }

    pub(super) fn device(&self) -> DeviceIndex {
        self.rank().device
    }

    /// How it compares with the others; `None` if there is only one file.
    pub(super) fn among(&self) -> Option<Among> {
        let ranks = &self.fleet.ranks;
        let all: Vec<usize> = (0..ranks.len()).collect();
        let median = &ranks[median_rank(&self.fleet, &all)?];
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

    /// If it is the odd one, makes that its first cause, or the next after that of a failure.
    pub(super) fn tell_odd(&self, brief: &mut Brief) {
        let Some(cause) = self.odd_cause().filter(|_| self.files > 1) else {
            return;
        };
        brief
            .causes
            .retain(|cause| cause.class != CauseClass::OddRank);
        let place = usize::from(brief.failed.is_some()).min(brief.causes.len());
        brief.causes.insert(place, cause);
    }

    fn odd_cause(&self) -> Option<Cause> {
        let found = ranks(&self.fleet)?;
        let mut outliers = found.outliers.iter();
        let Some(outlier) = outliers.find(|outlier| outlier.rank == self.row) else {
            let settings = odd_settings(&self.fleet, self.row)?;
            return Some(self.cause(0, &settings, String::new(), String::new()));
        };
        let most = diff(&self.fleet, found.peaks.median, self.row).sites;
        let most = most.into_iter().next();
        let (seen, place) = most.map_or_else(Default::default, |site| {
            let change = &site.change;
            let (here, there) = (Bytes(change.after.bytes), Bytes(change.before.bytes));
            let seen = format!("The largest difference: {here} here, {there} there.");
            (seen, site.label)
        });
        let by = format!(
            "{}: {}, the median {}",
            outlier.measure.name(),
            Bytes(outlier.bytes),
            Bytes(outlier.median_bytes)
        );
        let bytes = outlier.bytes.abs_diff(outlier.median_bytes);
        Some(self.cause(bytes, &by, seen, place))
    }

    fn cause(&self, bytes: u64, by: &str, seen: String, place: String) -> Cause {
        let (name, count) = (self.file(), self.fleet.ranks.len());
        Cause {
            class: CauseClass::OddRank,
            bytes,
            title: format!("{name} is the odd one of {count} ranks by its {by}"),
            seen,
            place,
            filter: String::new(),
            advice: String::new(),
        }
    }
}

/// The files of ranks, which are in order.
fn files<'a>(ranks: impl IntoIterator<Item = &'a Rank>) -> impl Iterator<Item = &'a str> {
    let mut before = None;
    ranks.into_iter().filter_map(move |rank| {
        let file = (&rank.place, rank.source.path.as_str());
        (before.replace(file) != Some(file)).then_some(file.1)
    })
}

/// The rank that stands out by its memory, or else by its settings.
fn odd_one(fleet: &Fleet) -> Option<usize> {
    let outlier = ranks(fleet).and_then(|found| found.outliers.first().map(|odd| odd.rank));
    outlier.or_else(|| {
        let odd = odd(fleet)?.ranks.into_iter();
        let mut of_settings = odd.filter(|odd| !odd.settings.is_empty());
        of_settings.next().map(|odd| odd.rank)
    })
}

/// The settings of a rank that differ from those of most, in words.
fn odd_settings(fleet: &Fleet, row: usize) -> Option<String> {
    const NAMED: usize = 3;
    let odd = odd(fleet)?.ranks.into_iter().find(|odd| odd.rank == row)?;
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
    (!named.is_empty()).then(|| format!("settings: {}", named.join("; ")))
}

/// The file among others of its job and step.
#[derive(Serialize)]
pub(super) struct Among {
    pub(super) job: Option<String>,
    pub(super) step: Option<u64>,
    pub(super) files: usize,
    pub(super) failed: usize,
    /// Number of files of other jobs and steps, and of those in which nothing happened.
    pub(super) left_out: usize,
    pub(super) median_file: String,
    pub(super) median_peak_bytes: u64,
}
