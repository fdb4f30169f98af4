//! Profiles and their differences compared with slow, obvious ones, and invariants of differences.

use std::collections::BTreeMap;

use proptest::prelude::*;
use vramscope_core::Snapshot;
use vramscope_core::analysis::code::call_sites::{frees_carry_alloc_stacks, label};
use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping, GroupOptions};
use vramscope_core::analysis::code::frames::{FrameClass, Location};
use vramscope_core::analysis::compare::changes::{Change, Comparison, compare, tally};
use vramscope_core::analysis::compare::side::{
    Amount, Profile, ProfileNames, ProfileTree, profile,
};
use vramscope_core::analysis::groups::grouping::{GroupColumn, named_totals};
use vramscope_core::analysis::groups::turnover::turnover;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::history::{History, StackSource};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_synth::files::{fixtures, real_files};

use crate::support::decoded;

/// A file whose profiles are compared.
struct Read(Recording);

impl Read {
    fn new(snapshot: Snapshot) -> Self {
        Self(Recording::of(snapshot))
    }

    fn device(&self, row: usize) -> Device<'_> {
        self.0.devices().nth(row).unwrap()
    }

    fn text(text: &str) -> Self {
        let pickle =
            vramscope_synth::text::pickle(text, vramscope_synth::snapshot::Producer::Python(2, 10));
        Self::new(vramscope_core::decode(&pickle.unwrap()[..]).unwrap())
    }

    fn names(&self, grouping: FrameGrouping) -> ProfileNames {
        let options = GroupOptions {
            grouping,
            fold: Fold::Runtime,
            ..GroupOptions::default()
        };
        ProfileNames::of(&self.0, &options)
    }

    fn profile(&self, device: usize, selection: Selection, grouping: FrameGrouping) -> Profile {
        let device = self.device(device);
        let curves = Curves::of(device.history, CurveAxis::Time, 100);
        profile(device, &self.names(grouping), selection, curves)
    }

    /// Path from the outside in → its own allocations, computed directly from the records.
    fn naive(&self, device: usize, selection: Selection) -> BTreeMap<Vec<String>, Amount> {
        let (snapshot, history) = (&self.0.snapshot, &self.0.histories[device]);
        let carry = frees_carry_alloc_stacks(snapshot, &self.0.histories);
        let mut paths: BTreeMap<Vec<String>, Amount> = BTreeMap::new();
        for id in selection.allocations(history) {
            let (stack, source) = history.stack(snapshot, id);
            let mut path = vec!["all".to_owned()];
            if source == StackSource::Free && stack.has_frames() && !carry {
                path.push("allocated before the recording, freed at".to_owned());
            }
            let special = path.len();
            for frame in snapshot.stacks.frames(stack).rev() {
                if self.0.classes().get(frame) == FrameClass::Runtime {
                    continue;
                }
                let text = label(&Location::of(snapshot, snapshot.frames.get(frame)));
                let text = text[..text.floor_char_boundary(240)].to_owned();
                if path.len() == special || path.last() != Some(&text) {
                    path.push(text);
                }
            }
            if !stack.has_frames() {
                path.push("no stack recorded".to_owned());
            } else if path.len() == special {
                path.push("only folded frames".to_owned());
            }
            let bytes = history.allocations.bytes[id.index()];
            let amount = paths.entry(path).or_default();
            amount.bytes += bytes;
            amount.count += 1;
        }
        paths
    }
}

/// Path → own amount, for every node that has one.
fn paths(profile: &Profile) -> BTreeMap<Vec<String>, Amount> {
    let tree: &ProfileTree = &profile.tree;
    let mut found = BTreeMap::new();
    for row in 0..tree.len() {
        let amount = Amount {
            bytes: tree.self_bytes[row],
            count: tree.self_count[row],
        };
        if amount.count == 0 {
            continue;
        }
        let (mut path, mut node) = (Vec::new(), row);
        loop {
            path.push(profile.labels[tree.label[node] as usize].clone());
            if node == 0 {
                break;
            }
            node = tree.parent[node] as usize;
        }
        path.reverse();
        found.insert(path, amount);
    }
    found
}

/// Path → (own, with longer paths), for every node.
fn changes(comparison: &Comparison) -> BTreeMap<Vec<String>, (Change, Change)> {
    let tree = &comparison.tree;
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut found = BTreeMap::new();
    for row in 0..tree.len() {
        let mut path = match row {
            0 => Vec::new(),
            _ => paths[tree.parent[row] as usize].clone(),
        };
        path.push(tree.text(row as u32).to_owned());
        paths.push(path.clone());
        found.insert(path, (tree.own[row], tree.total[row]));
    }
    assert_eq!(found.len(), tree.len(), "no path stands twice");
    found
}

/// Invariants of any two profiles.
fn check(before: &Profile, after: &Profile) {
    let forth = compare(before, after);
    assert_eq!(
        (forth.total.before, forth.total.after),
        (before.total, after.total)
    );
    let sum = |changes: &mut dyn Iterator<Item = Change>| {
        let mut sum = (0_i128, 0_i128, 0_i128);
        for change in changes {
            sum.0 += i128::from(change.bytes_delta());
            sum.1 += i128::from(change.count_delta());
            sum.2 += i128::from(change.before.bytes);
        }
        sum
    };
    let total = sum(&mut [forth.total].into_iter());
    assert_eq!(
        sum(&mut forth.sites.iter().map(|site| site.change)),
        total,
        "sites"
    );
    assert_eq!(
        sum(&mut forth.tree.own.iter().copied()),
        total,
        "call paths"
    );
    assert_eq!(
        sum(&mut forth.tree.total[..1].iter().copied()),
        total,
        "root"
    );
    let deltas = forth
        .sites
        .iter()
        .map(|site| site.change.bytes_delta().unsigned_abs());
    assert!(
        deltas.is_sorted_by(|a, b| a >= b),
        "largest difference first"
    );

    let back = compare(after, before);
    let turned: BTreeMap<_, _> = changes(&back)
        .into_iter()
        .map(|(path, (own, total))| (path, (own.reversed(), total.reversed())))
        .collect();
    assert_eq!(changes(&forth), turned);
    let by_label = |comparison: &Comparison, turn: bool| -> BTreeMap<String, Change> {
        let of = |change: Change| if turn { change.reversed() } else { change };
        let sites = comparison.sites.iter();
        sites
            .map(|site| (site.label.clone(), of(site.change)))
            .collect()
    };
    assert_eq!(by_label(&forth, false), by_label(&back, true));
    assert_eq!(forth.settings.len(), back.settings.len());

    check_same(before);
    // The difference by path is that of two maps.
    let (old, new) = (paths(before), paths(after));
    for (path, (own, _)) in changes(&forth) {
        let of = |map: &BTreeMap<Vec<String>, Amount>| map.get(&path).copied().unwrap_or_default();
        assert_eq!((own.before, own.after), (of(&old), of(&new)), "{path:?}");
    }
}

/// Nothing differs from itself.
fn check_same(before: &Profile) {
    let same = compare(before, before);
    assert!(
        same.tree
            .total
            .iter()
            .chain(&same.tree.own)
            .all(Change::is_none)
    );
    assert!(same.sites.iter().all(|site| site.change.is_none()) && same.settings.is_empty());
}

/// Interesting moments.
fn moments(history: &History) -> [Selection; 5] {
    let end = history.event_count;
    [
        Selection::LiveAt(end / 3),
        Selection::LiveAt(history.peak_moment),
        Selection::LiveAt(end),
        Selection::RetainedFrom((end / 3, end)),
        Selection::All,
    ]
}

fn check_file(read: &Read) {
    for (device, history) in read.0.histories.iter().enumerate() {
        let line = FrameGrouping::Line;
        let mut last: Option<Profile> = None;
        for selection in moments(history) {
            let profile = read.profile(device, selection, line);
            assert_eq!(paths(&profile), read.naive(device, selection));
            assert_eq!(profile.shortened, Amount::default());
            let text = serde_json::to_string(&profile).unwrap();
            let again: Profile = serde_json::from_str(&text).unwrap();
            assert_eq!(again, profile, "another worker reads the same");
            let coarse = read.profile(device, selection, FrameGrouping::Function);
            assert_eq!(coarse.total, profile.total);
            check(last.as_ref().unwrap_or(&profile), &profile);
            last = Some(profile);
        }
        check_turnover(read, history, device);
    }
}

/// By site, kept plus freed equals one profile, and kept plus new the other.
fn check_turnover(read: &Read, history: &History, device: usize) {
    let (from, to) = (history.event_count / 3, history.event_count);
    let [before, after] = [from, to]
        .map(|moment| read.profile(device, Selection::LiveAt(moment), FrameGrouping::Line));
    let found = turnover(history, read.device(device).site_of(), from, to);
    let retained = read.profile(
        device,
        Selection::RetainedFrom((from, to)),
        FrameGrouping::Line,
    );
    assert_eq!(found.total.new, retained.total, "new is what was retained");
    let bytes_of = |profile: &Profile, label: &str| {
        let row = profile
            .sites
            .iter()
            .find(|site| profile.labels[site.label as usize] == label);
        row.map_or(0, |site| site.amount.bytes)
    };
    for site in &found.sites {
        let label = &read.0.call_sites().get(site.site).label;
        let label = &label[..label.floor_char_boundary(240)];
        let turnover = site.turnover;
        assert_eq!(
            turnover.kept.bytes + turnover.freed.bytes,
            bytes_of(&before, label)
        );
        assert_eq!(
            turnover.kept.bytes + turnover.new.bytes,
            bytes_of(&after, label)
        );
    }
}

#[test]
fn real_files_are_profiled_as_by_hand() {
    for file in real_files() {
        // Each pair of files doubles the time, and the larger ones add nothing that the others do not show.
        if file.bytes.len() < 1 << 20 {
            check_file(&Read::new(decoded(&file)));
        }
    }
}

#[test]
fn two_files_and_two_devices_compare() {
    let one = Read::text(
        "alloc a 4MiB main.py:10:train > model.py:20:forward\n\
         alloc b 2MiB main.py:11:train\n\
         setting alloc_conf=expandable_segments:True\n\
         device 1\nalloc a 1MiB main.py:10:train > model.py:20:forward\n",
    );
    let two = Read::text(
        "alloc a 5MiB main.py:10:train > model.py:23:forward\n\
         alloc c 1MiB main.py:12:train\n",
    );
    check_file(&one);
    let at_end = Selection::LiveAt(u32::MAX - 1);
    let by = |grouping| {
        let (before, after) = (
            one.profile(0, at_end, grouping),
            two.profile(0, at_end, grouping),
        );
        check(&before, &after);
        compare(&before, &after)
    };
    let rows = |comparison: &Comparison| -> Vec<(String, i64)> {
        let sites = comparison.sites.iter();
        sites
            .map(|site| (site.label.clone(), site.change.bytes_delta() >> 20))
            .collect()
    };
    let row = |label: &str, mib| (label.to_owned(), mib);
    let lines = by(FrameGrouping::Line);
    let expected = [
        row("model.py:23 forward", 5),
        row("model.py:20 forward", -4),
        row("main.py:11 train", -2),
        row("main.py:12 train", 1),
    ];
    assert_eq!(rows(&lines), expected);
    assert_eq!(lines.settings.len(), 1, "{:?}", lines.settings);
    // Lines have moved; functions have not.
    let expected = [row("model.py forward", 1), row("main.py train", -1)];
    assert_eq!(rows(&by(FrameGrouping::Function)), expected);

    let [first, second] = [0, 1].map(|device| one.profile(device, at_end, FrameGrouping::Line));
    check(&first, &second);
    assert_eq!(compare(&first, &second).total.bytes_delta(), -(5 << 20));
}

/// Random programs: allocations in one of a few places, and frees.
fn programs() -> impl Strategy<Value = String> {
    let step = (0_u32..40, 0_usize..6, 1_u64..2_000);
    prop::collection::vec(step, 0..60).prop_map(|steps| {
        let places = [
            "a.py:1:main > b.py:2:step",
            "a.py:1:main > b.py:3:step",
            "a.py:1:main > b.py:2:step > c.py:9:leaf",
            "a.py:4:main",
            "",
            "a.py:1:main > b.py:2:step > b.py:2:step",
        ];
        let mut text = String::new();
        let mut live: Vec<usize> = Vec::new();
        for (number, (fate, place, kib)) in steps.into_iter().enumerate() {
            if fate < 15 && !live.is_empty() {
                let name = live.swap_remove(fate as usize % live.len());
                text.push_str(&format!("free a{name} z.py:7:free\n"));
            } else {
                let unrecorded = if fate > 36 { "unrecorded " } else { "" };
                text.push_str(&format!(
                    "{unrecorded}alloc a{number} {kib}KiB {}\n",
                    places[place]
                ));
                live.push(number);
            }
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_programs_obey_the_laws(one in programs(), two in programs()) {
        let (one, two) = (Read::text(&one), Read::text(&two));
        check_file(&one);
        if let (Some(old), Some(new)) = (one.0.histories.first(), two.0.histories.first()) {
            for (a, b) in moments(old).into_iter().zip(moments(new)) {
                for grouping in [FrameGrouping::Line, FrameGrouping::Function, FrameGrouping::File] {
                    check(&one.profile(0, a, grouping), &two.profile(0, b, grouping));
                }
            }
        }
    }

    /// A profile from another worker is only text, so nonsense must be compared without a panic.
    #[test]
    fn nonsense_is_compared(
        parent in prop::collection::vec(any::<u32>(), 0..9), bytes in prop::collection::vec(any::<u64>(), 0..9)
    ) {
        let odd = Profile {
            tree: ProfileTree {
                label: parent.iter().rev().copied().collect(),
                self_count: bytes.clone(),
                self_bytes: bytes,
                parent,
            },
            labels: vec!["x".to_owned(), "x".to_owned()],
            ..Profile::default()
        };
        let found = compare(&odd, &Profile::default());
        prop_assert_eq!(found.tree.len(), found.tree.total.len());
    }
}

/// The command line compares groups, the page compares profiles: by call site they agree.
#[test]
fn groups_and_profiles_differ_alike() {
    for file in fixtures() {
        let read = Read::new(decoded(&file));
        for (device, history) in read.0.histories.iter().enumerate() {
            let column = GroupColumn::of(read.device(device), Property::CallSite, 1);
            let moments = [history.peak_moment, history.event_count];
            let [peak, end] =
                moments.map(|moment| named_totals(history, &column, Selection::LiveAt(moment)));
            let of = |side: &[(String, Amount)]| -> Vec<(String, Amount)> {
                let clipped = |name: &str| name[..name.floor_char_boundary(240)].to_owned();
                side.iter()
                    .map(|(name, amount)| (clipped(name), *amount))
                    .collect()
            };
            let (peak, end) = (of(&peak), of(&end));
            let ours = vramscope_core::analysis::compare::changes::changes(
                peak.iter().map(|(name, amount)| (name.as_str(), *amount)),
                end.iter().map(|(name, amount)| (name.as_str(), *amount)),
            );
            let [before, after] = moments
                .map(|moment| read.profile(device, Selection::LiveAt(moment), FrameGrouping::Line));
            let mut page = compare(&before, &after);
            // Groups do not list operators.
            page.sites
                .iter_mut()
                .for_each(|site| site.operators.clear());
            assert_eq!(ours, page.sites, "{}", file.name);
            let counts = tally(&ours);
            let all = counts.new + counts.gone + counts.changed + counts.unchanged;
            assert_eq!(all, ours.len() as u64);
        }
    }
}
