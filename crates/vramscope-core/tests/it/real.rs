//! Real files of other people: all decode, and agree with the list of their sources.

use std::collections::BTreeMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::ids::EventId;
use vramscope_core::model::{BlockState, ContainerKind, Snapshot as Model};
use vramscope_synth::files::{real_files, shared};

use crate::support::decoded;

/// The entry of one file in SOURCES.md.
#[derive(Default)]
struct Listed {
    lines: Vec<String>,
}

impl Listed {
    /// The text between `before` and `after`, of the first line that has both.
    fn between(&self, before: &str, after: &str) -> Option<&str> {
        self.lines.iter().find_map(|line| {
            let rest = line.split_once(before)?.1;
            Some(rest.split_once(after)?.0)
        })
    }

    /// Counts written as `{'alloc': 3, 'oom': 1}` after `before`.
    fn counts(&self, before: &str) -> Option<BTreeMap<String, usize>> {
        let text = self.between(before, "}")?.trim_start_matches([' ', '{']);
        let pairs = text.split(", ").filter(|pair| !pair.is_empty());
        Some(
            pairs
                .map(|pair| pair.split_once(": ").unwrap())
                .map(|(name, count)| (name.trim_matches('\'').to_owned(), count.parse().unwrap()))
                .collect(),
        )
    }
}

fn listed() -> BTreeMap<String, Listed> {
    let Some(shared) = shared() else {
        return BTreeMap::new();
    };
    let text = std::fs::read_to_string(shared.join("real/SOURCES.md")).unwrap();
    let mut files: BTreeMap<String, Listed> = BTreeMap::new();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            name.clone_into(&mut current);
        }
        files
            .entry(current.clone())
            .or_default()
            .lines
            .push(line.to_owned());
    }
    files
}

#[test]
fn all_decode_and_hold_what_is_listed() {
    let files = real_files();
    let mut checked = 0;
    for (name, listed) in listed()
        .iter()
        .filter(|(name, _)| name.ends_with(".pickle"))
    {
        let file = files.iter().find(|file| file.name == *name).unwrap();
        assert_eq!(
            listed.between("- size ", " B,"),
            Some(&*file.bytes.len().to_string())
        );
        let snapshot = decoded(file);
        check(name, listed, &snapshot);
        checked += 1;
    }
    assert!(
        files.is_empty() || checked >= 10,
        "only {checked} files listed"
    );
}

fn check(name: &str, listed: &Listed, snapshot: &Snapshot) {
    let protocol = listed
        .between("pickle protocol ", ";")
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(
        snapshot.source.containers,
        [ContainerKind::Pickle(protocol)],
        "{name}"
    );
    let segments = listed.between("- segments ", " (").unwrap();
    assert_eq!(
        segments,
        snapshot.segments.len().to_string(),
        "{name}: segments"
    );
    let states = block_states(snapshot);
    assert_eq!(
        listed.counts("blocks ").unwrap_or_default().len(),
        states.len(),
        "{name}: states"
    );
    assert_eq!(
        listed
            .counts(&format!("blocks {} ", snapshot.blocks.len()))
            .unwrap(),
        states,
        "{name}: blocks"
    );
    let mut actions: BTreeMap<String, usize> = BTreeMap::new();
    for row in 0..snapshot.events.len() {
        *actions
            .entry(snapshot.action_name(EventId::from_index(row)).to_owned())
            .or_default() += 1;
    }
    assert_eq!(
        listed.counts("; actions ").unwrap(),
        actions,
        "{name}: actions"
    );
    let lengths: Vec<usize> = snapshot.traces.iter().map(ExactSizeIterator::len).collect();
    assert_eq!(
        listed.between("per device ", ";").unwrap(),
        format!("{lengths:?}"),
        "{name}"
    );
    let marks = listed
        .between("external_annotations ", "\n")
        .or(listed.lines.iter().find_map(|line| {
            line.split_once("external_annotations ")
                .map(|(_, count)| count)
        }));
    assert_eq!(
        marks,
        Some(&*snapshot.annotations.rows.len().to_string()),
        "{name}: annotations"
    );
    check_producer(name, listed, snapshot);
}

fn block_states(snapshot: &Snapshot) -> BTreeMap<String, usize> {
    let mut states: BTreeMap<String, usize> = BTreeMap::new();
    for block in &snapshot.blocks.rows {
        let state = match block.state {
            BlockState::ActiveAllocated => "active_allocated",
            BlockState::ActivePendingFree => "active_pending_free",
            BlockState::Inactive => "inactive",
            BlockState::Other(text) => snapshot.strings.get(text),
        };
        *states.entry(state.to_owned()).or_default() += 1;
    }
    states
}

fn check_producer(name: &str, listed: &Listed, snapshot: &Model) {
    let line = listed
        .lines
        .iter()
        .find_map(|line| line.split_once("inferred torch "))
        .unwrap()
        .1;
    // The list is slightly more precise than the keys, so it is enough that the first version is the same.
    let version = line
        .split([' ', '-'])
        .next()
        .unwrap()
        .trim_end_matches(".x");
    assert!(
        snapshot.producer.name.contains(version),
        "{name}: {:?}, listed {line:?}",
        snapshot.producer
    );
}

#[test]
fn the_html_page_holds_its_sibling() {
    let files = real_files();
    let find = |end: &str| files.iter().find(|file| file.name.ends_with(end));
    let (Some(page), Some(pickle)) = (find("__bf16.html"), find("memory_forward_bf16_128.pickle"))
    else {
        return;
    };
    let (page, pickle) = (decoded(page), decoded(pickle));
    assert_eq!(page.source.containers[0], ContainerKind::Html);
    assert_eq!(vramscope_core::encode::difference(&page, &pickle), None);
}

#[test]
fn genuine_files_break_no_rule() {
    for file in real_files().iter().filter(|file| file.name.contains("__")) {
        let snapshot = decoded(file);
        // Mosaic's sample was edited by its authors and breaks several; see FORMAT.md 1.8.
        let is_edited = file.name.starts_with("facebookresearch__mosaic");
        let is_genuine = !is_edited && !file.name.starts_with("cpp_");
        if is_genuine {
            assert_eq!(snapshot.warnings.list(), [], "{}", file.name);
        }
        if is_edited {
            assert!(!snapshot.warnings.is_empty(), "{}", file.name);
        }
    }
}

#[test]
fn the_pools_of_a_real_inference_server_have_names_and_owners() {
    let files = real_files();
    let verl = files
        .iter()
        .find(|file| file.name.starts_with("volcengine__verl__"));
    let Some(file) = verl else { return };
    let recording = Recording::of(decoded(file));
    let pools = recording.pools().all().iter();
    let told: Vec<_> = pools
        .map(|pool| (pool.label(), pool.owner_words(recording.call_sites())))
        .collect();
    let site = "vllm_rollout/vllm_rollout_spmd.py:114 __init__";
    let expected = [
        ("default pool", None),
        (
            "MemPool (0, 1)",
            Some(format!("315 × up to 130 MiB, {site}")),
        ),
        ("MemPool (0, 2)", Some(format!("24 × 865 MiB, {site}"))),
    ];
    assert_eq!(
        told,
        expected.map(|(label, owner)| (label.to_owned(), owner))
    );
}
