//! Separates annotations by domain and by the thread or stream that orders them, and names the lanes.

use std::collections::{BTreeMap, HashMap};

use super::{LaneRange, MAX_LANES, OTHER_THREADS, Placed};
use crate::Snapshot;
use crate::analysis::time::annotations::NamedRange;
use crate::ids::StringId;
use crate::model::Streams;

/// The owner of annotations that are in order among themselves.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Owner {
    /// A thread, by its Linux id.
    Thread(u64),
    /// A stream, by its handle.
    Stream(i64),
    Unknown,
}

impl Owner {
    pub(super) fn of(range: &NamedRange) -> Self {
        let thread = || range.thread.map_or(Self::Unknown, Self::Thread);
        range.stream.map_or_else(thread, Self::Stream)
    }
}

/// The names of a captured program's threads by Linux id, from `capture.threads` at the top level.
#[must_use]
pub fn thread_names(snapshot: &Snapshot) -> BTreeMap<u64, &str> {
    let threads = snapshot
        .extras
        .get("capture")
        .and_then(|it| it.get("threads"));
    let threads = threads.and_then(serde_json::Value::as_object);
    let named = threads.into_iter().flatten();
    let named = named.filter_map(|(id, name)| Some((id.parse().ok()?, name.as_str()?)));
    // Not collected: that would compile a sort only for these few.
    let mut names = BTreeMap::new();
    names.extend(named.filter(|(_, name): &(u64, &str)| !name.is_empty()));
    names
}

/// The ranges by owner and domain, each group with its name, by first range.
pub(super) fn apart(snapshot: &Snapshot, ranges: &[Placed]) -> Vec<(String, Vec<LaneRange>)> {
    let mut places = HashMap::new();
    let mut lanes: Vec<(String, Vec<LaneRange>)> = Vec::new();
    let names = thread_names(snapshot);
    let streams = snapshot.streams();
    for &(of, range) in ranges {
        let new = places.len();
        // Threads beyond the limit share the last lane.
        let place = (*places.entry(of).or_insert(new)).min(MAX_LANES - 1);
        match lanes.get_mut(place) {
            Some((_, lane)) => lane.push(range),
            None => lanes.push((name(snapshot, &names, &streams, of), vec![range])),
        }
    }
    if places.len() > MAX_LANES
        && let Some((name, _)) = lanes.last_mut()
    {
        OTHER_THREADS.clone_into(name);
    }
    lanes
}

fn name(
    snapshot: &Snapshot,
    names: &BTreeMap<u64, &str>,
    streams: &Streams,
    (owner, domain): (Owner, Option<StringId>),
) -> String {
    let thread = |id: u64| match names.get(&id) {
        // Unnamed threads have the program's name; their ids distinguish them.
        Some(name) if names.values().filter(|other| *other == name).count() > 1 => {
            format!("{name} {id}")
        }
        Some(name) => (*name).to_owned(),
        None => id.to_string(),
    };
    let owner = match owner {
        Owner::Thread(id) => Some(thread(id)),
        Owner::Stream(handle) => Some(streams.name(handle)),
        Owner::Unknown => None,
    };
    let domain = domain.map(|text| snapshot.strings.get(text).to_owned());
    let parts: Vec<_> = domain.into_iter().chain(owner).collect();
    parts.join(" · ")
}
