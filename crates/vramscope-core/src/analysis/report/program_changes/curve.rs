//! The curve of live memory, changed where allocations would live for a shorter time.

use crate::analysis::time::history::History;

/// Changes of the live bytes, to be added to what was recorded.
pub(super) struct Curve<'a> {
    history: &'a History,
    /// For each moment, the change of the change.
    steps: Vec<i64>,
    /// For each moment, by how many more allocations are changed that are live then.
    counts: Vec<i32>,
}

impl<'a> Curve<'a> {
    /// The curve as recorded.
    pub(super) fn new(history: &'a History) -> Self {
        let moments = history.active_bytes.len() + 1;
        Self {
            history,
            steps: vec![0; moments],
            counts: vec![0; moments],
        }
    }

    /// Adds bytes to the moments `from .. to`.
    pub(super) fn add(&mut self, bytes: i64, from: u32, to: u32) {
        if let Some((first, end)) = self.span(from, to) {
            for (at, change) in [(first, bytes), (end, bytes.saturating_neg())] {
                self.steps[at] = self.steps[at].saturating_add(change);
            }
        }
    }

    /// Takes an allocation's bytes from the moments `from .. to`.
    pub(super) fn remove(&mut self, bytes: u64, from: u32, to: u32) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.add(-bytes, from, to);
        if let Some((first, end)) = self.span(from, to) {
            self.counts[first] += 1;
            self.counts[end] -= 1;
        }
    }

    /// The places of the moments `from .. to`, if there are any.
    fn span(&self, from: u32, to: u32) -> Option<(usize, usize)> {
        let place = |moment: u32| (moment as usize).min(self.steps.len() - 1);
        (place(from) < place(to)).then(|| (place(from), place(to)))
    }

    /// Whether nothing was taken.
    pub(super) fn is_as_recorded(&self) -> bool {
        self.counts.iter().all(|&count| count == 0)
    }

    /// Number of allocations that give up bytes at a moment.
    pub(super) fn changed_at(&self, moment: u32) -> u64 {
        let counts = self.counts.iter().take(moment as usize + 1);
        u64::try_from(counts.map(|&count| i64::from(count)).sum::<i64>()).unwrap_or(0)
    }

    /// The highest value of the moments up to `until`, and the value at `until`.
    pub(super) fn peak(&self, until: u32) -> (u64, u64) {
        let mut change = 0_i64;
        let (mut peak, mut last) = (0, 0);
        let moments = self.history.active_bytes.iter().zip(&self.steps);
        for (&active, &step) in moments.take(until as usize + 1) {
            change = change.saturating_add(step);
            last = active.saturating_add_signed(change);
            peak = peak.max(last);
        }
        (peak, last)
    }
}
