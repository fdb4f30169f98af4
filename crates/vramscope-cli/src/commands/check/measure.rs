//! Measures the value of a budget, and the call sites that cause it.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use vramscope_core::analysis::groups::group_changes::group_changes;
use vramscope_core::analysis::groups::grouping::{GroupColumn, group_totals};
use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::report::facts::warning_text;
use vramscope_core::analysis::report::fragmentation::{pinned, places};
use vramscope_core::analysis::report::overview::{SegmentsKnown, reserved_peak};
use vramscope_core::analysis::report::peak_roles::{PeakRoles, peak_of_role};
use vramscope_core::analysis::roles::Role;
use vramscope_core::analysis::time::selection::{Moments, Selection};
use vramscope_core::ids::EventId;

use crate::arguments::Grouping;
use crate::hints::hints;
use crate::report::{Cell, Column, Part, column, sum};
use crate::subject::Device;

/// A budget and its limit: bytes, a share or a number.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Limit {
    Peak(u64),
    Reserved(u64),
    Growth(u64),
    NoOom,
    Fragmentation(f64),
    Allocations(u64),
    LiveAtEnd(u64),
    Role(Role, u64),
    /// Set unless the user allows damage; shown only if it is broken.
    NoDamage,
}

impl Limit {
    /// The option's name.
    pub(super) fn name(self) -> String {
        let name = match self {
            Self::Role(role, _) => return format!("--max-role {}", role.word()),
            Self::Peak(_) => "--max-peak",
            Self::Reserved(_) => "--max-reserved",
            Self::Growth(_) => "--max-growth",
            Self::NoOom => "--no-oom",
            Self::Fragmentation(_) => "--max-fragmentation",
            Self::Allocations(_) => "--max-allocations",
            Self::LiveAtEnd(_) => "--max-live-at-end",
            Self::NoDamage => "no damage",
        };
        name.to_owned()
    }

    /// The limit for display: a limit on growth has no sign.
    pub(super) fn cell(self) -> Cell {
        match self {
            Self::Growth(bytes) => Cell::Bytes(bytes),
            other => other.value().cell(),
        }
    }

    pub(super) fn value(self) -> Value {
        match self {
            Self::Peak(bytes)
            | Self::Reserved(bytes)
            | Self::LiveAtEnd(bytes)
            | Self::Role(_, bytes) => Value::Bytes(bytes),
            Self::Growth(bytes) => Value::BytesPerStep(i64::try_from(bytes).unwrap_or(i64::MAX)),
            Self::NoOom | Self::NoDamage => Value::Number(0),
            Self::Fragmentation(share) => Value::Share(share),
            Self::Allocations(number) => Value::Number(number),
        }
    }
}

/// A measured value or a limit.
#[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
pub(super) enum Value {
    Bytes(u64),
    BytesPerStep(i64),
    Number(u64),
    Share(f64),
}

impl Value {
    /// Whether the value breaks a limit of the same kind.
    pub(super) fn is_above(self, limit: Self) -> bool {
        self > limit
    }

    /// The excess over a limit.
    pub(super) fn over(self, limit: Self) -> Option<Self> {
        if !self.is_above(limit) {
            return None;
        }
        match (self, limit) {
            (Self::Bytes(value), Self::Bytes(limit)) => Some(Self::Bytes(value - limit)),
            (Self::BytesPerStep(value), Self::BytesPerStep(limit)) => {
                Some(Self::BytesPerStep(value.saturating_sub(limit)))
            }
            (Self::Number(value), Self::Number(limit)) => Some(Self::Number(value - limit)),
            (Self::Share(value), Self::Share(limit)) => Some(Self::Share(value - limit)),
            _ => None,
        }
    }

    pub(super) fn cell(self) -> Cell {
        match self {
            Self::Bytes(bytes) => Cell::Bytes(bytes),
            Self::BytesPerStep(bytes) => Cell::BytesChange(bytes),
            Self::Number(number) => Cell::Number(number),
            Self::Share(share) => Cell::Share(share),
        }
    }

    pub(super) fn unit(self) -> &'static str {
        match self {
            Self::Bytes(_) => "bytes",
            Self::BytesPerStep(_) => "bytes/step",
            Self::Number(_) => "number",
            Self::Share(_) => "share",
        }
    }
}

/// The allocations that explain a value.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Makers {
    LiveAt(u32),
    RoleAt(Role, u32),
    /// Allocations live at the second moment but not at the first.
    Grown(Moments),
    /// Failed requests, by the moments that begin with them.
    Requests(Vec<u32>),
    /// Allocations in segments with stuck memory at a moment.
    Pinning(u32),
    Allocating,
    /// The file as a whole.
    File,
    /// The file gives only the value itself.
    Unknown,
}

/// A measured budget.
pub(super) struct Measured {
    pub(super) value: Value,
    pub(super) makers: Makers,
}

/// The device that is measured.
pub(super) struct Measures<'a> {
    device: &'a Device<'a>,
    grouping: Grouping,
    groups: OnceCell<GroupColumn>,
    segments: OnceCell<SegmentsKnown>,
}

impl<'a> Measures<'a> {
    pub(super) fn of(device: &'a Device<'a>, grouping: Grouping) -> Self {
        Self {
            device,
            grouping,
            groups: OnceCell::new(),
            segments: OnceCell::new(),
        }
    }

    /// The value of a budget; the error names the missing data, with advice.
    pub(super) fn measure(&self, limit: Limit) -> Result<Measured, &'static str> {
        match limit {
            Limit::LiveAtEnd(_) => Ok(self.live(self.device.history.event_count)),
            Limit::Peak(limit) => {
                self.need_trace()?;
                let history = self.device.history;
                let may_have_been_higher =
                    history.peak_bytes() <= limit && history.reserved_bytes(0) > limit;
                if may_have_been_higher && self.need_segments().is_ok() {
                    return Err(BEGAN_LATE);
                }
                Ok(self.live(history.peak_moment))
            }
            Limit::Reserved(_) => self.reserved(),
            Limit::Growth(_) => self.growth(),
            Limit::NoOom => self.failures(),
            Limit::Fragmentation(_) => self.fragmentation(),
            Limit::Allocations(_) => self.allocations(),
            Limit::Role(role, _) => self.role(role),
            Limit::NoDamage => Ok(self.damage()),
        }
    }

    fn role(&self, role: Role) -> Result<Measured, &'static str> {
        self.need_trace()?;
        if !PeakRoles::of(**self.device).tells_most() {
            return Err(UNKNOWN_ROLES);
        }
        let (bytes, moment) = peak_of_role(**self.device, role);
        Ok(Measured {
            value: Value::Bytes(bytes),
            makers: Makers::RoleAt(role, moment),
        })
    }

    fn damage(&self) -> Measured {
        let damage = self.device.subject.snapshot.warnings.damage();
        let count = damage.fold(0_u64, |sum, warning| sum.saturating_add(warning.count));
        Measured {
            value: Value::Number(count),
            makers: Makers::File,
        }
    }

    fn live(&self, moment: u32) -> Measured {
        Measured {
            value: Value::Bytes(self.device.history.active_bytes_at(moment)),
            makers: Makers::LiveAt(moment),
        }
    }

    /// A single recorded event means `enabled="state"`, which records no trace.
    fn need_trace(&self) -> Result<(), &'static str> {
        match self.device.history.event_count {
            0 | 1 => Err(hints(**self.device).no_trace),
            _ => Ok(()),
        }
    }

    fn need_segments(&self) -> Result<(), &'static str> {
        let known = || SegmentsKnown::of(**self.device);
        match self.segments.get_or_init(known) {
            SegmentsKnown::Real => Ok(()),
            SegmentsKnown::Doubtful => Err(DOUBTFUL_SEGMENTS),
            SegmentsKnown::MadeUp | SegmentsKnown::None => Err(hints(**self.device).no_segments),
        }
    }

    fn reserved(&self) -> Result<Measured, &'static str> {
        self.need_trace()?;
        if !self.device.is_reserved_known()
            && let Some(bytes) = self.device.peak_reserved_bytes()
        {
            return Ok(Measured {
                value: Value::Bytes(bytes),
                makers: Makers::Unknown,
            });
        }
        self.need_segments()?;
        let history = self.device.history;
        let moment = reserved_peak(history);
        Ok(Measured {
            value: Value::Bytes(history.reserved_bytes(moment)),
            makers: Makers::LiveAt(moment),
        })
    }

    fn growth(&self) -> Result<Measured, &'static str> {
        self.need_trace()?;
        let snapshot = &self.device.subject.snapshot;
        if snapshot.warnings.hide_frees() {
            return Err(FREES_UNKNOWN);
        }
        let unplaced = self.device.lanes().unplaced > 0;
        let missing = match unplaced {
            true => UNPLACED,
            false => hints(**self.device).no_steps,
        };
        self.device.steps().ok_or(missing)?;
        let growth = self.device.growth().ok_or(FEW_STEPS)?;
        Ok(Measured {
            value: Value::BytesPerStep(growth.per_step_bytes),
            makers: Makers::Grown(growth.moments),
        })
    }

    fn failures(&self) -> Result<Measured, &'static str> {
        self.need_trace()?;
        if !self.device.tells_failures() {
            return Err(NO_FAILURES);
        }
        let failed = self.device.failed_requests();
        Ok(Measured {
            value: Value::Number(failed.len() as u64),
            makers: Makers::Requests(failed.to_vec()),
        })
    }

    fn fragmentation(&self) -> Result<Measured, &'static str> {
        self.need_trace()?;
        self.need_segments()?;
        let device = self.device;
        let moment = reserved_peak(device.history);
        let state = device.state_at(moment);
        Ok(Measured {
            value: Value::Share(places(&state).0.stuck_share()),
            makers: Makers::Pinning(moment),
        })
    }

    fn allocations(&self) -> Result<Measured, &'static str> {
        self.need_trace()?;
        let history = self.device.history;
        let whole = (0, history.event_count);
        let totals = self.device.sums().totals(history, whole);
        Ok(Measured {
            value: Value::Number(totals.allocations.into()),
            makers: Makers::Allocating,
        })
    }

    fn groups(&self) -> &GroupColumn {
        let made = || self.device.groups(self.grouping);
        self.groups.get_or_init(made)
    }

    /// Adds the table of call sites that break a budget.
    pub(super) fn makers_table(&self, part: &mut Part, limit: Limit, makers: Makers) {
        let (key, title) = match limit {
            Limit::Peak(_) => ("peak_by", "Live at the peak"),
            Limit::Reserved(_) => ("reserved_by", "Live when most was reserved"),
            Limit::Growth(_) => (
                "growth_by",
                "More live after the last step than after the warm-up",
            ),
            Limit::NoOom => ("failed_by", "Requests that failed"),
            Limit::Fragmentation(_) => {
                ("fragmentation_by", "Who pins segments that are mostly free")
            }
            Limit::Allocations(_) => ("allocations_by", "Who allocates"),
            Limit::LiveAtEnd(_) => ("live_at_end_by", "Live at the end"),
            Limit::Role(role, _) => (ROLE_KEYS[role.ordinal()], "Live when most of this role was"),
            Limit::NoDamage => (
                "damage_by",
                "Damaged: the figures may be wrong (--allow-damage checks them anyway)",
            ),
        };
        let (columns, rows): (&[Column], _) = match makers {
            Makers::LiveAt(moment) => (&LIVE, self.totals(Selection::LiveAt(moment))),
            Makers::RoleAt(role, moment) => (&LIVE, self.of_role(role, moment)),
            Makers::Allocating => {
                let whole = (0, self.device.history.event_count);
                let mut rows = self.totals(Selection::AllocatedIn(whole));
                rows.sort_by_key(|row| match row[1] {
                    Cell::Number(count) => std::cmp::Reverse(count),
                    _ => std::cmp::Reverse(0),
                });
                (&LIVE, rows)
            }
            Makers::Grown(moments) => (&GROWN, self.grown(moments)),
            Makers::Requests(failed) => (&FAILED, self.requests(&failed)),
            Makers::Pinning(moment) => (&PINNING, self.pinning(moment)),
            Makers::File => (&DAMAGE, self.kinds_of_damage()),
            Makers::Unknown => return,
        };
        part.table(key, title, columns, rows);
    }

    fn kinds_of_damage(&self) -> Vec<Vec<Cell>> {
        let damage = self.device.subject.snapshot.warnings.damage();
        let rows = damage.map(|warning| {
            vec![
                Cell::Number(warning.count),
                Cell::Text(warning_text(&warning.kind)),
            ]
        });
        rows.collect()
    }

    fn label(&self, group: u32) -> Cell {
        Cell::Text(self.groups().labels[group as usize].clone())
    }

    fn totals(&self, selection: Selection) -> Vec<Vec<Cell>> {
        let totals = group_totals(self.device.history, self.groups(), selection);
        let rows = totals.iter().map(|total| {
            vec![
                Cell::Bytes(total.bytes),
                Cell::Number(total.count),
                self.label(total.group),
            ]
        });
        rows.collect()
    }

    fn of_role(&self, role: Role, moment: u32) -> Vec<Vec<Cell>> {
        let (history, groups) = (self.device.history, self.groups());
        let rules = self.device.rule_of();
        let mut totals: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        let live = live_at(history, moment).map(|id| id.index());
        for row in live.filter(|&row| rules[row].role() == role) {
            let (bytes, count) = totals.entry(groups.of[row]).or_default();
            *bytes = bytes.saturating_add(history.allocations.bytes[row]);
            *count += 1;
        }
        let mut totals: Vec<_> = totals.into_iter().collect();
        totals.sort_by_key(|&(group, (bytes, _))| (std::cmp::Reverse(bytes), group));
        let rows = totals.iter().map(|&(group, (bytes, count))| {
            vec![Cell::Bytes(bytes), Cell::Number(count), self.label(group)]
        });
        rows.collect()
    }

    fn grown(&self, moments: Moments) -> Vec<Vec<Cell>> {
        let mut changes = group_changes(self.device.history, self.groups(), &[moments]).groups;
        changes.retain(|change| change.net_bytes() > 0);
        changes.sort_by_key(|change| std::cmp::Reverse(change.net_bytes()));
        let rows = changes.iter().map(|change| {
            vec![
                Cell::BytesChange(change.net_bytes()),
                Cell::Bytes(change.retained.bytes),
                self.label(change.group),
            ]
        });
        rows.collect()
    }

    fn requests(&self, failed: &[u32]) -> Vec<Vec<Cell>> {
        let subject = self.device.subject;
        let rows = failed.iter().map(|&moment| {
            let event = EventId(self.device.history.first_event + moment - 1);
            let event = subject.snapshot.events.get(event);
            let site = subject.call_sites().of_stack(event.stack);
            vec![
                Cell::Bytes(event.size),
                Cell::Number(moment.into()),
                Cell::Text(subject.call_sites().get(site).label.clone()),
            ]
        });
        rows.collect()
    }

    fn pinning(&self, moment: u32) -> Vec<Vec<Cell>> {
        let device = self.device;
        let state = device.state_at(moment);
        let (_, groups) = pinned(&state, self.groups(), false);
        let rows = groups.iter().map(|pinning| {
            vec![
                Cell::Bytes(pinning.stuck_bytes),
                Cell::Bytes(pinning.held_bytes),
                self.label(pinning.group),
            ]
        });
        rows.collect()
    }
}

const LIVE: [Column; 3] = [
    sum("bytes", "bytes"),
    sum("allocations", "allocations"),
    column("group", ""),
];
const GROWN: [Column; 3] = [
    sum("growth_bytes", "growth"),
    sum("retained_bytes", "new and kept"),
    column("group", ""),
];
const FAILED: [Column; 3] = [
    column("requested_bytes", "requested"),
    column("moment", "event"),
    column("call_site", ""),
];
const DAMAGE: [Column; 2] = [sum("count", "count"), column("damage", "")];
const PINNING: [Column; 3] = [
    column("stuck_bytes", "stuck"),
    sum("held_bytes", "held"),
    column("group", ""),
];

const DOUBTFUL_SEGMENTS: &str =
    "the file's segments contradict its other data: it is damaged or was altered";
const NO_FAILURES: &str = "a memory timeline does not record failed requests: export_chrome_trace() of the same profiler writes them";
const FREES_UNKNOWN: &str =
    "the file has events of unknown actions, or lacks frees, so that it is unknown what stays live";
const UNPLACED: &str =
    "annotations cannot be placed, as times are missing or go back, and stacks show no steps";
/// The keys of the tables of the roles, in the order of [`Role::ALL`].
const ROLE_KEYS: [&str; 10] = [
    "parameter_by",
    "gradient_by",
    "optimizer_state_by",
    "activation_by",
    "kv_cache_by",
    "input_by",
    "communication_by",
    "workspace_by",
    "temporary_by",
    "unknown_by",
];
const UNKNOWN_ROLES: &str =
    "the role of most memory at the file's peak is unknown: record with stacks";
const BEGAN_LATE: &str = "more than that was reserved when the recording began, so that the peak may lie before it: record \
                          from the start of the program, with more entries";
const FEW_STEPS: &str =
    "fewer than four whole steps were recorded, and the first two are warm-up. Record more";
