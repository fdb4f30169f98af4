//! Random fleets for tests.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::model::*;
use crate::analysis::groups::turnover::Amount;
use crate::analysis::report::findings::{FindingKind, Severity};

/// A fleet of up to `most` ranks.
pub(super) fn fleets(most: usize) -> impl Strategy<Value = Fleet> {
    let settings = vec(btree_map("[a-c]", "[xy]{0,2}", 0..3), 0..4);
    let unreadable = vec(unreadables(), 0..3);
    let labels = vec("[a-f]{1,2}", 0..8);
    (labels, settings, vec(ranks(), 0..most), unreadable).prop_map(
        |(labels, settings, mut ranks, unreadable)| {
            // The files of a fleet contain only names of call sites and settings that some rank has.
            for rank in &mut ranks {
                let of = |id: u32, count: usize| id % count.max(1) as u32;
                rank.settings = of(rank.settings, settings.len());
                let mut sites = std::mem::take(&mut rank.sites);
                if labels.is_empty() {
                    sites.clear();
                    rank.failures.clear();
                }
                for site in &mut sites {
                    site.site = of(site.site, labels.len());
                }
                sites.sort_by_key(|site| site.site);
                sites.dedup_by_key(|site| site.site);
                rank.sites = sites;
                for failure in &mut rank.failures {
                    failure.site = of(failure.site, labels.len());
                }
            }
            let mut seen = std::collections::BTreeMap::new();
            let fleet = Fleet {
                // Equal labels are merged.
                labels: labels
                    .into_iter()
                    .map(|label| {
                        let times = seen.entry(label.clone()).or_insert(0);
                        *times += 1;
                        format!("{label}{times}")
                    })
                    .collect(),
                settings,
                ranks,
                unreadable,
            };
            Fleet::of_all([fleet])
        },
    )
}

fn sources() -> impl Strategy<Value = Source> {
    ("[ab]{1,2}", any::<u64>(), option::of(any::<i64>())).prop_map(|(path, bytes, modified_us)| {
        Source {
            path,
            bytes,
            modified_us,
        }
    })
}

fn unreadables() -> impl Strategy<Value = Unreadable> {
    (sources(), "[x-z]{0,3}").prop_map(|(source, why)| Unreadable { source, why })
}

fn places() -> impl Strategy<Value = Place> {
    let from = prop_oneof![
        Just(RankFrom::Name),
        Just(RankFrom::Given),
        Just(RankFrom::Order)
    ];
    let local = option::of(any::<u32>());
    let rank = prop_oneof![0..4_u32, any::<u32>()];
    ("[jk]?", option::of(0..3_u64), rank, local, "[hi]?", from).prop_map(
        |(job, step, rank, local_rank, host, rank_from)| Place {
            job,
            step,
            rank,
            local_rank,
            host,
            rank_from,
        },
    )
}

fn numbers() -> impl Strategy<Value = u64> {
    prop_oneof![0..100_u64, any::<u64>()]
}

fn sites() -> impl Strategy<Value = Site> {
    (0..8_u32, numbers(), numbers(), numbers(), numbers()).prop_map(
        |(site, bytes, count, end_bytes, left_per_step_bytes)| Site {
            site,
            peak: Amount { bytes, count },
            end_bytes,
            left_per_step_bytes,
        },
    )
}

fn failures() -> impl Strategy<Value = Failure> {
    let bytes = [numbers(), numbers(), numbers(), numbers()];
    let time = option::of(any::<i64>());
    (any::<u32>(), time, bytes, 0..8_u32, "[a-c]?").prop_map(
        |(moment, time_us, [requested, free, active, reserved], site, why)| Failure {
            moment,
            time_us,
            requested_bytes: requested,
            device_free_bytes: Some(free).filter(|free| free % 3 > 0),
            active_bytes: active,
            reserved_bytes: reserved,
            site,
            why,
        },
    )
}

fn told() -> impl Strategy<Value = Told> {
    let kinds = (select(FindingKind::ALL), select(Severity::ALL));
    (kinds, numbers(), "[t-v]?").prop_map(|((kind, severity), bytes, title)| Told {
        kind,
        severity,
        bytes,
        title,
    })
}

fn curves() -> impl Strategy<Value = Curve> {
    let levels = || vec(0..=Curve::LEVELS, 0..6);
    let steps = vec((numbers(), numbers(), any::<u16>(), any::<u16>()), 0..3);
    let start = option::of(any::<i64>());
    (
        numbers(),
        start,
        numbers(),
        [levels(), levels(), levels()],
        steps,
    )
        .prop_map(
            |(unit_bytes, start_us, length, [lowest, highest, reserved], steps)| Curve {
                unit_bytes,
                start_us,
                length,
                lowest,
                highest,
                reserved,
                steps: steps
                    .into_iter()
                    .map(|(number, from, lowest, highest)| StepLevels {
                        number,
                        from,
                        lowest,
                        highest,
                    })
                    .collect(),
            },
        )
}

fn ranks() -> impl Strategy<Value = Rank> {
    let figures = vec(numbers(), 11);
    let fragmentation = option::of([numbers(), numbers(), numbers(), numbers()]);
    let growth = option::of((numbers(), option::of(any::<i64>())));
    let optional = (
        option::of(any::<i64>()),
        option::of(numbers()),
        option::of(numbers()),
        fragmentation,
        growth,
    );
    let lists = (vec(failures(), 0..3), vec(told(), 0..3), vec(sites(), 0..6));
    let about = (places(), sources(), 0..3_u32, "[p-r]?", 0..4_u32);
    (about, figures, optional, lists, curves()).prop_map(
        |((place, source, device, producer, settings), figures, optional, lists, curve)| Rank {
            place,
            source,
            device,
            producer,
            settings,
            events: figures[0],
            allocations: figures[1],
            peak_bytes: figures[2],
            peak_moment: figures[3] as u32,
            peak_time_us: optional.0,
            reserved_at_peak_bytes: figures[4],
            peak_reserved_bytes: figures[5],
            end_bytes: figures[6],
            device_bytes: optional.1,
            ooms: figures[7],
            retries: optional.2,
            fragmentation: optional
                .3
                .map(|[free, scattered, largest, rounding]| Fragmentation {
                    free_bytes: free,
                    scattered_bytes: scattered,
                    largest_free_bytes: largest,
                    rounding_bytes: rounding,
                }),
            growth: optional.4.map(|(steps, per_step_bytes)| Growth {
                steps,
                per_step_bytes,
            }),
            failures: lists.0,
            findings: lists.1,
            sites: lists.2,
            curve,
            other_sites: Amount {
                bytes: figures[8],
                count: figures[9],
            },
            damage: figures[10],
        },
    )
}
