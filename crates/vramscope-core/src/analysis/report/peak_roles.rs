//! A device's peak, by role.

use serde::{Deserialize, Serialize};

use crate::analysis::groups::grouping::{GroupColumn, group_totals};
use crate::analysis::properties::Property;
use crate::analysis::recording::Device;
use crate::analysis::roles::{Confidence, Role};
use crate::analysis::time::byte_steps::{ByteChanges, first_most};
use crate::analysis::time::history::NEVER;
use crate::analysis::time::selection::Selection;
use crate::ids::AllocationId;
use crate::sorting::SortFew;
use crate::units::Bytes;

/// The allocations of one role that are live at the peak.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleTotal {
    /// The role.
    pub role: Role,
    /// Their requested bytes.
    pub bytes: u64,
    /// Their number.
    pub count: u64,
}

/// The peak of active memory by role.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PeakRoles {
    /// The roles present, most bytes first, [`Role::Unknown`] last.
    pub rows: Vec<RoleTotal>,
    /// Requested bytes of all of them.
    pub peak_bytes: u64,
    /// Whether the file has more than the final state, which otherwise takes the place of the peak.
    pub has_trace: bool,
    /// Whether some role was inferred from more than the file's own words or the code that made the memory.
    pub is_inferred: bool,
    /// Whether the file records roles.
    #[serde(default)]
    pub is_recorded: bool,
    /// Whether the role of most bytes was inferred from sizes alone: they have neither a stack nor a recorded begin or
    /// end.
    pub by_size_alone: bool,
}

impl PeakRoles {
    /// Sums the memory live at the device's peak.
    #[must_use]
    pub fn of(device: Device<'_>) -> Self {
        Self::at(device, device.history.peak_moment)
    }

    /// Sums the memory live at another moment.
    #[must_use]
    pub fn at(device: Device<'_>, moment: u32) -> Self {
        let history = device.history;
        let column = GroupColumn::of(device, Property::Role, 1);
        let live = Selection::LiveAt(moment);
        let mut rows: Vec<RoleTotal> = group_totals(history, &column, live)
            .into_iter()
            .map(|total| RoleTotal {
                role: Role::ALL[total.group as usize],
                bytes: total.bytes,
                count: total.count,
            })
            .collect();
        rows.sort_few_by_key(|row| row.role == Role::Unknown);
        let rule = |id: AllocationId| device.rule_of()[id.index()].rule();
        // An unknown role is not inferred.
        let is_inferred = |id: AllocationId| {
            let rule = rule(id);
            rule.role != Role::Unknown && rule.confidence != Confidence::Certain
        };
        let is_recorded = |id: AllocationId| rule(id).is_recorded();
        let table = &history.allocations;
        let tells_nothing = |id: &AllocationId| {
            let row = id.index();
            let is_bare = !device.stack_of()[row].has_frames();
            let is_told = device.rule_of()[row].role() != Role::Unknown;
            is_told && is_bare && table.born[row] == 0 && table.died[row] == NEVER
        };
        let bare = live.allocations(history).filter(tells_nothing);
        let bare: u128 = bare.map(|id| u128::from(table.bytes[id.index()])).sum();
        Self {
            rows,
            peak_bytes: history.active_bytes_at(moment),
            has_trace: history.has_trace(),
            is_inferred: live.allocations(history).any(is_inferred),
            is_recorded: live.allocations(history).any(is_recorded),
            by_size_alone: bare * 2 > u128::from(history.active_bytes_at(moment)),
        }
    }

    /// Whether the role of most of the bytes is known.
    #[must_use]
    pub fn tells_most(&self) -> bool {
        let known = self.rows.iter().filter(|row| row.role != Role::Unknown);
        let known: u128 = known.map(|row| u128::from(row.bytes)).sum();
        known * 2 > u128::from(self.peak_bytes)
    }

    /// `At the peak, 51.0 GiB: 25.2 GiB optimizer state, 12.6 GiB parameters, …`; `None` if the role of most bytes is
    /// unknown, unless the file records roles. Roles with less than 0.1 % are left out.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        if !self.tells_most() && !self.is_recorded {
            return None;
        }
        let is_shown = |row: &&RoleTotal| row.bytes.saturating_mul(1000) >= self.peak_bytes;
        let shown = self.rows.iter().filter(is_shown);
        let shown: Vec<&RoleTotal> = shown.collect();
        let how = match (self.is_inferred, self.by_size_alone) {
            (false, _) => "",
            (true, false) => " (inferred from stacks, lifetimes and sizes)",
            (true, true) => " (inferred, most of it from sizes alone)",
        };
        let moment = if self.has_trace { "peak" } else { "dump" };
        let whole = Bytes(self.peak_bytes);
        let parts = match &shown[..] {
            [only] => format!("{whole} of {}", plural(only.role)),
            shown => {
                let parts = shown.iter();
                let parts = parts.map(|row| format!("{} {}", Bytes(row.bytes), plural(row.role)));
                format!("{whole}: {}", parts.collect::<Vec<_>>().join(", "))
            }
        };
        Some(format!("At the {moment}, {parts}{how}."))
    }
}

/// The most bytes of one role that are live at once, and the first such moment.
#[must_use]
pub fn peak_of_role(device: Device<'_>, role: Role) -> (u64, u32) {
    let table = &device.history.allocations;
    let rows = device.rule_of().iter().enumerate();
    let of_role = rows.filter(|(_, rule)| rule.role() == role);
    let lives = of_role.map(|(row, _)| (table.born[row], table.died[row], table.bytes[row]));
    let most = first_most(&lives.collect::<ByteChanges>().steps());
    most.map_or((0, 0), |(moment, bytes)| (bytes, moment))
}

/// The noun for allocations of a role.
pub(super) fn plural(role: Role) -> &'static str {
    match role {
        Role::Parameter => "parameters",
        Role::Gradient => "gradients",
        Role::OptimizerState => "optimizer state",
        Role::Activation => "activations",
        Role::KvCache => "KV cache",
        Role::Input => "inputs",
        Role::Communication => "communication buffers",
        Role::Workspace => "workspaces",
        Role::Temporary => "temporaries",
        Role::Unknown => "of unknown role",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_where_most_is_known() {
        let row = |role, bytes| RoleTotal {
            role,
            bytes,
            count: 1,
        };
        let mut roles = PeakRoles {
            rows: vec![
                row(Role::OptimizerState, 2 << 30),
                row(Role::Parameter, 1 << 30),
                row(Role::Activation, 512),
                row(Role::Unknown, 1 << 29),
            ],
            peak_bytes: (3 << 30) + (1 << 29) + 512,
            has_trace: true,
            is_inferred: true,
            is_recorded: false,
            by_size_alone: false,
        };
        let expected = "At the peak, 3.50 GiB: 2.00 GiB optimizer state, 1.00 GiB parameters, 512 MiB of unknown role \
                        (inferred from stacks, lifetimes and sizes).";
        assert_eq!(roles.sentence().unwrap(), expected);
        roles.by_size_alone = true;
        let how = "(inferred, most of it from sizes alone).";
        assert!(roles.sentence().unwrap().ends_with(how));
        roles.has_trace = false;
        assert!(
            roles
                .sentence()
                .unwrap()
                .starts_with("At the dump, 3.50 GiB: ")
        );
        roles.rows.remove(0);
        assert_eq!(roles.sentence(), None);
        // Categories in the file are listed, however small.
        (roles.is_inferred, roles.is_recorded) = (false, true);
        let expected = "At the dump, 3.50 GiB: 1.00 GiB parameters, 512 MiB of unknown role.";
        assert_eq!(roles.sentence().unwrap(), expected);
        (roles.is_inferred, roles.is_recorded) = (true, false);
        // If all memory has one role, a single figure is enough.
        roles.rows = vec![row(Role::Activation, 2 << 30)];
        roles.peak_bytes = 2 << 30;
        assert!(
            roles
                .sentence()
                .unwrap()
                .starts_with("At the dump, 2.00 GiB of activations (")
        );
    }
}
