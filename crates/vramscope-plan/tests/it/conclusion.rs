//! Conclusions from replays with other settings, in scenarios and in real files.

use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::findings::{Finding, FindingKind, Severity};
use vramscope_core::analysis::report::idle::is_worth_replaying;
use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::decode;
use vramscope_core::units::Bytes;
use vramscope_plan::what_if::{baseline, conclusion, replays};
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
    concluded(&scenario_bytes(name))
}

fn scenario_bytes(name: &str) -> Vec<u8> {
    let (_, make) = scenario::ALL
        .iter()
        .find(|(known, _)| *known == name)
        .unwrap();
    make(1).to_pickle(&WriteOptions::new(Producer::Python(2, 15)))
}

/// The severity, the title and the variable to copy.
fn told(found: &Finding) -> (Severity, &str, Option<&str>) {
    let variable = found.evidence[0].variable.as_deref();
    (found.severity, &found.title, variable)
}

/// The setting of a saving, and the saving compared with the measured peak.
fn saved(found: &Finding) -> (&str, String) {
    let setting = found.setting.as_ref().unwrap();
    let replayed = setting.replayed.as_ref().unwrap();
    let saved = replayed.measured_bytes - replayed.reserved_bytes;
    assert_eq!(found.bytes, saved);
    (&replayed.changes, Bytes(saved).to_string())
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
        saved(&found),
        ("expandable_segments:True", "322 MiB".to_owned()),
        "a second setting must save a percent more"
    );
}

#[test]
fn idle_memory_of_which_settings_save_little() {
    let found = of_scenario("annotated").unwrap();
    assert_eq!(found.severity, Severity::Note);
    assert_eq!(
        saved(&found),
        ("expandable_segments:True", "4.00 MiB".to_owned())
    );
}

#[test]
fn nothing_to_conclude() {
    assert_eq!(of_scenario("expandable"), None, "nothing is idle");
    assert_eq!(of_scenario("state-only"), None, "no trace");
}

/// The reserved peak is never below the active peak, so no saving may exceed what was idle.
#[test]
fn no_saving_exceeds_what_is_idle() {
    let (mut savings, mut refused) = (0, 0);
    let scenarios = scenario::ALL.iter().map(|(name, _)| scenario_bytes(name));
    let real = files::real_files().into_iter().map(|file| file.bytes);
    for bytes in scenarios.chain(real) {
        let recording = Recording::of(decode(&bytes[..]).unwrap());
        for device in recording.devices() {
            let Some((baseline, tried)) = replays(device) else {
                continue;
            };
            refused += usize::from(baseline.refusal.is_some());
            let found = conclusion(device, &baseline, &tried);
            assert!(found.is_none() || baseline.refusal.is_none());
            let replayed = found.and_then(|found| found.setting?.replayed);
            let Some(replayed) = replayed.filter(|it| !it.serves) else {
                continue;
            };
            savings += 1;
            assert_eq!(
                replayed.measured_bytes,
                device.history.most_reserved_bytes()
            );
            assert!(
                replayed.reserved_bytes >= device.peak_bytes(),
                "{replayed:?}"
            );
            let saved = replayed.measured_bytes - replayed.reserved_bytes;
            assert!(saved > replayed.error_bytes, "{replayed:?}");
        }
    }
    assert!(savings > 1, "{savings} savings, {refused} refused");
}

/// Real files, if available: the bytes saved, as in the table of what-ifs.
#[test]
fn real_files() {
    for file in files::real_files() {
        let found = concluded(&file.bytes);
        let title = found.as_ref().map(|found| found.title.as_str());
        if file.name.contains("xl_ctx512_full_step_bf16") {
            let expected = "About 64.3 GiB (± 2.53 GiB) would be reserved with expandable_segments:True, not 72.8 GiB";
            assert_eq!(title, Some(expected));
        }
    }
}

/// The overview of a scenario's first device, with the conclusion.
fn overview_of(name: &str) -> Overview {
    let recording = Recording::of(decode(&scenario_bytes(name)[..]).unwrap());
    let mut overview = overview(recording.devices().next().unwrap(), 0);
    if let Some(conclusion) = of_scenario(name) {
        overview.conclude(conclusion);
    }
    overview
}

#[test]
fn settings_that_serve_are_the_first_advice_about_the_failure() {
    let overview = overview_of("oom");
    let failure = &overview.findings[0];
    assert_eq!(failure.kind, FindingKind::OutOfMemory);
    let advice: Vec<_> = failure.advice().collect();
    assert!(
        advice[0].starts_with("Would be served with expandable_segments:True. Replayed"),
        "{advice:?}"
    );
    let settings = advice.iter().filter(|it| it.contains("expandable"));
    assert_eq!(settings.count(), 1, "{advice:?}");
    assert!(failure.evidence.iter().any(|of| of.variable.is_some()));
    let verdict = overview.verdict();
    assert!(
        verdict.starts_with("Fragmented: ")
            && verdict.ends_with("; expandable_segments:True serves it."),
        "{verdict}"
    );
}

#[test]
fn its_place_among_findings() {
    let overview = overview_of("fragmented");
    assert_eq!(overview.findings[0].kind, FindingKind::Replay);
    let title = &overview.findings[0].title;
    assert!(title.contains("would be reserved with expandable_segments:True, not"));
    // A twentieth does not make a verdict.
    let verdict = overview.verdict();
    assert!(
        verdict.starts_with("At the peak, 5.36 GiB: 4.11 GiB KV cache"),
        "{verdict}"
    );
    assert_eq!(overview.causes[1].title, *title);
}
