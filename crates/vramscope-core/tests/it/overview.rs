//! Overviews of all files: parts that add up, evidence within the recording, and nothing that panics.
//! `cargo test -p vramscope-core --test it overview -- --nocapture` prints the findings of each.

use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::findings::FindingKind;
use vramscope_core::analysis::report::host::host_memory;
use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::analysis::time::history::History;
use vramscope_core::units::Bytes;
use vramscope_synth::files::{all_files, fixtures_in};

use crate::support::decoded;

fn overviews(snapshot: &Snapshot) -> Vec<(History, Overview)> {
    let recording = Recording::of(snapshot.clone());
    let host = host_memory(&recording, 3);
    assert_eq!(
        host.is_some(),
        !snapshot.host_segments.is_empty() || !snapshot.host_trace.is_empty()
    );
    let overviews = recording.devices().map(|device| {
        let found = overview(device, 5);
        (device.history.clone(), found)
    });
    overviews.collect()
}

fn kinds(snapshot: &Snapshot) -> Vec<FindingKind> {
    let found = overviews(snapshot);
    let findings = found.iter().flat_map(|(_, found)| &found.findings);
    findings.map(|finding| finding.kind).collect()
}

#[test]
fn parts_add_up_in_every_file() {
    for file in all_files() {
        let snapshot = decoded(&file);
        println!("== {}", file.name);
        for setting in Recording::of(snapshot.clone()).settings() {
            if setting.changed != Some(false) {
                println!(
                    "   setting {} = {} {}",
                    setting.key, setting.value, setting.effect
                );
            }
        }
        for (history, found) in overviews(&snapshot) {
            println!(
                "   device {}: segments {:?}, {:?}",
                history.device, found.segments, found.releases
            );
            for at in &found.gaps {
                check_parts(&file.name, &history, at.gap, at.active_bytes);
                println!("   {:?}", at);
            }
            check_operators(&file.name, &found);
            for finding in &found.findings {
                println!(
                    "   {:?} {:?} {}: {}",
                    finding.severity,
                    finding.kind,
                    Bytes(finding.bytes),
                    finding.title
                );
                println!(
                    "      seen: {}\n      may mean: {}\n      try: {:?}",
                    finding.seen, finding.may_mean, finding.to_try
                );
                for table in &finding.tables {
                    println!("      {}", table.title);
                    for row in &table.rows {
                        println!(
                            "        {} {} x {} {}",
                            Bytes(row.bytes),
                            row.count,
                            row.label,
                            row.remark
                        );
                    }
                }
            }
        }
    }
}

/// No row names more operators than it counts allocations.
fn check_operators(name: &str, found: &Overview) {
    let tables = found.findings.iter().flat_map(|finding| &finding.tables);
    let tables = tables.chain([&found.peak_sites]);
    for row in tables.flat_map(|table| &table.rows) {
        let others = row
            .remark
            .strip_suffix(" others")
            .or(row.remark.strip_suffix(" other"));
        let others = others.and_then(|named| named.rsplit(' ').next()?.parse::<u64>().ok());
        let named = others.map_or(0, |others| others + 2);
        assert!(named <= row.count, "{name}: {row:?}");
    }
}

fn check_parts(
    name: &str,
    history: &History,
    gap: vramscope_core::analysis::memory::gap::Gap,
    active_bytes: u64,
) {
    let parts = [
        gap.requested_bytes,
        gap.pending_bytes,
        gap.rounding_bytes,
        gap.partly_bytes,
        gap.empty_bytes,
        gap.other_pools_bytes,
        gap.other_streams_bytes,
    ];
    assert_eq!(
        parts.iter().sum::<u64>(),
        gap.reserved_bytes,
        "{name}: {gap:?}"
    );
    let live = gap.requested_bytes + gap.pending_bytes + gap.outside_bytes;
    assert_eq!(live, active_bytes, "{name}: {gap:?}");
    if history.mismatches == vramscope_core::analysis::time::history::Mismatches::default()
        && gap.outside_bytes == 0
    {
        assert!(gap.requested_bytes <= gap.reserved_bytes);
    }
}

#[test]
fn fixtures_of_torch_show_what_they_were_made_to_show() {
    let find = |name: &str| {
        let files = fixtures_in("torch-2.15.0");
        let file = files
            .into_iter()
            .find(|file| file.name.ends_with(name))
            .unwrap();
        kinds(&decoded(&file))
    };
    assert!(find("oom_after.pickle").contains(&FindingKind::OutOfMemory));
    assert!(find("oom_observer.pickle").contains(&FindingKind::OutOfMemory));
    assert!(find("streams_pending.pickle").contains(&FindingKind::PendingFree));
    assert!(find("private_pools.pickle").contains(&FindingKind::PrivatePools));
    assert!(find("cuda_graph.pickle").contains(&FindingKind::PrivatePools));
    for healthy in [
        "context_alloc.pickle",
        "stacks_all.pickle",
        "named_ranges.pickle",
        "training.pickle",
    ] {
        let found = find(healthy);
        let wrong = [
            FindingKind::OutOfMemory,
            FindingKind::Growth,
            FindingKind::PrivatePools,
            FindingKind::PendingFree,
        ];
        assert!(
            !found.iter().any(|kind| wrong.contains(kind)),
            "{healthy}: {found:?}"
        );
    }
}
