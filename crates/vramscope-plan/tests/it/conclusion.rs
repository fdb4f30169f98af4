//! What replays with other settings amount to, in scenarios and in real files.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::findings::{Finding, FindingKind, Severity};
use vramscope_core::decode;
use vramscope_plan::what_if::{add_conclusion, baseline, conclusion, is_worth_replaying};
use vramscope_synth::files;
use vramscope_synth::scenario;
use vramscope_synth::snapshot::{Producer, WriteOptions};

/// The conclusion about the first device of a file.
fn concluded(bytes: &[u8]) -> Option<Finding> {
    let recording = Recording::of(decode(bytes).unwrap());
    let device = recording.devices().next()?;
    let baseline = baseline(device).ok()?;
    let suggestions = baseline.suggestions.iter();
    let tried: Vec<_> = suggestions
        .flat_map(|changes| baseline.what_if(device, changes))
        .collect();
    let found = conclusion(device, &baseline, &tried);
    assert!(found.is_none() || is_worth_replaying(device));
    found
}

fn of_scenario(name: &str) -> Option<Finding> {
    let (_, make) = scenario::ALL
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    concluded(&make(1).to_pickle(&WriteOptions::new(Producer::Python(2, 15))))
}

/// The severity, the title and the variable to copy.
fn told(found: &Finding) -> (Severity, &str, Option<&str>) {
    let variable = found.evidence[0].variable.as_deref();
    (found.severity, &found.title, variable)
}

#[test]
fn a_failed_request_that_other_settings_serve() {
    let found = of_scenario("oom").unwrap();
    let variable = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    assert_eq!(
        told(&found),
        (
            Severity::Problem,
            "Would be served with expandable_segments:True",
            Some(variable)
        )
    );
    assert!(
        found
            .seen
            .ends_with("The model is exact on this recording."),
        "{}",
        found.seen
    );
}

#[test]
fn idle_memory_that_other_settings_save() {
    let found = of_scenario("fragmented").unwrap();
    assert_eq!(found.severity, Severity::Warning);
    assert_eq!(
        found.title, "322 MiB less reserved with expandable_segments:True",
        "a second setting must save a percent more"
    );
}

#[test]
fn idle_memory_of_which_settings_save_little() {
    let found = of_scenario("annotated").unwrap();
    assert_eq!(found.severity, Severity::Note);
    assert_eq!(
        found.title,
        "4.00 MiB less reserved with expandable_segments:True"
    );
}

#[test]
fn nothing_to_conclude() {
    assert_eq!(of_scenario("expandable"), None, "nothing is idle");
    assert_eq!(of_scenario("state-only"), None, "no trace");
}

/// Real files, where there are some: the bytes saved, as the table of what-ifs has them.
#[test]
fn real_files() {
    for file in files::real_files() {
        let found = concluded(&file.bytes);
        let title = found.as_ref().map(|found| found.title.as_str());
        if file.name.contains("xl_ctx512_full_step_bf16") {
            assert_eq!(
                title,
                Some("6.01 GiB less reserved with expandable_segments:True")
            );
        }
    }
}

#[test]
fn settings_that_serve_are_the_first_advice_about_the_failure() {
    let served = of_scenario("oom").unwrap();
    let failure = Finding {
        kind: FindingKind::OutOfMemory,
        to_try: vec![
            "Hold less.".to_owned(),
            "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, which joins free memory.".to_owned(),
        ],
        evidence: Vec::new(),
        ..served.clone()
    };
    let mut all = vec![failure];
    add_conclusion(&mut all, served.clone());
    assert_eq!(all.len(), 1);
    assert!(
        all[0].to_try[0].starts_with("Would be served with expandable_segments:True. Replayed"),
        "{:?}",
        all[0].to_try
    );
    assert_eq!(
        all[0].to_try.len(),
        3,
        "the advice without a replay is gone"
    );
    assert_eq!(all[0].to_try[2], "Hold less.");
    assert_eq!(all[0].evidence, served.evidence);
}

#[test]
fn its_place_among_findings() {
    let of = |kind, severity| Finding {
        kind,
        severity,
        ..of_scenario("annotated").unwrap()
    };
    let mut all = vec![
        of(FindingKind::OutOfMemory, Severity::Problem),
        of(FindingKind::Fragmentation, Severity::Warning),
        of(FindingKind::Cached, Severity::Note),
    ];
    add_conclusion(&mut all, of(FindingKind::Replay, Severity::Warning));
    let kinds: Vec<_> = all.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds[1], FindingKind::Replay, "{kinds:?}");
}
