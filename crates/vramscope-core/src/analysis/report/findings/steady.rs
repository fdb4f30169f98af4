//! Finding: live memory does not grow from step to step, which answers whether the program leaks.

use super::growth::{ENOUGH, how_told, is_much};
use super::{Evidence, EvidenceOf, Finding, FindingKind, Material, Severity};
use crate::units::{Bytes, Count};

/// Only for recordings without findings about growth or memory that is never freed.
pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let steps = material.device.steps()?;
    let (first, last) = steps.compared()?;
    let count = steps.settled().len();
    let (before, after) = (first.totals.after_bytes, last.totals.after_bytes);
    let grew = is_much(after.saturating_sub(before), before);
    // The first steps make memory that later ones keep, and few steps show no trend.
    if grew && count < ENOUGH {
        return None;
    }
    Some(Finding {
        kind: FindingKind::NoGrowth,
        severity: Severity::Note,
        bytes: 0,
        title: match grew {
            true => "No steady growth per step",
            false if after > before => "Next to no growth per step",
            false => "No growth per step",
        }
        .to_owned(),
        seen: format!(
            "{} were live after step {}, and {} after step {}, the last whole one of {}.{}{}",
            Bytes(before),
            Count(first.number),
            Bytes(after),
            Count(last.number),
            Count(steps.steps.len() as u64),
            if grew {
                " But it does not rise with most steps, and no call site keeps something of each."
            } else {
                ""
            },
            how_told(steps)
        ),
        figures: Vec::new(),
        may_mean: if grew {
            "Sizes that vary from step to step, or a cache that fills: more steps would tell."
        } else {
            "What a step makes is freed in it or by the next one. What leaks more rarely than these steps could show is \
             not seen."
        }
        .to_owned(),
        setting: None,
        to_try: vec![
            "If memory grows only over hours, record more steps, or a snapshot early and one late, and compare them."
                .to_owned(),
        ],
        tables: Vec::new(),
        evidence: vec![Evidence::range(
            "the steps",
            EvidenceOf::LiveMemory,
            (first.moments.1, last.moments.1),
        )],
    })
}
