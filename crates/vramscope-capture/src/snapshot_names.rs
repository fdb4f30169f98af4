//! Names that distinguish the snapshots of one run: `FILE`, `FILE-rank3`, `FILE-4711`.

use std::collections::HashSet;

use vramscope_record::rank::Rank;

/// What distinguishes a recorded process from others.
#[derive(Clone, Copy)]
pub(crate) struct Recorded {
    pub(crate) process: u64,
    /// The process's rank when it started, if a launcher gave it one.
    pub(crate) rank: Option<u32>,
}

/// The suffix of each process's snapshot. `run` is the rank of `run` itself.
///
/// The first process has no suffix, unless ranks distinguish the processes, or this `run` from others of its job. No
/// two processes get the same suffix.
pub(crate) fn suffixes(processes: &[Recorded], run: Option<Rank>) -> Vec<Option<String>> {
    let own = run.filter(|rank| rank.has_others).map(|rank| rank.number);
    let known: HashSet<_> = processes.iter().filter_map(|it| it.rank).collect();
    let are_ranks = own.is_some() || known.len() > 1;
    let mut taken = HashSet::new();
    let suffix = |it: &Recorded| {
        let rank = it.rank.or(own).filter(|_| are_ranks);
        unused(*it, rank.map(|rank| format!("rank{rank}")), &mut taken)
    };
    processes.iter().map(suffix).collect()
}

/// The first of a process's names that is still free.
fn unused(
    process: Recorded,
    rank: Option<String>,
    taken: &mut HashSet<Option<String>>,
) -> Option<String> {
    let number = process.process;
    let with = |more: String| match &rank {
        Some(rank) => format!("{rank}-{more}"),
        None => more,
    };
    // A process that executes another program is recorded again.
    let further = (2..).map(|again| Some(with(format!("{number}-{again}"))));
    let mut names = [rank.clone(), Some(with(number.to_string()))]
        .into_iter()
        .chain(further);
    names.find(|name| taken.insert(name.clone())).flatten()
}

/// Like [`suffix_of_one`], but different for each of several processes; `taken` has the others' suffixes.
pub(crate) fn suffix_of_next(
    process: Recorded,
    run: Option<Rank>,
    taken: &mut HashSet<Option<String>>,
) -> Option<String> {
    unused(process, suffix_of_one(process, run), taken)
}

/// The suffix of a snapshot that is written while further processes may still appear.
pub(crate) fn suffix_of_one(process: Recorded, run: Option<Rank>) -> Option<String> {
    let own = run.filter(|rank| rank.has_others).map(|rank| rank.number);
    // A rank that equals `run`'s says nothing, unless other runs belong to the same job.
    let inherited = run.filter(|_| own.is_none()).map(|rank| rank.number);
    let rank = process.rank.filter(|&rank| Some(rank) != inherited).or(own);
    rank.map(|rank| format!("rank{rank}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(processes: &[(u64, Option<u32>)], run: Option<(u32, bool)>, expected: &[&str]) {
        let processes: Vec<_> = processes
            .iter()
            .map(|&(process, rank)| Recorded { process, rank })
            .collect();
        let run = run.map(|(number, has_others)| Rank { number, has_others });
        let names = suffixes(&processes, run);
        let names: Vec<_> = names
            .iter()
            .map(|name| name.as_deref().unwrap_or(""))
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn one_process_has_the_name_alone() {
        check(&[(7, None)], None, &[""]);
        check(&[(7, Some(0))], None, &[""]);
        check(&[(7, Some(0))], Some((0, false)), &[""]);
    }

    #[test]
    fn several_processes_have_ranks_or_ids() {
        check(&[(7, None), (8, None), (9, None)], None, &["", "8", "9"]);
        check(&[(7, Some(1)), (8, Some(0))], None, &["rank1", "rank0"]);
        check(
            &[(7, None), (8, Some(0)), (9, Some(1))],
            None,
            &["", "rank0", "rank1"],
        );
        // All have the rank of the process that started them.
        check(&[(7, Some(0)), (8, Some(0))], Some((0, false)), &["", "8"]);
    }

    #[test]
    fn no_two_names_are_the_same() {
        let same = [
            (7, Some(0)),
            (8, Some(0)),
            (9, Some(1)),
            (8, Some(0)),
            (8, Some(0)),
        ];
        check(
            &same,
            None,
            &["rank0", "rank0-8", "rank1", "rank0-8-2", "rank0-8-3"],
        );
        check(&[(7, None), (7, None), (7, None)], None, &["", "7", "7-2"]);
    }

    /// Each rank of a job has its own run, and all use the same `-o FILE`.
    #[test]
    fn runs_of_one_job_do_not_meet() {
        check(&[(7, Some(2))], Some((2, true)), &["rank2"]);
        check(
            &[(7, None), (8, None)],
            Some((2, true)),
            &["rank2", "rank2-8"],
        );
    }

    #[test]
    fn a_rank_is_known_before_the_others_are() {
        let of = |rank, run: Option<(u32, bool)>| {
            let run = run.map(|(number, has_others)| Rank { number, has_others });
            suffix_of_one(Recorded { process: 7, rank }, run)
        };
        let is = |name: &str| Some(name.to_owned());
        assert_eq!(of(None, None), None);
        assert_eq!(of(Some(3), None), is("rank3"));
        assert_eq!(of(Some(0), Some((0, false))), None);
        assert_eq!(of(Some(0), Some((0, true))), is("rank0"));
        assert_eq!(of(None, Some((1, true))), is("rank1"));
    }
}
