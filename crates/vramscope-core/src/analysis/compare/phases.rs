//! Whether two sides are in different phases, so that what differs is also what they were doing.

use super::side::Figures;
use crate::analysis::time::phase::{Phase, PhasePeak};

/// Two sides in different phases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DifferentPhases {
    /// What they were doing, as a sentence.
    pub sentence: String,
    /// The peaks of the phases that both have.
    pub same: Vec<[PhasePeak; 2]>,
}

/// The phases of two sides, if they are in different ones. `names` are what the sides are called.
#[must_use]
pub fn different_phases(names: [&str; 2], sides: [&Figures; 2]) -> Option<DifferentPhases> {
    let [Some(before), Some(after)] = sides.map(|side| side.phase) else {
        return None;
    };
    let peak = |side: &Figures, phase: Phase| {
        let peaks = side.phase_peaks.iter();
        peaks.copied().find(|peak| peak.phase == phase)
    };
    let both = |phase| Some([peak(sides[0], phase)?, peak(sides[1], phase)?]);
    (before != after).then(|| DifferentPhases {
        sentence: format!(
            "{} is {}, {} {} (inferred): what differs is also what they were doing.",
            names[0],
            before.while_in(),
            names[1],
            after.while_in()
        ),
        same: Phase::ALL.into_iter().filter_map(both).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(phase: Option<Phase>, peaks: &[(Phase, u32)]) -> Figures {
        let peak = |&(phase, moment)| PhasePeak {
            phase,
            moment,
            active_bytes: 1,
        };
        Figures {
            phase,
            phase_peaks: peaks.iter().map(peak).collect(),
            ..Figures::default()
        }
    }

    #[test]
    fn what_both_have_can_be_compared() {
        let peaks = [(Phase::Forward, 3), (Phase::Optimizer, 9)];
        let a = side(Some(Phase::Forward), &peaks);
        let b = side(Some(Phase::Optimizer), &peaks[..1]);
        let found = different_phases(["A", "B"], [&a, &b]).unwrap();
        assert_eq!(
            found.sentence,
            "A is in the forward pass, B in the optimizer step (inferred): what differs is also what they were doing."
        );
        assert_eq!(found.same, [[a.phase_peaks[0], b.phase_peaks[0]]]);
        assert_eq!(different_phases(["A", "B"], [&a, &a]), None);
        assert_eq!(different_phases(["A", "B"], [&a, &side(None, &[])]), None);
    }
}
