//! `vramscope explain`: what memory was for, what stands out, and what would help.

use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::report::causes::{Cause, CauseClass};
use vramscope_core::analysis::report::facts::{FactKind, facts};
use vramscope_core::analysis::report::findings::{Finding, NOT_TOLD, Severity, is_calm};
use vramscope_core::analysis::report::overview::overview;
use vramscope_plan::what_if::concluded;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Part, Said, Told, column};
use crate::subject::{Device, Subject};

/// Say what memory was for, what stands out, and what would help
///
/// First what the peak is made of, then the findings, the worst first: each with its figures, what it may mean and what
/// to try. If a request failed or much reserved memory is idle, other settings of the allocator are replayed and
/// changes of the program computed, with how wrong the result may be. Roles and phases are inferred from stacks,
/// lifetimes and sizes.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope explain snapshot.pickle
  vramscope explain rank*.pickle --json | jq -r '.parts[].findings[]? | [.severity, .title] | @tsv'";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "explain";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        subject.each_device(|device| Ok(about(device)))
    }
}

fn about(device: &Device<'_>) -> Part {
    let mut found = overview(**device, 0);
    if let Some(conclusion) = concluded(**device) {
        found.conclude(conclusion);
    }
    let mut part = Part::of(&device.subject.name, device.index());
    let sentence = found.roles.sentence();
    let verdict = found.verdict();
    part.say("  ", &verdict);
    part.fact("verdict", "", Cell::Text(verdict.clone()));
    part.fact("peak_bytes", "", Cell::Bytes(found.peak.active_bytes));
    part.fact("made_of", "", Cell::or_none(sentence.clone(), Cell::Text));
    if let Some(sentence) = sentence.filter(|sentence| *sentence != verdict) {
        part.prose.push(String::new());
        part.say("  ", &sentence);
    }
    let is_untold = |cause: &&Cause| {
        cause.class != CauseClass::TooMuchLive && cause.from.is_none() && !cause.seen.is_empty()
    };
    if let Some(cause) = found.causes.first().filter(is_untold) {
        part.prose.push(String::new());
        part.say("  ", &cause.seen);
        part.say("  > ", &cause.advice);
    }
    for fact in facts(device.recording) {
        let is_state = matches!(fact.kind, FactKind::NoTrace | FactKind::StateOnly);
        let is_gathered = matches!(fact.kind, FactKind::TracesGathered { .. });
        if is_gathered || is_state && fact.device == Some(device.index()) {
            part.prose.push(String::new());
            // What only a state shows is said above.
            let text = Some(&fact.text).filter(|_| is_gathered);
            for text in text.into_iter().chain([&fact.meaning, &fact.advice]) {
                part.say("  ", text);
            }
        }
    }
    if is_calm(&found.findings) {
        let said = match found.is_damaged {
            true => NOT_TOLD,
            false => "Nothing found that looks wrong.",
        };
        part.say("  ", said);
    }
    const KEYS: [&str; 8] = [
        "severity", "kind", "title", "bytes", "seen", "may_mean", "try", "setting",
    ];
    let findings = Told {
        values: found.findings,
        row,
        words,
    };
    part.told("findings", "", &KEYS, findings);
    phases_table(&mut part, device);
    part
}

fn row(finding: &Finding) -> Vec<Cell> {
    let advice: Vec<String> = finding.advice().map(str::to_owned).collect();
    vec![
        Cell::word(finding.severity),
        Cell::word(finding.kind),
        Cell::Text(finding.title.clone()),
        Cell::Bytes(finding.bytes),
        Cell::Text(finding.seen.clone()),
        Cell::Text(finding.may_mean.clone()),
        Cell::Lines(Arc::new(advice)),
        Cell::or_none(variable(finding).map(str::to_owned), Cell::Text),
    ]
}

/// A finding in words.
fn words(finding: &Finding) -> Vec<Said> {
    let is_note = finding.severity == Severity::Note;
    let sign = if is_note { "  - " } else { "  ! " };
    let mut said = vec![
        Said::new(sign, &finding.title),
        Said::new("    ", &finding.seen),
    ];
    if !is_note {
        said.push(Said::new("    ", &finding.may_mean));
    }
    said.extend(finding.advice().map(|text| Said::new("    > ", text)));
    said.extend(variable(finding).map(|variable| Said::Whole(format!("      {variable}"))));
    said
}

fn phases_table(part: &mut Part, device: &Device<'_>) {
    let peaks = device.phases().peaks(device.history).into_iter();
    let peaks = peaks.filter(|_| device.history.has_trace());
    let rows = peaks.map(|peak| {
        vec![
            Cell::Bytes(peak.active_bytes),
            Cell::Number(peak.moment.into()),
            Cell::Text(peak.phase.word().to_owned()),
        ]
    });
    let columns = [
        column("peak_bytes", "peak"),
        column("peak_moment", "after event"),
        column("phase", "phase (inferred)"),
    ];
    part.table("phases", "", &columns, rows.collect());
}

/// The environment variable for a finding's advice.
fn variable(finding: &Finding) -> Option<&str> {
    let mut evidence = finding.evidence.iter();
    evidence.find_map(|evidence| evidence.variable.as_deref())
}
