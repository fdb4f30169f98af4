//! The ranks for a question across ranks: from a packed overview, or from snapshots that are read for it.

use std::fs;
use std::io::Read as _;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clap::Args;
use regex::Regex;
use vramscope_core::Limits;
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::container::FileKind;
use vramscope_core::fleet::names::{Named, named, places};
use vramscope_core::fleet::{Detail, Fleet, Place, RankFrom, Source, Unreadable, decode};

use super::{each, files_once, report_all};
use crate::arguments::{Size, parse_size};
use crate::failure::Failure;
use crate::guarded::{self, OVERVIEW, OVERVIEW_BYTES};
use crate::harmless::quoted;
use crate::input::{display_name, is_stdin};
use crate::subject::Subject;

/// Where ranks are read from.
#[derive(Args)]
pub(crate) struct Ranks {
    /// Datasets, overviews (.vset), snapshots, or folders of them
    #[arg(required = true, value_name = "RANKS")]
    pub(crate) files: Vec<PathBuf>,
    /// Extract the rank from the names of snapshots by a regular expression: from its first group, or from groups named
    /// rank, local_rank, step, host and job
    #[arg(long, value_name = "REGEX", value_parser = RankNames::parse)]
    pub(crate) rank_from: Option<RankNames>,
    /// Memory limit for files that are read at once
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4GiB")]
    pub(crate) memory: Size,
}

/// The user's expression for the names of snapshots.
#[derive(Clone, Debug)]
pub(crate) struct RankNames(Regex);

impl RankNames {
    /// The names that groups may have.
    const GROUPS: [&str; 5] = ["rank", "local_rank", "step", "host", "job"];

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let regex = Regex::new(text).map_err(|error| error.to_string())?;
        let mut names = regex.capture_names().flatten();
        if let Some(other) = names.find(|name| !Self::GROUPS.contains(name)) {
            let known = Self::GROUPS.join(", ");
            return Err(format!("no group can be named {other}, only {known}"));
        }
        match regex.captures_len() {
            1 => Err("it has no group, such as in 'worker([0-9]+)'".to_owned()),
            _ => Ok(Self(regex)),
        }
    }

    /// Whether it matches a path.
    pub(crate) fn fits(&self, path: &str) -> bool {
        self.0.is_match(path)
    }

    /// # Errors
    /// When it matches none of these paths, or captures something else than a number.
    pub(crate) fn check(&self, paths: &[&str]) -> Result<(), Failure> {
        if !paths.iter().any(|path| self.fits(path)) {
            return Err(Failure::Usage(match paths.first() {
                Some(path) => format!("--rank-from matches no snapshot's name, such as {path}"),
                None => {
                    "--rank-from is about names of snapshots, and a dataset has its ranks already"
                        .to_owned()
                }
            }));
        }
        let groups = ["rank", "local_rank", "step"];
        let mut all = paths
            .iter()
            .flat_map(|path| groups.map(|group| (path, group)));
        let wrong = all.find_map(|(path, group)| {
            let text = self.group(path, group)?;
            let is_number = match group {
                "step" => text.parse::<u64>().is_ok(),
                _ => text.parse::<u32>().is_ok(),
            };
            (!is_number).then_some((path, group, text))
        });
        wrong.map_or(Ok(()), |(path, group, text)| {
            Err(Failure::Usage(format!(
                "--rank-from takes '{text}' of {path} for its {group}, which is no number"
            )))
        })
    }

    /// What a group captures in a path. The first one is the rank, if no group has a name.
    fn group<'p>(&self, path: &'p str, name: &str) -> Option<&'p str> {
        let found = self.0.captures(path)?;
        let has_names = self.0.capture_names().flatten().next().is_some();
        let group = match has_names {
            true => found.name(name),
            false => found.get(1).filter(|_| name == "rank"),
        };
        group.map(|group| group.as_str())
    }

    /// What the name of a snapshot says, and how its rank is known.
    pub(crate) fn tell(names: Option<&Self>, path: &str) -> (Named, RankFrom) {
        let usual = named(path);
        let group = |name: &str| names.and_then(|names| names.group(path, name));
        let number = |name: &str| group(name).and_then(|text| text.parse().ok());
        let rank = number("rank");
        let said = Named {
            rank: rank.or(usual.rank),
            local_rank: number("local_rank").or(usual.local_rank),
            step: group("step")
                .and_then(|text| text.parse().ok())
                .or(usual.step),
            host: group("host").map_or(usual.host, str::to_owned),
            job: group("job").map_or(usual.job, str::to_owned),
            process: usual.process,
            producer: usual.producer,
        };
        (said, rank.map_or(RankFrom::Name, |_| RankFrom::Given))
    }
}

/// The ranks that were read.
pub(crate) struct Read {
    pub(crate) fleet: Fleet,
    /// Why others could not be read.
    pub(crate) failures: Vec<Failure>,
    /// Whether one of several sources is an overview that leaves out call sites which others may list.
    pub(crate) is_mixed: bool,
}

/// Reads ranks, each file once. Unreadable ones among several are left out, noted in the fleet, and returned as
/// failures.
///
/// # Errors
/// When nothing can be read.
pub(crate) fn fleet(ranks: &Ranks) -> Result<Read, Failure> {
    let (mut fleets, mut others, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for path in files_once(&ranks.files)? {
        match overview(&path) {
            Ok(Some(fleet)) => fleets.push(fleet),
            Ok(None) => others.push(path),
            Err(failure) => failures.push(failure),
        }
    }
    let names: Vec<String> = others.iter().map(|file| display_name(file)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if let Some(from) = &ranks.rank_from {
        from.check(&names)?;
    }
    let places = places(&names, |name| {
        RankNames::tell(ranks.rank_from.as_ref(), name)
    });
    let work = |index: usize, file: &Path| summary(file, &places[index]);
    let is_short = |fleet: &Fleet| fleet.ranks.iter().any(|rank| rank.other_sites.count > 0);
    let is_mixed = fleets.len() + others.len() > 1 && fleets.iter().any(is_short);
    each(&others, ranks.memory, work, |read| {
        for (fleet, failure) in read {
            fleets.push(fleet);
            failures.extend(failure);
        }
    });
    let fleet = Fleet::of_all(fleets);
    let mut failures = bounded(failures);
    if fleet.ranks.is_empty() {
        report_all(mem::take(&mut failures))?;
    }
    Ok(Read {
        fleet,
        failures,
        is_mixed,
    })
}

/// The first failures, and the number of others: nobody reads thousands.
pub(crate) fn bounded(mut failures: Vec<Failure>) -> Vec<Failure> {
    const TOLD: usize = 10;
    let others = failures.len().saturating_sub(TOLD);
    if others > 0 {
        failures.truncate(TOLD);
        let others = counted(others as u64, "further snapshot");
        failures.push(Failure::Input(format!("{others} could not be read")));
    }
    failures
}

/// The overview that a path names; `None` if it is something else.
pub(crate) fn overview(path: &Path) -> Result<Option<Fleet>, Failure> {
    if is_stdin(path) {
        return Ok(None);
    }
    let mut head = Vec::new();
    // An unreadable file fails later, when read as a snapshot; a pipe can be read only once.
    let read = guarded::open(path).and_then(|file| file.take(16).read_to_end(&mut head));
    if read.is_err() || FileKind::of(&head) != FileKind::Fleet {
        return Ok(None);
    }
    let bytes = guarded::read(path, OVERVIEW_BYTES);
    let bytes = bytes.map_err(|error| Failure::unread(path, error))?;
    let fleet = decode(&bytes, &Limits::default()).map_err(|error| {
        let name = display_name(path);
        let again = match path.parent().filter(|_| path.ends_with(OVERVIEW)) {
            Some(folder) => quoted(&folder.display().to_string()),
            None => "DATASET".to_owned(),
        };
        Failure::Input(format!("{name}: {error}")).followed_by([format!(
            "If it was copied, copy it again. In its dataset it is made anew, of what is packed there, by `vramscope fleet pack \
             SNAPSHOTS -o {again}`."
        )])
    })?;
    Ok(Some(fleet))
}

/// Summarises a snapshot. One that cannot be read is marked as such in the fleet.
fn summary(file: &Path, place: &Place) -> (Fleet, Option<Failure>) {
    let source = source(file);
    match Subject::load(file, None) {
        Ok(subject) => {
            let devices = subject.devices().map(|device| *device);
            (Fleet::of(place, &source, devices, Detail::All), None)
        }
        Err(failure) => {
            let unreadable = Unreadable {
                source,
                why: failure.why(),
            };
            let fleet = Fleet {
                unreadable: vec![unreadable],
                ..Fleet::default()
            };
            (fleet, Some(failure))
        }
    }
}

/// A file under the name that the user gave it.
pub(crate) fn source(file: &Path) -> Source {
    let metadata = fs::metadata(file).ok().filter(|_| !is_stdin(file));
    let modified = metadata
        .as_ref()
        .and_then(|metadata| metadata.modified().ok());
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Source {
        path: display_name(file),
        bytes: metadata.map_or(0, |metadata| metadata.len()),
        modified_us: since.and_then(|since| i64::try_from(since.as_micros()).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(regex: &str, path: &str) -> (Option<u32>, Option<u64>, String, RankFrom) {
        let names = RankNames::parse(regex).unwrap();
        let (said, from) = RankNames::tell(Some(&names), path);
        (said.rank, said.step, said.host, from)
    }

    #[test]
    fn the_users_expression_comes_first() {
        let none = String::new;
        assert_eq!(
            told("w([0-9]+)", "w7.pickle"),
            (Some(7), None, none(), RankFrom::Given)
        );
        // Anything that it does not capture is as usual.
        assert_eq!(
            told("w([0-9]+)", "step_3/rank4.pickle"),
            (Some(4), Some(3), none(), RankFrom::Name)
        );
        assert_eq!(
            told(
                "(?<host>h[0-9])-(?<rank>[0-9]+)-s(?<step>[0-9]+)",
                "h2-5-s90.pickle"
            ),
            (Some(5), Some(90), "h2".to_owned(), RankFrom::Given)
        );
        assert_eq!(
            told("s(?<step>[0-9]+)", "s90/rank1.pickle"),
            (Some(1), Some(90), none(), RankFrom::Name)
        );
        // The usual ways to write a number.
        assert_eq!(
            told(r"w(\d+)", "w7.pickle"),
            (Some(7), None, none(), RankFrom::Given)
        );
        assert!(RankNames::parse("rank").is_err());
        assert!(RankNames::parse("(").is_err());
    }

    #[test]
    fn an_expression_that_is_of_no_use_is_refused() {
        let misspelt = RankNames::parse("(?<rnak>[0-9]+)").unwrap_err();
        assert!(misspelt.contains("rnak") && misspelt.contains("local_rank"));
        let why = |regex: &str, paths: &[&str]| {
            let checked = RankNames::parse(regex).unwrap().check(paths);
            checked.map_err(|failure| (failure.is_usage(), failure.to_string()))
        };
        let (is_usage, text) = why("w([0-9]+)", &["a.pickle", "b.pickle"]).unwrap_err();
        assert!(is_usage && text.contains("such as a.pickle"), "{text}");
        let (is_usage, text) = why("(w[0-9]+)", &["w1.pickle"]).unwrap_err();
        assert!(is_usage && text.contains("'w1' of w1.pickle"), "{text}");
        assert!(why("w([0-9]+)", &[]).is_err());
        // A path that it does not match keeps its usual name.
        assert_eq!(why("w([0-9]+)", &["w1.pickle", "rank2.pickle"]), Ok(()));
        assert_eq!(why("(?<host>h.)", &["h1/rank2.pickle"]), Ok(()));
    }

    #[test]
    fn of_many_failures_the_first_are_told() {
        let failures = |count: usize| {
            let each = (0..count).map(|number| Failure::Input(number.to_string()));
            bounded(each.collect())
        };
        assert_eq!(failures(10).len(), 10);
        let told = failures(1000);
        assert_eq!(told.len(), 11);
        let last = told.last().unwrap().to_string();
        assert_eq!(last, "990 further snapshots could not be read");
    }
}
