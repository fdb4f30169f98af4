//! Answers about fleets made for them, and about random ones.

use proptest::prelude::*;

use super::*;
use crate::analysis::groups::turnover::Amount;
use crate::fleet::arbitrary::fleets;
use crate::fleet::statistic::Measure;
use crate::fleet::{Failure, Growth, Place, Site};

const MIB: u64 = 1 << 20;

/// Rank `number` with this peak, and bytes at the peak by call site.
fn rank(number: u32, peak_bytes: u64, sites: &[u64]) -> Rank {
    let sites = (0..).zip(sites).map(|(site, &bytes)| Site {
        site,
        peak: Amount { bytes, count: 1 },
        ..Site::default()
    });
    Rank {
        place: Place {
            rank: number,
            ..Place::default()
        },
        peak_bytes,
        peak_reserved_bytes: peak_bytes * 2,
        reserved_at_peak_bytes: peak_bytes + 7,
        end_bytes: 100,
        sites: sites.collect(),
        ..Rank::default()
    }
}

fn fleet(ranks: impl IntoIterator<Item = Rank>) -> Fleet {
    Fleet {
        labels: ["a.py:1 f", "b.py:2 g", "c.py:3 h"]
            .map(str::to_owned)
            .to_vec(),
        settings: vec![Default::default()],
        ranks: ranks.into_iter().collect(),
        unreadable: Vec::new(),
    }
}

fn of_peaks(peaks: &[u64]) -> Fleet {
    fleet(
        (0..)
            .zip(peaks)
            .map(|(number, &peak)| rank(number, peak, &[])),
    )
}

#[test]
fn one_rank_is_none() {
    assert_eq!(ranks(&of_peaks(&[])), None);
    assert_eq!(ranks(&of_peaks(&[5])), None);
    assert!(odd(&of_peaks(&[1, 1000])).is_some_and(|odd| odd.ranks.is_empty()));
}

#[test]
fn call_sites_are_those_of_outlier_and_median() {
    let usual = [60, 40];
    let fleet = fleet([
        rank(0, 100, &usual),
        rank(1, 160, &[60, 10, 90]),
        rank(2, 100, &usual),
    ]);
    let found = ranks(&fleet).unwrap();
    assert_eq!((found.peaks.highest(), found.compared), (1, Some(1)));
    let found = diff(&fleet, found.peaks.median, 1);
    let changes: Vec<_> = found
        .sites
        .iter()
        .map(|site| (site.label.as_str(), site.change.bytes_delta()))
        .collect();
    assert_eq!(changes, [("c.py:3 h", 90), ("b.py:2 g", -30)]);
    assert_eq!(fleet.ranks[1].gap_bytes(), Some(7));
}

#[test]
fn alike_ranks_are_not_compared() {
    let found = ranks(&of_peaks(&[100, 103])).unwrap();
    assert_eq!(found.compared, None);
    assert_eq!(ranks(&of_peaks(&[100, 110])).unwrap().compared, Some(1));
}

#[test]
fn odd_ranks_say_in_what() {
    let mut all = of_peaks(&[100 * MIB; 7]);
    all.ranks[3].peak_bytes = 200 * MIB;
    all.ranks[5].end_bytes = 5000;
    all.ranks[5].retries = Some(3);
    for rank in &mut all.ranks {
        rank.retries.get_or_insert(0);
    }
    all.settings.push([("a".to_owned(), "1".to_owned())].into());
    all.ranks[6].settings = 1;
    let odd = odd(&all).unwrap();
    let found: Vec<_> = odd
        .ranks
        .iter()
        .map(|odd| {
            let measures: Vec<_> = odd.values.iter().map(|value| value.measure).collect();
            (odd.rank, measures, odd.settings.len())
        })
        .collect();
    assert_eq!(
        found,
        [
            (5, vec![Measure::AtEnd, Measure::Retries], 0),
            (3, vec![Measure::Peak], 0),
            (6, vec![], 1),
        ]
    );
}

#[test]
fn leaks_are_told_by_step_or_else_by_what_is_left() {
    let mut all = of_peaks(&[100; 4]);
    for (rank, left) in all
        .ranks
        .iter_mut()
        .zip([2 * MIB, 2 * MIB, 2 * MIB, 90 * MIB])
    {
        rank.sites = vec![
            Site {
                site: 0,
                end_bytes: 900 * MIB,
                ..Site::default()
            },
            Site {
                site: 1,
                left_per_step_bytes: left,
                end_bytes: 3,
                ..Site::default()
            },
        ];
    }
    let found = leaks(&all);
    assert_eq!((found.ranks_with_steps, found.sites.len()), (0, 2));
    assert_eq!(found.sites[0].main().map(|spread| spread.site), Some(0));
    for (rank, per_step) in all.ranks.iter_mut().zip([0, -5, 7, 90]) {
        rank.growth = Some(Growth {
            steps: 9,
            per_step_bytes: Some(per_step),
        });
    }
    let found = leaks(&all);
    assert_eq!((found.ranks_with_steps, found.growing), (4, 2));
    assert_eq!(found.fastest, Some(3));
    let [site] = &found.sites[..] else {
        panic!("{found:?}")
    };
    let spread = site.per_step.as_ref().unwrap();
    assert_eq!(
        (spread.site, spread.ranks, spread.usual.median),
        (1, 4, 2 * MIB)
    );
    assert_eq!((spread.highest, &spread.odd[..]), (3, &[3][..]));
    assert_eq!(site.end.as_ref().map(|end| end.usual.highest), Some(3));
}

/// A rank with no steps, or too few, says nothing about what they leave.
#[test]
fn ranks_without_steps_are_in_no_median_of_them() {
    let mut all = of_peaks(&[100; 5]);
    for rank in &mut all.ranks[3..] {
        rank.sites = vec![Site {
            left_per_step_bytes: 2 * MIB,
            ..Site::default()
        }];
        rank.growth = Some(Growth {
            steps: 9,
            per_step_bytes: Some(1),
        });
    }
    let found = leaks(&all);
    let spread = found.sites[0].per_step.as_ref().unwrap();
    let usual = spread.usual;
    assert_eq!((usual.values, usual.median), (2, 2 * MIB));
    assert_eq!((usual.lowest, &spread.odd[..]), (2 * MIB, &[][..]));
}

/// A site that is small on some ranks is known there too, if it is large on another.
#[test]
fn call_sites_that_are_left_are_known_of_all_ranks() {
    let mut all = fleet([
        rank(0, 99, &[50, 40, 9]),
        rank(1, 99, &[50, 40, 9]),
        rank(2, 160, &[50, 10, 100]),
    ]);
    let whole = all.clone();
    all.keep_sites(2);
    assert_eq!(all.labels, ["a.py:1 f", "c.py:3 h"]);
    let others = all.ranks.iter().map(|rank| rank.other_sites.bytes);
    assert_eq!(others.collect::<Vec<_>>(), [40, 40, 10]);
    let spreads = |fleet: &Fleet| -> Vec<_> {
        let all = sites(fleet, SiteFigure::Peak).into_iter();
        all.map(|it| (fleet.label(it.site).to_owned(), it.usual))
            .collect()
    };
    let left = spreads(&all);
    assert_eq!(left.len(), 2);
    assert!(left.iter().all(|spread| spreads(&whole).contains(spread)));
    let changes = diff(&all, 0, 2).sites.into_iter();
    let changes: Vec<_> = changes
        .map(|site| (site.label, site.change.bytes_delta()))
        .collect();
    let expected = [("c.py:3 h", 91), ("(other call sites)", -30)];
    assert_eq!(
        changes,
        expected.map(|(site, bytes)| (site.to_owned(), bytes))
    );
    // There is room only for one per rank on average.
    all.keep_sites(1);
    assert_eq!(all.labels, ["c.py:3 h"]);
}

#[test]
fn the_first_to_fail_comes_first() {
    let mut all = of_peaks(&[100; 4]);
    for (rank, time_us, site) in [(0, None, 2), (1, Some(30), 1), (3, Some(-10), 1)] {
        all.ranks[rank].ooms = 2;
        all.ranks[rank].failures = vec![Failure {
            time_us,
            site,
            ..Failure::default()
        }];
    }
    let found = ooms(&all);
    assert_eq!((found.ranks, found.failures), (vec![3, 1, 0], 6));
    assert_eq!(found.sites, [(1, 2), (2, 1)]);
}

#[test]
fn a_question_is_about_one_step() {
    let mut all = of_peaks(&[1, 2, 3, 4, 5]);
    for (rank, step) in all.ranks.iter_mut().zip([100, 100, 200, 200, 300]) {
        rank.place.step = Some(step);
    }
    let cohorts = all.cohorts();
    assert_eq!(cohorts.len(), 3);
    let main = main_cohort(&cohorts).unwrap();
    assert_eq!((main.step, main.ranks), (Some(200), 2));
    assert_eq!(all.cohort(main).ranks.len(), 2);
}

proptest! {
    /// The remaining sites are unchanged, and the total with the others is the same.
    #[test]
    fn nothing_is_lost_of_call_sites_that_are_left_out(fleet in fleets(7), most in 0_usize..5) {
        let mut kept = fleet.clone();
        kept.keep_sites(most);
        let rows = |fleet: &Fleet| fleet.ranks.iter().map(|rank| rank.sites.len()).sum::<usize>();
        prop_assert!(rows(&kept) <= rows(&fleet).min(most * fleet.ranks.len()));
        for spread in sites(&kept, SiteFigure::Peak) {
            let label = kept.label(spread.site);
            let mut before = sites(&fleet, SiteFigure::Peak).into_iter();
            let before = before.find(|it| fleet.label(it.site) == label);
            prop_assert_eq!(before.map(|it| it.usual), Some(spread.usual));
        }
        let sum = |rank: &Rank| {
            let listed = rank.sites.iter().map(|row| row.peak.bytes);
            listed.fold(rank.other_sites.bytes, u64::saturating_add)
        };
        prop_assert!(kept.ranks.iter().map(sum).eq(fleet.ranks.iter().map(sum)));
    }

    /// No answer panics for any fleet, and all refer to existing ranks.
    #[test]
    fn answers_hold_for_all_fleets(fleet in fleets(7)) {
        let count = fleet.ranks.len();
        let is_rank = |rank: &usize| *rank < count;
        if let Some(odd) = odd(&fleet) {
            prop_assert!(odd.peaks.by_peak.iter().all(is_rank));
            prop_assert!(odd.ranks.iter().all(|odd| is_rank(&odd.rank)));
            let usual = odd.peaks.usual(Measure::Peak).unwrap();
            prop_assert_eq!(usual.median, fleet.ranks[odd.peaks.median].peak_bytes);
        }
        let ranks = ranks(&fleet);
        prop_assert_eq!(ranks.is_some(), count > 1);
        prop_assert!(ooms(&fleet).ranks.iter().all(is_rank));
        let _leaks = leaks(&fleet);
        for figure in [SiteFigure::Peak, SiteFigure::End, SiteFigure::LeftPerStep] {
            for spread in sites(&fleet, figure) {
                prop_assert!(spread.odd.iter().chain([&spread.highest, &spread.lowest]).all(is_rank));
                prop_assert!(spread.ranks > 0);
            }
        }
        let cohorts = fleet.cohorts();
        prop_assert_eq!(cohorts.iter().map(|cohort| cohort.ranks).sum::<u64>(), count as u64);
        let mut first = 0;
        for cohort in &cohorts {
            let alone = fleet.cohort(cohort);
            prop_assert_eq!(alone.ranks.len() as u64, cohort.ranks);
            // The page asks for the median among all ranks, and the command line cuts out a cohort: both find the same rank,
            // also among equal peaks.
            let among: Vec<usize> = (first..first + alone.ranks.len()).collect();
            let median = peaks(&alone).map(|peaks| first + peaks.median);
            prop_assert_eq!(median_rank(&fleet, &among), median);
            first += alone.ranks.len();
        }
    }

    /// Against a slow sum per call site.
    #[test]
    fn sites_are_as_looked_up_rank_by_rank(fleet in fleets(7)) {
        for spread in sites(&fleet, SiteFigure::Peak) {
            let bytes = |rank: usize| {
                let mut listed = fleet.ranks[rank].sites.iter();
                let site = listed.find(|row| row.site == spread.site);
                site.map_or(0, |row| row.peak.bytes)
            };
            let all: Vec<u64> = (0..fleet.ranks.len()).map(bytes).collect();
            prop_assert_eq!(crate::fleet::statistic::Usual::of(&all), Some(spread.usual));
            prop_assert_eq!(bytes(spread.highest), spread.usual.highest);
        }
    }
}
