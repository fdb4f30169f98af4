//! Whether two sides are in different phases, so that the program was also doing different things.

use super::side::Figures;
use crate::analysis::time::phase::{Phase, PhasePeak};

/// Two sides in different phases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DifferentPhases {
    /// The phases of both, as a sentence.
    pub sentence: String,
    /// The peaks of the phases that both sides have.
    pub same: Vec<[PhasePeak; 2]>,
}

/// The phases of two sides, if one is in another phase, or between other phases, than the other. `names` are the names
/// of the sides.
#[must_use]
pub fn different_phases(names: [&str; 2], sides: [&Figures; 2]) -> Option<DifferentPhases> {
    let [before, after] = [when(sides[0])?, when(sides[1])?];
    let peak = |side: &Figures, phase: Phase| {
        let peaks = side.phase_peaks.iter();
        peaks.copied().find(|peak| peak.phase == phase)
    };
    let both = |phase| Some([peak(sides[0], phase)?, peak(sides[1], phase)?]);
    (before != after).then(|| DifferentPhases {
        sentence: format!(
            "{} is {before}, {} {after} (inferred), so they were also doing different things.",
            names[0], names[1],
        ),
        same: Phase::ALL.into_iter().filter_map(both).collect(),
    })
}

/// The phase of a side, or the phases around it; `None` if its recording has no phases.
fn when(side: &Figures) -> Option<&'static str> {
    match (side.phase, side.last_phase) {
        (Some(phase), _) => Some(phase.while_in()),
        (None, Some(phase)) => Some(phase.when_over()),
        (None, None) => (!side.phase_peaks.is_empty()).then_some("before the first phase"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(phase: Option<Phase>, last_phase: Option<Phase>, peaks: &[(Phase, u32)]) -> Figures {
        let peak = |&(phase, moment)| PhasePeak {
            phase,
            moment,
            active_bytes: 1,
        };
        Figures {
            phase,
            last_phase: phase.or(last_phase),
            phase_peaks: peaks.iter().map(peak).collect(),
            ..Figures::default()
        }
    }

    const PEAKS: [(Phase, u32); 2] = [(Phase::Forward, 3), (Phase::Optimizer, 9)];

    #[test]
    fn what_both_have_can_be_compared() {
        let a = side(Some(Phase::Forward), None, &PEAKS);
        let b = side(Some(Phase::Optimizer), None, &PEAKS[..1]);
        let found = different_phases(["A", "B"], [&a, &b]).unwrap();
        assert_eq!(
            found.sentence,
            "A is in the forward pass, B in the optimizer step (inferred), so they were also doing different things."
        );
        assert_eq!(found.same, [[a.phase_peaks[0], b.phase_peaks[0]]]);
        assert_eq!(different_phases(["A", "B"], [&a, &a]), None);
        assert_eq!(
            different_phases(["A", "B"], [&a, &side(None, None, &[])]),
            None
        );
    }

    /// One recording has its peak at the end of the backward pass, the other between forward and backward.
    #[test]
    fn between_two_phases_is_another_place_than_in_one() {
        let within = side(Some(Phase::Backward), None, &PEAKS);
        let between = side(None, Some(Phase::Forward), &PEAKS);
        let begin = side(None, None, &PEAKS);
        let says = |a, b| different_phases(["A", "B"], [a, b]).map(|found| found.sentence);
        assert_eq!(
            says(&within, &between).unwrap(),
            "A is in the backward pass, B after the forward pass (inferred), so they were also doing different things."
        );
        assert!(
            says(&begin, &between)
                .unwrap()
                .starts_with("A is before the first phase, B after")
        );
        assert_eq!(says(&between, &between), None);
        assert_eq!(says(&begin, &begin), None);
    }
}
