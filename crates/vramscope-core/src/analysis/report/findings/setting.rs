//! Findings about settings that seem to have no effect in this file.

use super::{Evidence, EvidenceOf, Finding, FindingKind, Material, Severity};
use crate::units::Count;

pub(super) fn find(material: Material<'_>) -> Vec<Finding> {
    [
        expandable_without_effect(material),
        collection_without_limit(material),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// `expandable_segments:True`, but no segment is expandable.
fn expandable_without_effect(material: Material<'_>) -> Option<Finding> {
    if material.config.expandable_segments != Some(true) {
        return None;
    }
    let device = i32::try_from(material.device.history.device).ok()?;
    let segments = || material.device.snapshot().segments.of_device(device);
    let fixed = segments().filter(|(_, segment)| segment.is_expandable == Some(false));
    let (fixed, all) = (fixed.count() as u64, segments().count() as u64);
    if all == 0 || fixed < all {
        return None;
    }
    Some(Finding {
        kind: FindingKind::Setting,
        severity: Severity::Warning,
        bytes: material.at_end.reserved_bytes,
        title: "expandable_segments is on, but no segment is expandable".to_owned(),
        seen: format!("All {} segments at the end are fixed ones.", Count(all)),
        figures: Vec::new(),
        may_mean: "They were made before the setting was changed, or the platform cannot do it (PyTorch then warns and \
                   goes on without)."
            .to_owned(),
        setting: None,
        to_try: vec!["Set it in the environment before the program starts, and look for a warning in its output.".to_owned()],
        tables: Vec::new(),
        evidence: vec![Evidence::new("all settings", EvidenceOf::FileFacts)],
    })
}

/// `garbage_collection_threshold` is set without a memory limit, so PyTorch ignores it.
fn collection_without_limit(material: Material<'_>) -> Option<Finding> {
    let threshold = material.config.garbage_collection_threshold?;
    if threshold <= 0.0 || material.releases.frees > 0 || material.config.memory_fraction.is_some()
    {
        return None;
    }
    Some(Finding {
        kind: FindingKind::Setting,
        severity: Severity::Note,
        bytes: 0,
        title: "garbage_collection_threshold is set, but nothing was given back".to_owned(),
        seen: format!("The threshold is {threshold}; the recording has no segment_free event."),
        figures: Vec::new(),
        may_mean: "It was not passed while recording. Or no memory fraction is set: without \
                   set_per_process_memory_fraction() PyTorch does not collect at all."
            .to_owned(),
        setting: None,
        to_try: vec![
            "Call torch.cuda.set_per_process_memory_fraction(), or do without the threshold."
                .to_owned(),
        ],
        tables: Vec::new(),
        evidence: vec![Evidence::new("all settings", EvidenceOf::FileFacts)],
    })
}
