//! `vramscope check`: budgets for scripts and CI.

mod measure;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use vramscope_core::analysis::report::facts::{FactKind, facts};
use vramscope_core::analysis::roles::Role;
use vramscope_core::analysis::search::filter::parse_decimal;

use self::measure::{Limit, Measured, Measures, Value};
use crate::arguments::{Grouping, Inputs, Show, Size, parse_capacity, parse_number, parse_size};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask, report_all};
use crate::report::{Cell, Column, Part, column, detail};
use crate::subject::{Device, Subject};

/// Check budgets, for CI: exit code 3 if one is broken, with the call sites responsible
///
/// Each budget is checked for each device of each file, even if another is broken. A budget is broken when its value is
/// above its limit. One that cannot be measured in a file (no trace, no steps) is an error with exit code 1, never
/// silently passed; a damaged file breaks a budget of its own, unless --allow-damage is given. A broken budget is
/// explained by call sites (or by --group-by).
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// The most requested bytes that were live at once, pending frees included: 70GiB, or a card's name such as h100
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "SIZE", value_parser = parse_capacity)]
    max_peak: Option<Size>,
    /// The most bytes that were reserved from the device (segments) at once
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "SIZE", value_parser = parse_capacity)]
    max_reserved: Option<Size>,
    /// How much more is live at the end of each training step: the median of the slopes between all pairs of whole
    /// steps, without the first two (warm-up); needs at least four whole steps
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "SIZE[/step]", value_parser = parse_growth)]
    max_growth: Option<Size>,
    /// No request may have failed in the recorded events
    #[arg(long, help_heading = BUDGETS_HEADING)]
    no_oom: bool,
    /// Free memory stuck in pieces between memory in use (see `vramscope fragmentation`), as a share of reserved
    /// memory, at the moment with the most reserved memory
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "PERCENT", value_parser = parse_percent)]
    max_fragmentation: Option<f64>,
    /// Allocations made in the recorded events
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "N", value_parser = parse_number)]
    max_allocations: Option<u64>,
    /// Requested bytes that are live after the last event
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "SIZE", value_parser = parse_capacity)]
    max_live_at_end: Option<Size>,
    /// The most bytes of one role that were live at once, such as activations=20GiB; may be given several times. Roles
    /// are inferred (see `vramscope peak --group-by role`): a file in which the role of most memory is unknown cannot
    /// be measured
    #[arg(long, help_heading = BUDGETS_HEADING, value_name = "ROLE=SIZE", value_parser = parse_role)]
    max_role: Vec<(Role, u64)>,
    /// Check damaged files, too: without this, a file whose check sum does not match, or that contradicts itself,
    /// breaks a budget of its own. Damage is reported on standard error in any case
    #[arg(long, help_heading = BUDGETS_HEADING)]
    allow_damage: bool,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const BUDGETS_HEADING: &str = "Budgets";

const EXAMPLES: &str = "\
Examples:
  vramscope check snapshot.pickle --max-peak 70GiB --no-oom
  vramscope check rank*.pickle --max-growth 50MiB/step --max-fragmentation 10
  vramscope check snapshot.pickle --max-role activations=20GiB --max-role optimizer_state=30GiB
  vramscope check snapshot.pickle --max-live-at-end 1GiB --json | jq '.parts[].budgets[] | select(.state != \"ok\")'

Exit codes: 0 all budgets are kept, 3 one is broken or a file is damaged, 1 a file or budget cannot be read or measured, 2 wrong usage";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let mut limits = options.limits();
    if limits.is_empty() {
        let text = "give a budget to check, such as --max-peak 70GiB or --no-oom (see vramscope check --help)";
        return Err(Failure::Usage(text.to_owned()));
    }
    if !options.allow_damage {
        limits.push(Limit::NoDamage);
    }
    let check = Check {
        grouping: options.grouping,
        limits,
        checked: AtomicU64::new(0),
        broken: AtomicU64::new(0),
        unmeasured: AtomicU64::new(0),
    };
    let source = &mut Source::Files;
    let asked = ask(source, &check, &options.inputs, options.show);
    report_all(asked.err().into_iter().chain(check.verdict()))
}

impl Options {
    fn limits(&self) -> Vec<Limit> {
        let size = |size: Option<Size>| size.map(|size| size.0);
        let limits = [
            size(self.max_peak).map(Limit::Peak),
            size(self.max_reserved).map(Limit::Reserved),
            size(self.max_growth).map(Limit::Growth),
            self.no_oom.then_some(Limit::NoOom),
            self.max_fragmentation.map(Limit::Fragmentation),
            self.max_allocations.map(Limit::Allocations),
            size(self.max_live_at_end).map(Limit::LiveAtEnd),
        ];
        let of_roles = self.max_role.iter();
        let of_roles = of_roles.map(|&(role, bytes)| Limit::Role(role, bytes));
        limits.into_iter().flatten().chain(of_roles).collect()
    }
}

fn parse_growth(text: &str) -> Result<Size, String> {
    parse_size(text.strip_suffix("/step").unwrap_or(text))
}

fn parse_role(text: &str) -> Result<(Role, u64), String> {
    let (name, size) = text
        .split_once('=')
        .ok_or("write a role and a size, such as activations=20GiB")?;
    let role = Role::named(name).ok_or_else(|| {
        let known = Role::ALL.map(Role::word).join(", ");
        format!("{name} is not a role; the roles are {known}")
    })?;
    Ok((role, parse_size(size)?.0))
}

/// Parses a percentage as a share from 0 to 1.
fn parse_percent(text: &str) -> Result<f64, String> {
    match parse_decimal(text.strip_suffix('%').unwrap_or(text)) {
        Some(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write a percentage from 0 to 100, such as 10 or 12.5%".to_owned()),
    }
}

/// The budgets, and their results in all files.
struct Check {
    grouping: Grouping,
    limits: Vec<Limit>,
    checked: AtomicU64,
    broken: AtomicU64,
    unmeasured: AtomicU64,
}

impl Check {
    /// The failure, if a budget is broken or could not be measured; a broken one takes precedence.
    fn verdict(&self) -> Option<Failure> {
        let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let checked = count(&self.checked);
        match (count(&self.broken), count(&self.unmeasured)) {
            (0, 0) => None,
            (0, unmeasured) => Some(Failure::Input(format!(
                "{unmeasured} of {checked} budgets could not be measured: the answer says why"
            ))),
            (broken, _) => Some(Failure::Broken(format!(
                "{broken} of {checked} budgets broken"
            ))),
        }
    }
}

impl Question for Check {
    const COMMAND: &'static str = "check";

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        let devices: Vec<_> = subject.devices().collect();
        // torch records a trace for every visible GPU: skip idle ones, unless all are idle.
        let is_used = |device: &&Device<'_>| {
            let history = device.history;
            !history.allocations.is_empty() || history.most_reserved_bytes() > 0
        };
        let is_any_used = devices.iter().any(|device| is_used(&device));
        let asked = devices
            .iter()
            .filter(|device| !is_any_used || is_used(device));
        let parts: Vec<_> = asked.map(|device| self.about(device)).collect();
        if parts.is_empty() {
            let name = &subject.name;
            return Err(Failure::Input(format!(
                "{name}: no budget can be measured: the file has no device"
            )));
        }
        Ok(parts)
    }
}

const BUDGETS: [Column; 7] = [
    column("state", ""),
    column("value", "value"),
    column("limit", "limit"),
    column("over", "over by"),
    column("unit", "unit"),
    column("budget", "budget"),
    detail("why"),
];

impl Check {
    fn about(&self, device: &Device<'_>) -> Part {
        let mut part = Part::of(&device.subject.name, device.index());
        let measures = Measures::of(device, self.grouping);
        let mut rows = Vec::new();
        let mut broken = Vec::new();
        let mut unmeasured: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for &limit in &self.limits {
            // That a file is whole goes without saying.
            if limit == Limit::NoDamage && device.snapshot().warnings.damage().next().is_none() {
                continue;
            }
            self.checked.fetch_add(1, Ordering::Relaxed);
            let (state, value, why) = match measures.measure(limit) {
                Ok(Measured { value, makers }) if value.is_above(limit.value()) => {
                    self.broken.fetch_add(1, Ordering::Relaxed);
                    broken.push((limit, makers));
                    (State::Broken, Some(value), None)
                }
                Ok(measured) => (State::Ok, Some(measured.value), None),
                Err(advice) => {
                    self.unmeasured.fetch_add(1, Ordering::Relaxed);
                    unmeasured.entry(advice).or_default().push(limit.name());
                    (State::Unmeasured, None, Some(advice))
                }
            };
            rows.push((state, row(limit, state, value, why)));
        }
        rows.sort_by_key(|&(state, _)| state);
        let rows = rows.into_iter().map(|(_, row)| row).collect();
        part.table("budgets", "", &BUDGETS, rows);
        for (limit, makers) in broken {
            measures.makers_table(&mut part, limit, makers);
        }
        for (advice, names) in unmeasured {
            let names = names.join(", ");
            part.notes
                .push(format!("{names} cannot be measured: {advice}."));
        }
        gaps(&mut part, device);
        part
    }
}

/// The result of a budget, the most important first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Broken,
    Unmeasured,
    Ok,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Broken => "broken",
            Self::Unmeasured => "not measured",
            Self::Ok => "ok",
        }
    }
}

fn row(limit: Limit, state: State, value: Option<Value>, why: Option<&str>) -> Vec<Cell> {
    let over = value.and_then(|value| value.over(limit.value()));
    vec![
        Cell::Text(state.word().to_owned()),
        Cell::or_none(value, Value::cell),
        limit.cell(),
        Cell::or_none(over, Value::cell),
        Cell::Text(limit.value().unit().to_owned()),
        Cell::Text(limit.name()),
        Cell::or_none(why, |why| Cell::Text(why.to_owned())),
    ]
}

/// Notes the gaps in the recording, as budgets cover only recorded events.
fn gaps(part: &mut Part, device: &Device<'_>) {
    let gaps = facts(device.recording).into_iter().filter(|fact| {
        let is_gap = matches!(
            fact.kind,
            FactKind::RingFull { .. } | FactKind::SkippedActions { .. }
        );
        is_gap && fact.device.is_none_or(|of| of == device.index())
    });
    part.notes
        .extend(gaps.map(|fact| format!("Only recorded events are checked. {}", fact.text)));
}
