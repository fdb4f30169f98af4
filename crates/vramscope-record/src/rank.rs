//! A process's rank in a parallel job, from the variables that its launcher sets.

use std::ffi::OsString;

/// Variables with the rank and with the number of ranks. Those that number all processes come before those for one machine,
/// and those closest to the program come first: `torchrun` may be started by Slurm.
const VARIABLES: [(&str, &str); 6] = [
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
];

/// The rank of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// Whether the job is known to have other ranks.
    pub has_others: bool,
}

impl Rank {
    /// The rank of a process with these variables; `None` if no launcher set one.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let number = |name| variable(name)?.to_str()?.parse::<u32>().ok();
        let (rank, ranks) = VARIABLES
            .iter()
            .find_map(|&(rank, ranks)| Some((number(rank)?, number(ranks))))?;
        Some(Self {
            number: rank,
            has_others: rank > 0 || ranks.is_some_and(|ranks| ranks > 1),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_in_the_whole_job_counts() {
        for (variables, expected) in [
            (&[][..], None),
            (&[("RANK", "x")], None),
            (&[("LOCAL_RANK", "0")], Some((0, false))),
            (&[("LOCAL_RANK", "1"), ("RANK", "9")], Some((9, true))),
            (&[("SLURM_PROCID", "3"), ("RANK", "0")], Some((0, false))),
            (
                &[("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "2")],
                Some((0, true)),
            ),
            (
                &[("SLURM_PROCID", "4"), ("PMI_RANK", ""), ("LOCAL_RANK", "1")],
                Some((4, true)),
            ),
        ] {
            let variable = |name: &str| {
                let found = variables.iter().find(|(other, _)| *other == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let rank = Rank::of_environment(variable).map(|it| (it.number, it.has_others));
            assert_eq!(rank, expected, "{variables:?}");
        }
    }
}
