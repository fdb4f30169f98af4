//! The share of the snapshots that one of several processes packs.

use std::env;

/// A share: one in so many snapshots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Share {
    /// From 0.
    number: u32,
    count: u32,
}

/// Variables in which launchers pass a process its number and the number of processes. srun sets these for the
/// processes that it starts; `SLURM_NTASKS` is also set for a batch script, which runs once.
const LAUNCHERS: [(&str, &str); 2] = [
    ("RANK", "WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
];

impl Share {
    pub(super) const ALL: Self = Self {
        number: 0,
        count: 1,
    };

    /// Reads `2/8`: the second of eight.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, count) = text.split_once('/')?;
            let number = number.parse::<u32>().ok()?.checked_sub(1)?;
            Self::of(number, count.parse().ok()?)
        };
        read().ok_or_else(|| "write the share and their number, such as 2/8: 1/8 to 8/8".to_owned())
    }

    fn of(number: u32, count: u32) -> Option<Self> {
        (number < count).then_some(Self { number, count })
    }

    /// The share that torchrun or srun gives this process, and by which variable; all if neither started it.
    pub(super) fn of_launcher() -> (Self, Option<&'static str>) {
        Self::told(|name| env::var(name).ok())
    }

    fn told(variable: impl Fn(&str) -> Option<String>) -> (Self, Option<&'static str>) {
        let number = |name: &str| variable(name)?.parse().ok();
        let share = |(own, count): (&'static str, &'static str)| {
            let share = Self::of(number(own)?, number(count)?)?;
            (share != Self::ALL).then_some((share, Some(own)))
        };
        LAUNCHERS
            .into_iter()
            .find_map(share)
            .unwrap_or((Self::ALL, None))
    }

    /// Whether a snapshot is in it. `number`: its number among all, from 0.
    pub(super) fn has(self, number: usize) -> bool {
        number as u64 % u64::from(self.count) == u64::from(self.number)
    }

    /// `2/8`
    pub(super) fn name(self) -> String {
        format!("{}/{}", self.number + 1, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_snapshot_is_in_one_share() {
        let shares: Vec<_> = (1..=3).map(|it| Share::parse(&format!("{it}/3"))).collect();
        for number in 0..10 {
            let having = shares.iter().filter(|it| it.as_ref().unwrap().has(number));
            assert_eq!(having.count(), 1, "{number}");
        }
        assert_eq!(Share::parse("1/1"), Ok(Share::ALL));
        for wrong in ["0/3", "4/3", "1/0", "0/0", "2", "", "-1/3", "1/3/3", "a/b"] {
            assert!(Share::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn launchers_tell_the_share_where_it_makes_sense() {
        let told = |variables: &[(&str, &str)]| {
            let (share, by) = Share::told(|name| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            (share.name(), by)
        };
        assert_eq!(told(&[]), ("1/1".to_owned(), None));
        let srun = [("SLURM_PROCID", "1"), ("SLURM_STEP_NUM_TASKS", "8")];
        assert_eq!(told(&srun), ("2/8".to_owned(), Some("SLURM_PROCID")));
        let torchrun = [("RANK", "7"), ("WORLD_SIZE", "16"), srun[0], srun[1]];
        assert_eq!(told(&torchrun), ("8/16".to_owned(), Some("RANK")));
        for no_share in [
            // A batch script, a single process, and impossible values.
            &[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")],
            &[("RANK", "0"), ("WORLD_SIZE", "1")],
            &[("RANK", "8"), ("WORLD_SIZE", "8")],
            &[("RANK", "-1"), ("WORLD_SIZE", "8")],
        ] {
            assert_eq!(told(no_share), ("1/1".to_owned(), None), "{no_share:?}");
        }
    }
}
