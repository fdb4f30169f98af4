//! A snapshot's place in its job, from the name of its file.
//!
//! Producers name files differently ([`PRODUCERS`]). A name that fits none of them is searched for common words such as
//! `rank3`; so are the folders, for what the name leaves open. Ranks that appear in no name are numbered in the order of
//! names.

mod pattern;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet};

use super::model::{Place, RankFrom};
use crate::sorting::{SortFew, natural};
use pattern::{Field, matches};

pub use self::words::without_processes;

/// The content of a name. Missing fields are `None` or empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Named {
    /// The number of the process in the job.
    pub rank: Option<u32>,
    /// The number of the process on its host.
    pub local_rank: Option<u32>,
    /// The step after which the snapshot was taken.
    pub step: Option<u64>,
    /// The host.
    pub host: String,
    /// The job.
    pub job: String,
    /// The process id, if the word `pid` precedes it.
    pub process: Option<u32>,
    /// The program that uses such names, as in [`PRODUCERS`].
    pub producer: &'static str,
}

/// How a producer names the files of ranks.
#[derive(Clone, Copy, Debug)]
pub struct Producer {
    /// The program.
    pub name: &'static str,
    /// The end of the path without the file's extension. `{rank}` and `{step}` stand for numbers, `{pid}` and `{time}` for
    /// numbers that identify no place, and `{any}` for any text, even an empty one.
    pub pattern: &'static str,
    /// Where this is documented.
    pub source: &'static str,
    /// A real name.
    pub example: &'static str,
}

const fn producer(
    name: &'static str,
    pattern: &'static str,
    example: &'static str,
    source: &'static str,
) -> Producer {
    Producer {
        name,
        pattern,
        source,
        example,
    }
}

/// The producers with known names. The first pattern that fits is taken.
pub const PRODUCERS: [Producer; 21] = [
    producer(
        "torchtitan",
        "iteration_{step}/rank{rank}_memory_snapshot",
        "memory_snapshot/iteration_10/rank3_memory_snapshot.pickle",
        "pytorch/torchtitan, docs/memory_profiler.md",
    ),
    producer(
        "torchtitan",
        "iteration_{step}_exit/rank{rank}_memory_snapshot",
        "memory_snapshot/iteration_12_exit/rank3_memory_snapshot.pickle",
        "pytorch/torchtitan#395",
    ),
    producer(
        "Composer",
        "rank{rank}.{step}.memory_snapshot",
        "my-run/torch_traces/rank0.17.memory_snapshot.pickle",
        "mosaicml/composer, callbacks/memory_snapshot.py",
    ),
    producer(
        "Composer",
        "rank{rank}_oom",
        "my-run/torch_traces/rank5_oom.pickle",
        "mosaicml/composer, callbacks/oom_observer.py",
    ),
    producer(
        "NeMo",
        "memory_snapshot-rank{rank}",
        "mem_profile/memory_snapshot-rank12.pickle",
        "NVIDIA/NeMo, lightning/pytorch/callbacks/memory_profiler.py",
    ),
    producer(
        "Megatron-LM",
        "oom_rank-{rank}_{any}",
        "oom_rank-7_snapshot.pickle",
        "NVIDIA/Megatron-LM, pretrain_gpt.py until 2026",
    ),
    producer(
        "Megatron-Bridge",
        "{any}_oom_rank-{rank}",
        "nemo_run/snapshot_oom_rank-12.pickle",
        "NVIDIA-NeMo/Megatron-Bridge#3487",
    ),
    producer(
        "Megatron-LM",
        "{any}_rank-{rank}",
        "snapshot_rank-1023.pickle",
        "NVIDIA/Megatron-LM, training/utils, memory_snapshot_path",
    ),
    producer(
        "lmms-engine",
        "oom_rank{rank}_pid{pid}_{time}",
        "memory_snapshot/oom_rank3_pid4711_20260521-101502.pickle",
        "EvolvingLMMs-Lab/lmms-engine#176",
    ),
    producer(
        "lmms-engine",
        "oom_rank{rank}",
        "memory_snapshot/oom_rank3.pickle",
        "EvolvingLMMs-Lab/lmms-engine#174",
    ),
    producer(
        "lmms-engine",
        "snapshot_stop_step_rank{rank}",
        "memory_snapshot/snapshot_stop_step_rank3.pickle",
        "EvolvingLMMs-Lab/lmms-engine#174",
    ),
    producer(
        "lmms-engine",
        "snapshot_train_end_rank{rank}",
        "memory_snapshot/snapshot_train_end_rank3.pickle",
        "EvolvingLMMs-Lab/lmms-engine#174",
    ),
    producer(
        "verl",
        "Step_{step}-{any}_rank{rank}_pid{pid}",
        "Step_4-actor_rank3_pid4711.pickle",
        "programs on top of verl",
    ),
    producer(
        "verl",
        "{any}_rank{rank}_pid{pid}",
        "mem_snapshots/oom_20260901-120000/periodic_rank3_pid4711.pickle",
        "verl-project/verl, utils/memory_utils.py; verl-project/verl#7770",
    ),
    producer(
        "vramscope record",
        "rank{rank}_pid{pid}",
        "run1/oom_1/rank3_pid4711.pickle",
        "vramscope-launch, sitecustomize.py",
    ),
    producer(
        "vramscope record",
        "pid{pid}",
        "run1/step_100/pid4711.pickle",
        "vramscope-launch, sitecustomize.py",
    ),
    producer(
        "MindSpeed",
        "snapshot_{time}_{rank}",
        "memory_snapshot/snapshot_2026-11-20-17-05_12.pickle",
        "MindSpeed-MM, mem_profiler.py",
    ),
    producer(
        "vramscope-capture",
        "{any}-rank{rank}-{pid}",
        "run-rank3-4711.pickle",
        "vramscope-capture: several processes of a rank",
    ),
    producer(
        "vramscope-capture",
        "{any}-rank{rank}",
        "run-rank3.pickle",
        "vramscope-capture: FILE-rankN",
    ),
    // A process id identifies neither rank nor step.
    producer(
        "vramscope-capture",
        "{any}-{pid}",
        "run-4711.pickle",
        "vramscope-capture: FILE-PID",
    ),
    producer(
        "Megatron-Bridge",
        "snapshot_{rank}",
        "nemo_run/snapshot_12.pickle",
        "NVIDIA-NeMo/Megatron-Bridge, docs/training/profiling.md",
    ),
];

/// Most bytes of a path that are examined, counted from its end.
const PATH_BYTES: usize = 1024;

/// Reads a path, in which `/` or `\` separates folders.
#[must_use]
pub fn named(path: &str) -> Named {
    let path = path.replace('\\', "/");
    let mut start = path.len().saturating_sub(PATH_BYTES);
    while !path.is_char_boundary(start) {
        start += 1;
    }
    let path = words::bare(&path[start..]);
    let mut said = PRODUCERS
        .iter()
        .find_map(|producer| {
            Some(Named {
                producer: producer.name,
                ..by_pattern(producer.pattern, path)?
            })
        })
        .unwrap_or_default();
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    words::tell(name, false, &mut said);
    if said.rank.is_some() || said.local_rank.is_some() {
        words::tell(name, true, &mut said);
    }
    for folder in folders.rsplit('/') {
        words::tell(folder, true, &mut said);
    }
    said
}

fn by_pattern(pattern: &str, path: &str) -> Option<Named> {
    let depth = pattern.matches('/').count();
    let mut cut = path.rmatch_indices('/').map(|(at, _)| at + 1);
    let end = &path[cut.nth(depth).unwrap_or(0)..];
    let mut said = Named::default();
    for (field, text) in matches(pattern, end)? {
        match field {
            Field::Rank => said.rank = Some(text.parse().ok()?),
            Field::Step => said.step = Some(text.parse().ok()?),
            Field::Process | Field::Time | Field::Any => {}
        }
    }
    Some(said)
}

/// The places of snapshots, in the order of `paths`. `tell` returns what is known of a path. Snapshots without a rank get
/// the free numbers of their job and step, in the order of the paths.
///
/// If snapshots of the same rank and step lie in different folders, these are separate jobs, named by the folders that
/// differ. (If only the process is known, it counts as the rank.) In a job without ranks, local ranks are the ranks if there
/// is one host; otherwise they are counted host by host, assuming equally many on each. The same is done with ranks that
/// occur on several hosts.
#[must_use]
pub fn places(paths: &[&str], tell: impl Fn(&str) -> (Named, RankFrom)) -> Vec<Place> {
    let mut told: Vec<(Named, RankFrom)> = paths.iter().map(|path| tell(path)).collect();
    tell_jobs_apart(paths, &mut told);
    number_hosts_apart(&mut told);
    count_hosts(&mut told);
    let known = told.iter().filter_map(|(said, _)| {
        let rank = said.rank?;
        Some((said.job.clone(), said.step, rank))
    });
    let taken: HashSet<(String, Option<u64>, u32)> = known.collect();
    let mut unknown: Vec<usize> = (0..paths.len())
        .filter(|&row| told[row].0.rank.is_none())
        .collect();
    unknown.sort_few_by(|&a, &b| {
        let [one, other] = [a, b].map(|row| &told[row].0);
        (&one.job, one.step)
            .cmp(&(&other.job, other.step))
            .then_with(|| natural(&one.host, &other.host))
            .then(one.local_rank.cmp(&other.local_rank))
            .then_with(|| natural(paths[a], paths[b]))
    });
    let mut places: Vec<Place> = told.into_iter().map(place).collect();
    let mut next = (String::new(), None, 0);
    for row in unknown {
        let place = &mut places[row];
        // Every step has the same ranks.
        if (&next.0, next.1) != (&place.job, place.step) {
            next = (place.job.clone(), place.step, 0);
        }
        while taken.contains(&next) {
            next.2 += 1;
        }
        place.rank = next.2;
        next.2 += 1;
    }
    places
}

/// Names jobs by their folders if different folders have the same rank of the same step.
fn tell_jobs_apart(paths: &[&str], told: &mut [(Named, RankFrom)]) {
    let mut seen = HashMap::new();
    // For each name of several jobs: the depth range of the folders in which their paths first differ.
    let mut apart: HashMap<String, (usize, usize)> = HashMap::new();
    for (path, (said, _)) in paths.iter().zip(&*told) {
        let folders = folders(path);
        // A process without a rank identifies itself at each moment.
        let who = match (said.rank, said.local_rank) {
            (None, None) => (None, None, said.process),
            (rank, local) => (rank, local, None),
        };
        if who == (None, None, None) {
            continue;
        }
        let place = (&said.job, &said.host, said.step, who);
        let first: &Vec<&str> = seen.entry(place).or_insert_with(|| folders.clone());
        let alike = first.iter().zip(&folders).take_while(|(a, b)| a == b);
        let depth = alike.count();
        if depth < first.len().max(folders.len()) {
            let depths = apart.entry(said.job.clone()).or_insert((depth, depth));
            *depths = (depths.0.min(depth), depths.1.max(depth));
        }
    }
    for (path, (said, _)) in paths.iter().zip(told) {
        let Some(&(from, to)) = apart.get(&said.job) else {
            continue;
        };
        let is_step = |folder: &str| {
            let mut said = Named::default();
            words::tell(folder, true, &mut said);
            said.step.is_some()
        };
        let known = Some(said.job.clone()).filter(|job| !job.is_empty());
        let folders = folders(path).into_iter().take(to + 1).skip(from);
        let folders = folders.filter(|folder| !is_step(folder));
        let names = known.into_iter().chain(folders.map(str::to_owned));
        said.job = names.collect::<Vec<_>>().join("/");
    }
}

/// The folders of a path, the outermost first.
fn folders(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.split(['/', '\\']).collect();
    parts.pop();
    parts
}

/// Turns ranks into local ranks in jobs where two hosts have the same rank.
fn number_hosts_apart(told: &mut [(Named, RankFrom)]) {
    let mut hosts = HashMap::new();
    let mut local_only = HashSet::new();
    for (said, from) in told.iter().filter(|(said, _)| !said.host.is_empty()) {
        let place = (said.job.clone(), said.step, said.rank);
        let host = hosts.entry(place).or_insert(&said.host);
        if *host != &said.host && said.rank.is_some() && *from == RankFrom::Name {
            local_only.insert(said.job.clone());
        }
    }
    for (said, _) in told {
        if local_only.contains(&said.job) {
            said.local_rank = said.rank.take().or(said.local_rank);
        }
    }
}

/// Derives ranks from local ranks, in jobs without other ranks. Missing snapshots are counted too, so that the others
/// keep their numbers.
fn count_hosts(told: &mut [(Named, RankFrom)]) {
    let mut jobs: BTreeMap<String, (Vec<String>, u32)> = BTreeMap::new();
    for (said, _) in &*told {
        let (hosts, locals) = jobs.entry(said.job.clone()).or_default();
        hosts.push(said.host.clone());
        let here = said.local_rank.map_or(0, |rank| rank.saturating_add(1));
        *locals = here.max(*locals);
    }
    for (said, _) in told.iter().filter(|(said, _)| said.rank.is_some()) {
        jobs.remove(&said.job);
    }
    let by_name = |a: &String, b: &String| natural(a, b).then_with(|| a.cmp(b));
    for (hosts, _) in jobs.values_mut() {
        hosts.sort_few_by(by_name);
        hosts.dedup();
    }
    for (said, from) in told {
        let (Some((hosts, locals)), Some(local)) = (jobs.get(&said.job), said.local_rank) else {
            continue;
        };
        let host = hosts.binary_search_by(|host| by_name(host, &said.host));
        let before = locals.checked_mul(host.unwrap_or(0) as u32);
        said.rank = before.and_then(|before| before.checked_add(local));
        if hosts.len() > 1 {
            *from = RankFrom::Order;
        }
    }
}

fn place((said, from): (Named, RankFrom)) -> Place {
    Place {
        job: said.job,
        step: said.step,
        rank: said.rank.unwrap_or(0),
        local_rank: said.local_rank,
        host: said.host,
        rank_from: said.rank.map_or(RankFrom::Order, |_| from),
    }
}

/// [`places`] from names alone.
#[must_use]
pub fn places_of(paths: &[&str]) -> Vec<Place> {
    places(paths, |path| (named(path), RankFrom::Name))
}

#[cfg(test)]
mod tests;
